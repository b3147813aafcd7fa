"""Verdict of the replay of a multi-model schedule."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.schedules.core.replay import Replay


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
    """

    recompute_ns: int
    stall_ns: int
    unit_ends_ns: tuple[int, ...]
    round_ends_ns: tuple[int, ...]
