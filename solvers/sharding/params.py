"""Parameters that several methods of sharding share: reductions, messages, looks and descents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jettison.solvers.core.params import Params


@dataclass(frozen=True, kw_only=True)
class ShardingParams(Params):
    """Limits of the reductions, and of what follows a proof that nothing fits.

    Attributes
    ----------
    most_pairs_left
        A round of reductions that leaves more than this share of the pairs is the last.
    most_more_pairs
        Pairs that an edge may have beyond those of the two edges that it replaces.
    seconds_after_a_proof
        Time limit of the search for the least memory that would suffice.
    """

    at_least: ClassVar[Mapping[str, float]] = {"most_more_pairs": 0, "seconds_after_a_proof": 0}

    most_pairs_left: float = 0.99
    most_more_pairs: int = 16
    seconds_after_a_proof: float = 10.0


@dataclass(frozen=True, kw_only=True)
class MessageParams(ShardingParams):
    """Lengths of the steps that the multipliers of memory take, and the end of messages.

    Attributes
    ----------
    passes_to_evaluate
        Time that is kept for the bound in integers, which takes about as long as a pass, in passes.
    passes_before_steps
        Passes of messages, of those made at once, after which multipliers do not move yet.
    first_step
        Length of the first steps, as a share of the one that would close the gap.
    target_beyond
        The gap is that to a bound larger by this share, where the known choice is further away.
    shrink_step
        Share of their length that steps keep when they bring no gain.
    passes_without_gain
        Passes in a row without a larger bound after which steps become shorter.
    """

    at_least: ClassVar[Mapping[str, float]] = {"passes_before_steps": 0, "target_beyond": 0}

    passes_to_evaluate: float = 2.0
    passes_before_steps: int = 4
    first_step: float = 1.0
    target_beyond: float = 0.05
    shrink_step: float = 0.7
    passes_without_gain: int = 6


@dataclass(frozen=True, kw_only=True)
class LookParams(MessageParams):
    """Parameters of message passing: its ends.

    Attributes
    ----------
    passes_at_once
        Passes between two looks at the bound.
    most_looks
        Looks at the bound of one state, at most.
    least_gain
        Share of the gap that a look closes, or else it brings no gain.
    least_rise
        Share of the bound by which a look raises it, which is a gain as well.
    looks_without_gain
        Looks in a row without a gain after which messages end.
    """

    at_least: ClassVar[Mapping[str, float]] = {"least_gain": 0, "least_rise": 0}

    passes_at_once: int = 10
    most_looks: int = 40
    least_gain: float = 0.02
    least_rise: float = 1e-4
    looks_without_gain: int = 3


@dataclass(frozen=True, kw_only=True)
class DescentParams(MessageParams):
    """Parameters of the descent that makes a choice fit.

    Attributes
    ----------
    share_of_reductions
        Share of the time that is left for the reductions.
    repair_sweeps
        Sweeps of best moves, at most, until a choice breaks no rule.
    weight_growth
        Factor by which the weight of a broken rule grows after a sweep.
    """

    share_of_reductions: float = 0.4
    repair_sweeps: int = 200
    weight_growth: float = 2.0


AS_TUNED = ShardingParams()
MESSAGES = MessageParams()
