"""One training step of an execution trace: its calls, between two marks where there are several."""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.importers.torch_trace.execution_trace import (
    BACKWARD,
    STEP_MARK,
    Call,
    ExecutionTrace,
)

_RECOMPUTED = ("CheckpointFunction", "torch.utils.checkpoint")


def calls_of_step(trace: ExecutionTrace, step: int | None) -> tuple[Call, ...]:
    """Return the outermost calls of one step, in order.

    Parameters
    ----------
    trace
        The trace.
    step
        Number of the step, as ``profiler.step()`` marks it (``ProfilerStep#3``); None for the only
        one.

    Raises
    ------
    InputError
        If the step is not there, is not said where there are several, or has no backward pass,
        several passes, or one that recomputes.
    """
    calls = _between_marks(trace, step)
    inside = [call for outer in calls for call in outer.walk()]
    backward = [call for call in inside if call.is_backward]
    if not backward:
        raise InputError(
            "there is no backward pass",
            field="nodes",
            expected="record a training step: the forward pass, loss.backward()",
        )
    for call in inside:
        if call.name.startswith(_RECOMPUTED) or call.name.removeprefix(BACKWARD).startswith(
            _RECOMPUTED
        ):
            raise InputError(
                f"{call.name[:60]!r}: the step recomputes",
                field=f"node {call.number}",
                expected="record the model without checkpoints: the schedule decides",
            )
    _check_one_pass(calls, backward)
    return calls


def _between_marks(trace: ExecutionTrace, step: int | None) -> tuple[Call, ...]:
    marks = {
        call.name.removeprefix(STEP_MARK): call.number
        for call in trace.walk()
        if call.name.startswith(STEP_MARK)
    }
    chosen = next(iter(marks)) if step is None and len(marks) == 1 else str(step)
    if (step is None and len(marks) > 1) or (step is not None and chosen not in marks):
        there = ", ".join(marks) or "none"
        raise InputError(
            f"steps that are marked: {there}",
            field="step",
            expected="choose one of them (--step), or record one step",
        )
    if not marks:
        return trace.calls
    begin = marks[chosen]
    end = min((mark for mark in marks.values() if mark > begin), default=None)
    flat = [
        call
        for outer in trace.calls
        for call in (outer.calls if outer.name.startswith(STEP_MARK) else [outer])
    ]
    return tuple(
        sorted(
            (c for c in flat if c.number > begin and (end is None or c.number < end)),
            key=lambda call: call.number,
        )
    )


def _check_one_pass(calls: tuple[Call, ...], backward: list[Call]) -> None:
    """Refuse a forward operator that begins after the backward pass and has a gradient itself."""
    first = min(call.number for call in backward)
    last_of = {call.forward_sequence: call.number for call in backward}
    waiting = [call for call in reversed(calls) if not call.is_backward]
    while waiting:
        call = waiting.pop()
        leads_to = last_of.get(call.sequence, 0) if call.sequence >= 0 else 0
        if first < call.number < leads_to:
            raise InputError(
                f"{call.name[:60]!r} runs after a backward pass, and a later one leads to it",
                field=f"node {call.number}",
                expected="record one forward and one backward pass, or mark steps with "
                "profiler.step()",
            )
        waiting += (inner for inner in call.calls if not inner.is_backward)
