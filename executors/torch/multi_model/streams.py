"""Three streams, of computations and of copies in both directions, with events between them.

On a GPU they are CUDA streams. On a CPU each is a thread with a queue, which does what it is given
in order; PyTorch's kernels and copies let other threads run meanwhile. What uses them is the same.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Protocol

import torch
from torch import Tensor

Work = Callable[[], None]
# Called with what makes a stream wait for events.
Begin = Callable[[Callable[[Iterable["Event"]], None]], None]


class Lane(Enum):
    """Streams by what they do."""

    COMPUTE = "compute"
    TO_HOST = "to host"
    FROM_HOST = "from host"


class Event(Protocol):
    """End of what was submitted to a stream."""

    def is_done(self) -> bool:
        """Whether it has been reached."""

    def span_ns(self) -> tuple[int, int]:
        """Return when the work began and ended, on the clock of its streams; it has to be done."""


class Streams(Protocol):
    """Three streams, each of which does its work in order; used in a ``with`` block."""

    def __enter__(self) -> Streams:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all streams; what they have not begun is left out."""

    def submit(
        self, lane: Lane, work: Work, after: Iterable[Event], begin: Begin | None = None
    ) -> Event:
        """Put work into a stream, to be done when the events have been reached.

        `begin` runs just before it, and may make the stream wait for more; over all streams these
        run in the order in which they were submitted.
        """

    def uses(self, lane: Lane, tensors: Iterable[Tensor]) -> None:
        """Say that a stream uses tensors that are of another one."""

    def drain(self) -> None:
        """Wait until all work is done."""

    def now_ns(self) -> int:
        """Return the time on the clock of the events, when all work is done."""


def streams_of(device: torch.device) -> Streams:
    """Return the streams for a device."""
    return CudaStreams(device) if device.type == "cuda" else ThreadStreams()


