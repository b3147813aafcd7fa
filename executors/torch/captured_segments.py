"""Segments of a step that are recorded once, and then launched as a whole.

An operator that is called from Python takes the processor some ten microseconds, a small kernel the
GPU two or three: it waits most of the time. A CUDA graph holds all kernels of a segment with the
addresses of their tensors, and launches them at once. Elsewhere a segment is run again as it was
written, which is the same program without what recording brings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

Work = Callable[[], None]


class SegmentRecorder(Protocol):
    """Recorder of segments, which run in the order in which they were recorded."""

    def record(self, work: Work) -> Work:
        """Run a segment, and return what runs it again.

        It reads and writes tensors that stay where they are, and what it allocates stays until it,
        or a later segment, frees it.
        """


def segment_recorder(device: torch.device) -> SegmentRecorder:
    """Return the recorder for a device."""
    return CudaSegments(device) if device.type == "cuda" else PlainSegments()


class PlainSegments:
    """Recorder that records nothing: the segment itself is run again."""

    def record(self, work: Work) -> Work:
        """Run the segment, and return it."""
        work()
        return work


class CudaSegments:
    """Recorder of CUDA graphs, all of which allocate from one pool of memory.

    What a segment has allocated and not freed keeps its address, and later segments read it there.
    The pool holds the peak of the step as long as the recorder lives, beside what PyTorch reserves
    for everything else; a library's workspace for the recording stream is in it as well.

    Parameters
    ----------
    device
        The CUDA device. Its segments must have run once before: libraries are set up then.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, work: Work) -> Work:
        """Record the segment, launch it, and return what launches it."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self._device), torch.cuda.graph(graph, pool=self._pool):
            work()
        # Nothing has been computed yet.
        graph.replay()
        replay: Work = graph.replay
        return replay
