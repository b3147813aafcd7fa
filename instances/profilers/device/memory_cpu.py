"""Memory meter for a CPU: allocations and releases as the PyTorch profiler records them."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from jettison.instances.profilers.device.memory_window import MemoryWindow
from jettison.instances.profilers.device.probe_lines import without_probe_lines

_MARK = "jettison memory window "
_CPU = 0
# Some versions warn, of a profile of one cycle too, that the events of other cycles are forgotten.
_ONE_CYCLE: dict[str, Any] = (
    {"acc_events": True}
    if "acc_events" in inspect.signature(torch.profiler.profile).parameters
    else {}
)


class CpuMemoryMeter(AbstractContextManager["CpuMemoryMeter"]):
    """Memory meter for a CPU: measures each window opened inside its ``with`` block.

    The windows are filled when the block ends. What PyTorch's allocator hands out is seen, the
    workspaces of its kernels included. What a library takes straight from the operating system
    (oneDNN's own reorders, thread stacks) is not.
    A block that was allocated before the meter started must not be freed inside a window: the
    profiler does not know its size and skips it.
    """

    def __init__(self) -> None:
        self._windows: list[MemoryWindow] = []
        self._profile = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            profile_memory=True,
            **_ONE_CYCLE,
        )

    def __enter__(self) -> CpuMemoryMeter:
        with without_probe_lines():
            self._profile.__enter__()
        return self

    @contextmanager
    def window(self) -> Iterator[MemoryWindow]:
        """Measure the memory of the block; windows follow one another and do not nest."""
        window = MemoryWindow()
        with torch.profiler.record_function(f"{_MARK}{len(self._windows)}"):
            yield window
        self._windows.append(window)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with without_probe_lines():
            self._profile.__exit__(kind, error, trace)
        if error is None:
            # The exported trace is the profiler's only public record of single allocations.
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "trace.json"
                self._profile.export_chrome_trace(str(path))
                events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
            fill_windows(self._windows, events)


def fill_windows(windows: list[MemoryWindow], events: list[dict[str, Any]]) -> None:
    r"""Fill memory windows by replaying the allocations of a profiler trace with their marks.

    `events` are the ``traceEvents`` of a Chrome trace, in any order. :math:`O(n \log n)`.
    """
    spans: dict[int, tuple[float, float]] = {}
    changes: list[tuple[float, int, int]] = []
    for event in events:
        name = event.get("name", "")
        if name == "[memory]":
            if event["args"]["Device Type"] == _CPU:
                # Equal time stamps keep the order in which the profiler saw the events.
                order = int(event["args"].get("Ev Idx", 0))
                changes.append((float(event["ts"]), order, int(event["args"]["Bytes"])))
        elif name.startswith(_MARK) and event.get("ph") == "X":
            start = float(event["ts"])
            spans[int(name.removeprefix(_MARK))] = (start, start + float(event["dur"]))
    changes.sort()
    level = 0
    position = 0
    for number, window in enumerate(windows):
        start, end = spans[number]
        while position < len(changes) and changes[position][0] < start:
            level += changes[position][2]
            position += 1
        window.start_bytes = window.peak_bytes = level
        while position < len(changes) and changes[position][0] <= end:
            level += changes[position][2]
            window.peak_bytes = max(window.peak_bytes, level)
            position += 1
        window.end_bytes = level
