"""Two recordings joined: for each call of an execution trace, the call that Kineto timed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from jettison.instances.core.errors import InputError
from jettison.instances.importers.torch_trace.execution_trace import (
    STEP_MARK,
    Call,
    ExecutionTrace,
)
from jettison.instances.importers.torch_trace.kineto_trace import KinetoTrace, TimedCall


def join_calls(trace: ExecutionTrace, timed: KinetoTrace) -> Mapping[int, TimedCall]:
    """Return the timed call of each call, by the number of its node.

    Where both recordings are of one run of the profiler, the record function ids agree. Otherwise,
    as for two steps of one program, each thread must have made the same calls in the same order.
    :math:`O(n)`.

    Raises
    ------
    InputError
        If the processes differ, or a thread made other calls.
    """
    if trace.process is not None and str(trace.process) != timed.process:
        raise InputError(
            f"one trace is of process {trace.process}, the other of {timed.process}",
            field="pid",
            expected="give two traces of one process; with several devices, those of one rank",
        )
    by_record = {call.record: call for call in timed.calls if call.record is not None}
    calls = list(trace.walk())
    joined = {call.number: by_record[call.record] for call in calls if call.record in by_record}
    if len(joined) == len(calls) and all(joined[call.number].name == call.name for call in calls):
        return joined
    return _in_order(calls, timed.calls)


def _in_order(calls: list[Call], timed: tuple[TimedCall, ...]) -> Mapping[int, TimedCall]:
    ours: defaultdict[int, list[Call]] = defaultdict(list)
    theirs: defaultdict[str, list[TimedCall]] = defaultdict(list)
    # The mark of a step may stand in one recording only.
    for call in sorted(calls, key=lambda call: call.number):
        if not call.name.startswith(STEP_MARK):
            ours[call.thread].append(call)
    # Records are numbered as calls begin, which times of whole microseconds do not tell.
    for other in sorted(timed, key=lambda call: call.record or 0):
        if not other.name.startswith(STEP_MARK):
            theirs[other.span.thread].append(other)
    # Threads are numbered in the order in which they begin in the one, and have any number in the
    # other.
    waiting = list(theirs.values())
    joined: dict[int, TimedCall] = {}
    for thread, recorded in ours.items():
        names = [call.name for call in recorded]
        same = [found for found in waiting if [call.name for call in found] == names]
        if not same:
            raise _difference(thread, names, waiting)
        waiting.remove(same[0])
        joined.update((call.number, other) for call, other in zip(recorded, same[0], strict=True))
    return joined


def _difference(thread: int, names: list[str], waiting: list[list[TimedCall]]) -> InputError:
    """Say where the calls of a thread differ from those of the most similar one."""

    def agreeing(found: list[TimedCall]) -> int:
        pairs = enumerate(zip(names, found, strict=False))
        return next(
            (place for place, (name, call) in pairs if name != call.name),
            min(len(names), len(found)),
        )

    place = max(map(agreeing, waiting), default=0)
    what = repr(names[place][:60]) if place < len(names) else "its end"
    return InputError(
        f"thread {thread} has no counterpart in the Kineto trace: after {place} calls in common "
        f"comes {what}",
        field="nodes",
        expected="record both at once: profile(..., execution_trace_observer=observer)",
    )
