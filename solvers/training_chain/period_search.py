"""Search of a whole step for a period within a limit, with the stages that the host updates fixed.

The kernel is in `solvers/_native/training_chain/period_search.hpp`, where the search is described.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers import _kernels
from jettison.solvers.training_chain.steps_for_kernels import KINDS, TENSORS, steps_for_kernels

# The kernel has a bit for each tensor of a stage.
MOST_STAGES = 6
# Durations have 31 bits there, in units of their greatest common divisor.
_LONGEST_IN_UNITS = 2**31 - 1


class Found(IntEnum):
    """Kinds of answers of the kernel, by its numbers.

    No walk of steps within the limit, a step that repeats, several steps that repeat together and
    whose mean is within the limit, or more states than are kept.
    """

    NONE = 0
    PERIOD = 1
    MEAN = 2
    TOO_MANY_STATES = 3


@dataclass(frozen=True)
class PeriodAnswer:
    """Answer of a search.

    Attributes
    ----------
    found
        Its kind.
    mean_ns
        The mean time of the steps that repeat, rounded up.
    schedule
        The step that repeats, for a period.
    states
        States that were met.
    """

    found: Found
    mean_ns: int
    schedule: TrainingSchedule | None
    states: int


class PeriodSearch:
    """Search of the steps of one problem on a full-duplex link.

    Both directions of the link carry a transfer at the full rate. Where they share a total, what is
    searched is a relaxation; so it is where the memory of the host is limited.

    Parameters
    ----------
    problem
        The problem, of `MOST_STAGES` stages at most.
    most_states
        States that are kept at a time.
    """

    def __init__(self, problem: TrainingChain, most_states: int) -> None:
        self._most_states = most_states
        self._steps, durations_ns = steps_for_kernels(problem, problem.link.full_duplex)
        unit_ns = math.gcd(*durations_ns) or 1
        self.is_precise = max(durations_ns) // unit_ns <= _LONGEST_IN_UNITS

    def within(
        self, longest_ns: int | None, on_host: Sequence[int], time_limit_s: float | None
    ) -> PeriodAnswer:
        """Search for a period of at most `longest_ns`; of any length where it is None.

        Parameters
        ----------
        longest_ns
            The limit.
        on_host
            The stages that the host updates, from 1.
        time_limit_s
            Wall-clock seconds.

        Raises
        ------
        TimeoutError
            At the time limit.
        """
        mask = sum(1 << (number - 1) for number in on_host)
        longest = 2**62 if longest_ns is None else longest_ns
        answer = _kernels.training_period_search(
            self._steps, mask, longest, self._most_states, time_limit_s
        )
        if answer is None:
            raise TimeoutError
        kind, walk_ns, steps, events, states = answer
        mean_ns = -(-walk_ns // steps) if steps else 0
        schedule = None
        if kind == Found.PERIOD:
            listed = [
                TrainingEvent(
                    KINDS[event], stage + 1, start_ns, None if tensor < 0 else TENSORS[tensor]
                )
                for start_ns, event, stage, tensor in events
            ]
            schedule = TrainingSchedule(walk_ns, _without_idle_copies(listed, on_host))
        return PeriodAnswer(Found(kind), mean_ns, schedule, states)


def _without_idle_copies(
    events: Sequence[TrainingEvent], on_host: Sequence[int]
) -> tuple[TrainingEvent, ...]:
    """Return the events without what goes to the host for no use.

    A copy is of use where its tensor is dropped before an update makes it old, and that of an
    activation where it comes back; the host needs the gradients of what it updates.
    """
    kept = []
    for place, event in enumerate(events):
        if event.kind is not TrainingEventKind.OFFLOAD:
            kept.append(event)
            continue
        tensor = event.tensor
        assert tensor is not None
        wanted, end = TrainingEventKind.DROP, TrainingEventKind.UPDATE
        if tensor.is_activation:
            wanted, end = TrainingEventKind.PREFETCH, TrainingEventKind.BACKWARD
        is_needed = tensor is StageTensor.GRADIENT and event.stage in on_host
        for later in (*events[place + 1 :], *events[:place]):
            if is_needed or (later.stage == event.stage and later.kind is end):
                break
            is_needed = later == replace(event, kind=wanted, start_ns=later.start_ns)
        if is_needed:
            kept.append(event)
    return tuple(kept)