class _ThreadEvent:
    """Event that a thread sets."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.begin_ns = self.end_ns = 0

    def is_done(self) -> bool:
        return self.done.is_set()

    def span_ns(self) -> tuple[int, int]:
        return self.begin_ns, self.end_ns


@dataclass(slots=True)
class _Item:
    """Work in the queue of a thread; it begins after `turn`, and sets `begun`."""

    work: Work
    after: tuple[Event, ...]
    begin: Begin | None
    turn: threading.Event | None
    begun: threading.Event
    event: _ThreadEvent


class ThreadStreams:
    """Streams on a CPU: a thread for each.

    What fails in a thread is raised when the streams are drained; nothing else is begun then.
    """

    def __init__(self) -> None:
        self._queues: dict[Lane, queue.SimpleQueue[_Item | None]] = {
            lane: queue.SimpleQueue() for lane in Lane
        }
        self._last: dict[Lane, _ThreadEvent] = {}
        self._turn: threading.Event | None = None
        self._failure: BaseException | None = None
        self._is_ending = False
        # New threads of Python do not have the setting of the one that starts them.
        threads = torch.get_num_threads()
        self._threads = [
            threading.Thread(target=self._serve, args=(lane, threads), daemon=True, name=lane.value)
            for lane in Lane
        ]

    def __enter__(self) -> ThreadStreams:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_ending = True
        for waiting in self._queues.values():
            waiting.put(None)
        for thread in self._threads:
            thread.join()
        # Its trace has the frames of the thread, and with them tensors, which would live on in a
        # circle until it is found.
        self._failure = None

    def submit(
        self, lane: Lane, work: Work, after: Iterable[Event], begin: Begin | None = None
    ) -> Event:
        """Put work into the queue of a thread."""
        item = _Item(work, tuple(after), begin, self._turn, threading.Event(), _ThreadEvent())
        if begin is not None:
            self._turn = item.begun
        self._last[lane] = item.event
        self._queues[lane].put(item)
        return item.event

    def uses(self, lane: Lane, tensors: Iterable[Tensor]) -> None:
        """Do nothing: what a thread holds is not freed."""

    def drain(self) -> None:
        """Wait until all threads have nothing to do."""
        _wait(self._last.values())
        if self._failure is not None:
            raise self._failure

    def now_ns(self) -> int:
        """Return the time."""
        return time.perf_counter_ns()

    def _serve(self, lane: Lane, threads: int) -> None:
        torch.set_num_threads(threads)
        with torch.no_grad():
            while (item := self._queues[lane].get()) is not None:
                self._do(item)
                # Nothing that the work held stays alive here until the next work comes.
                del item

    def _do(self, item: _Item) -> None:
        # All events are reached, even those of what is left out, so that no thread waits for ever.
        _wait(item.after)
        try:
            if item.begin is not None:
                if item.turn is not None:
                    item.turn.wait()
                if self._goes_on():
                    item.begin(_wait)
            item.begun.set()
            item.event.begin_ns = time.perf_counter_ns()
            if self._goes_on():
                item.work()
        except BaseException as error:
            # It is raised where the streams are used.
            self._failure = self._failure or error
        item.event.end_ns = time.perf_counter_ns()
        item.begun.set()
        item.event.done.set()

    def _goes_on(self) -> bool:
        return self._failure is None and not self._is_ending


def _wait(events: Iterable[Event]) -> None:
    for event in events:
        assert isinstance(event, _ThreadEvent)
        event.done.wait()


class _CudaEvent:
    """Pair of events around work on a CUDA stream."""

    def __init__(self, origin: torch.cuda.Event) -> None:
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)
        self._origin = origin

    def is_done(self) -> bool:
        return bool(self.end.query())

    def span_ns(self) -> tuple[int, int]:
        begin, end = (round(self._origin.elapsed_time(at) * 1e6) for at in (self.begin, self.end))
        return begin, end


class CudaStreams:
    """Streams of a GPU; work is launched when it is submitted, and waits on the device.

    Memory is taken in the order of launches, and the allocator returns it in the order of streams,
    so that nothing waits on the host.

    Parameters
    ----------
    device
        Its current stream computes.
    """

    def __init__(self, device: torch.device) -> None:
        self._streams = {
            Lane.COMPUTE: torch.cuda.current_stream(device),
            Lane.TO_HOST: torch.cuda.Stream(device),
            Lane.FROM_HOST: torch.cuda.Stream(device),
        }
        self._origin = torch.cuda.Event(enable_timing=True)

    def __enter__(self) -> CudaStreams:
        self._origin.record(self._streams[Lane.COMPUTE])
        for lane in (Lane.TO_HOST, Lane.FROM_HOST):
            self._streams[lane].wait_stream(self._streams[Lane.COMPUTE])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.drain()

    def submit(
        self, lane: Lane, work: Work, after: Iterable[Event], begin: Begin | None = None
    ) -> Event:
        """Launch work that begins when the events have been reached."""
        stream = self._streams[lane]
        event = _CudaEvent(self._origin)

        def wait(events: Iterable[Event]) -> None:
            for other in events:
                assert isinstance(other, _CudaEvent)
                stream.wait_event(other.end)

        wait(after)
        if begin is not None:
            begin(wait)
        with torch.cuda.stream(stream), torch.no_grad():
            event.begin.record(stream)
            work()
            event.end.record(stream)
        return event

    def uses(self, lane: Lane, tensors: Iterable[Tensor]) -> None:
        """Keep the memory of tensors until the stream has passed their end."""
        for tensor in tensors:
            tensor.record_stream(self._streams[lane])

    def drain(self) -> None:
        """Wait for the device."""
        for stream in self._streams.values():
            stream.synchronize()

    def now_ns(self) -> int:
        """Return the time on the device's clock."""
        now = torch.cuda.Event(enable_timing=True)
        now.record(self._streams[Lane.COMPUTE])
        now.synchronize()
        milliseconds: float = self._origin.elapsed_time(now)
        return round(milliseconds * 1e6)


def busy_ns(events: Sequence[Event]) -> int:
    """Return the total time of work that has been done."""
    return sum(end - begin for begin, end in (event.span_ns() for event in events))
