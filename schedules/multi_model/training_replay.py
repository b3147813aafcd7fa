"""Verdict of the replay of a multi-model schedule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.schedules.core.replay import Phase, Replay, Step

_PHASES = {"F": Phase.FORWARD, "B": Phase.BACKWARD, "R": Phase.AGAIN}


@dataclass(frozen=True, kw_only=True)
class TrainingReplay(Replay):
    """Verdict of the replay of one training iteration of all models.

    `period_ns` is its time, the sum over the units, and `memory_profile` covers all of it.

    Attributes
    ----------
    recompute_ns
        Time of all recomputations.
    stall_ns
        Time in which nothing is computed.
    unit_ends_ns
        End of each training unit.
    round_ends_ns
        End of each round of each training unit.
    unit_models
        For each training unit the models of each of its sub-arrays, by name.
    """

    recompute_ns: int
    stall_ns: int
    unit_ends_ns: tuple[int, ...]
    round_ends_ns: tuple[int, ...]
    unit_models: tuple[tuple[str, ...], ...] = ()

    def phase_of(self, step: Step) -> Phase:
        """Tell what an operation does, from its text: ``F1 conv3``, ``B2 conv3``, ``R1 conv3``."""
        return _PHASES[step.operation[0]]

    def lane_of(self, step: Step) -> str | None:
        """Return the sub-array of an operation, where two are trained beside each other."""
        return f"sub-array {_array(step)}" if self._has_pairs else None

    @cached_property
    def _has_pairs(self) -> bool:
        return any(_array(step) > 1 for step in self.steps if step.end_ns > step.start_ns)


def _array(step: Step) -> int:
    return int(step.operation[1])
