r"""Durations of operations on the device that runs them.

**On a CPU** with one thread the clock is that of the thread: it stands still while another program
has the processor. With more threads it is the wall clock, and a busy machine is a part of what is
measured. (At a load of 13 on two cores a step of 17 to 25 ms by the first took 105 to 166 ms by the
second.)

**On a GPU** a pair of events encloses the operations. A kernel of microseconds ends before the next
one is launched from Python, and the gap would count. So the device is first kept busy with a kernel
that waits, for longer than the launches take, and all of them are in its queue when the clock
starts. Operators that wait for the device themselves are launched as they are.

An operation of microseconds runs several times for each measurement: clocks, and what surrounds the
call, take as long as it does.

A small operation that is repeated finds everything in the caches of the processor; in a step it
does not. So it takes copies of its arguments in turn, and its results are held for a while
(`operator_cost` has the sizes): the sum of all operators of three small models is then 2 to 13 %
less than what they take in a row, and 18 to 29 % less without it.

Of several measurements the *lower quartile* counts. Disturbances only ever add: with half of the
runs disturbed, as on a busy machine, the median is one of these, and the minimum is that of a run
that was lucky with caches. Six profiles of one small ConvNeXt at that load differed by 5 % in the
sum of lower quartiles, and by 10 % in that of medians; the quartiles are 2 to 3 % above the minima.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import cycle, islice

import torch

Spread = tuple[int, int, int]
Operation = Callable[[], object]

# A measurement takes at least so long, or has so many launches.
BATCH_NS = 100_000
MOST_LAUNCHES = 64
# Kernels in the queue of a GPU, above which a launch waits.
_FIRST_WAIT_NS = 200_000
_LONGEST_WAIT_NS = 100_000_000
# Cycles of the device for a nanosecond; a clock that is slower waits longer, which does no harm.
_CYCLES_PER_NS = 2


def busy_clock() -> Callable[[], int]:
    """Return the clock of the CPU, in nanoseconds: of this thread where it alone computes."""
    return time.thread_time_ns if torch.get_num_threads() == 1 else time.perf_counter_ns


def duration_ns(operation: Operation, device: torch.device) -> int:
    """Run `operation` once and return how long the device was busy with it.

    On a GPU two events on the current stream enclose the operation: `device` must be the current
    CUDA device. Time in which the GPU waits for the next kernel to be launched counts.
    """
    if device.type == "cuda":
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize(device)
        start.record()
        operation()
        end.record()
        end.synchronize()
        milliseconds: float = start.elapsed_time(end)
        return round(milliseconds * 1e6)
    clock = busy_clock()
    before = clock()
    operation()
    return clock() - before


def counted(durations: Sequence[int]) -> Spread:
    """Return the least of some durations, the one that counts, and the most.

    The lower quartile counts, which is one of them.
    """
    ordered = sorted(durations)
    return ordered[0], ordered[(len(ordered) - 1) // 4], ordered[-1]


class LaunchTimer:
    """Timer of operations that are launched in a row.

    Parameters
    ----------
    device
        Device that they run on; a GPU must be the current one.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._wait_ns = _FIRST_WAIT_NS

    def durations_ns(
        self, turns: Sequence[Operation], *, warmup: int, repeats: int, held: int = 1
    ) -> list[int]:
        """Return durations of an operation that can be repeated, after runs of warm-up.

        Each is the mean of as many runs as take the time of a batch together.

        Parameters
        ----------
        turns
            The operation, or several that stand for it in turn.
        warmup, repeats
            Runs before, and measurements.
        held
            Results that are held at a time; the oldest is dropped for a new one.
        """
        results: deque[object] = deque(maxlen=held)
        endless = cycle([lambda run=run: results.append(run()) for run in turns])
        for _ in range(warmup):
            next(endless)()
        launches = launches_of(self.total_ns([next(endless)]))
        found = []
        for _ in range(repeats):
            batch = list(islice(endless, launches))
            found.append(self.total_ns(batch) // launches)
        return found

    def total_ns(self, operations: Sequence[Operation]) -> int:
        """Run operations in order, and return how long the device was busy with all of them."""
        if self._device.type == "cuda":
            return self._on_gpu(operations)
        clock = busy_clock()
        before = clock()
        for operation in operations:
            operation()
        return clock() - before

    def _on_gpu(self, operations: Sequence[Operation]) -> int:
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize(self._device)
        torch.cuda._sleep(self._wait_ns * _CYCLES_PER_NS)
        start.record()
        before = time.perf_counter_ns()
        for operation in operations:
            operation()
        launched_ns = time.perf_counter_ns() - before
        has_begun = start.query()
        end.record()
        end.synchronize()
        if has_begun:
            # The queue may have run empty; the next batch waits longer.
            longer_ns = max(2 * launched_ns, 2 * self._wait_ns)
            self._wait_ns = min(longer_ns, _LONGEST_WAIT_NS)
        milliseconds: float = start.elapsed_time(end)
        return round(milliseconds * 1e6)


def launches_of(single_ns: int) -> int:
    """Return how many runs of an operation make a batch, from the duration of one."""
    return max(1, min(MOST_LAUNCHES, -(-BATCH_NS // max(1, single_ns))))
