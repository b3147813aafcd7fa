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
    most_entries_of_a_model
        Pairs of strategies and of a node and a row of memory beyond which no model is built.
    """

    at_least: ClassVar[Mapping[str, float]] = {"most_more_pairs": 0, "seconds_after_a_proof": 0}

    most_pairs_left: float = 0.99
    most_more_pairs: int = 16
    seconds_after_a_proof: float = 10.0
    most_entries_of_a_model: int = 4_000_000


@dataclass(frozen=True, kw_only=True)
class MessageParams(ShardingParams):
    """Lengths of the steps that the multipliers of memory take, and the end of messages.

    Attributes
    ----------
    passes_before_steps
        Passes of messages, of those made at once, after which multipliers do not move yet.
    first_step
        Length of the first steps, as a share of the one that would close the gap.
    target_beyond
        The gap is that to a bound larger by this share, where the known choice is further away.
    shrink_step
        Share of their length that steps keep when they bring no gain.
    passes_without_gain
        Passes in a row without a larger bound after which steps become shorter, and begin again
        from the best multipliers.
    least_step
        Length below which steps do not become shorter, as `first_step`.
    momentum
        Share of the direction of the step before that a step keeps.
    """

    at_least: ClassVar[Mapping[str, float]] = {
        "passes_before_steps": 0,
        "target_beyond": 0,
        "momentum": 0,
    }

    passes_before_steps: int = 4
    first_step: float = 1.0
    target_beyond: float = 0.05
    shrink_step: float = 0.85
    passes_without_gain: int = 25
    least_step: float = 1e-4
    momentum: float = 0.4


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
    least_fraction
        What a bound in floating point may exceed an integer by and be that integer.
    most_pairs_of_messages
        A larger graph gets no messages, whose tables take three times the memory of its own.
    """

    at_least: ClassVar[Mapping[str, float]] = {"least_gain": 0, "least_rise": 0}

    passes_at_once: int = 50
    most_looks: int = 400
    least_gain: float = 0.01
    least_rise: float = 1e-4
    looks_without_gain: int = 4
    least_fraction: float = 1e-3
    most_pairs_of_messages: int = 25_000_000


@dataclass(frozen=True, kw_only=True)
class DescentParams(MessageParams):
    """Parameters of the local search: the descent that makes a choice fit, and annealing.

    Attributes
    ----------
    share_of_reductions
        Share of the time that is left for the reductions.
    repair_sweeps
        Sweeps of best moves, at most, until a choice breaks no rule.
    weight_growth
        Factor by which the weight of a broken rule grows after a sweep.
    over_growth
        Factor by which the price of a byte above the memory changes after a sweep of annealing.
    round_sweeps
        Sweeps of the first round of annealing, in which the temperature falls.
    round_growth
        Factor by which the next round is longer.
    first_temperature
        Temperature at which the hottest rounds begin, as a share of the cost of the best choice for
        each node. Others begin at a quarter of it, a sixteenth and so on: each round draws one of
        six scales, those more often that brought gains.
    last_temperature
        Share of its first temperature to which a round falls.
    tree_nodes
        Nodes of a tree that move together.
    """

    share_of_reductions: float = 0.4
    repair_sweeps: int = 200
    weight_growth: float = 2.0
    over_growth: float = 1.1
    round_sweeps: int = 30
    round_growth: float = 1.1
    first_temperature: float = 1.0
    last_temperature: float = 0.01
    tree_nodes: int = 30


@dataclass(frozen=True, kw_only=True)
class AnnealParams(DescentParams):
    """Parameters of annealing: when it ends, and how often it tells.

    Attributes
    ----------
    seconds_at_once
        Annealing between two looks at the best choice, in seconds of a usual machine.
    sweeps_without_gain
        Annealing ends where as many sweeps as this number times the square of the nodes that are
        left brought no gain: every node then had its chance beside every other one.
    """

    seconds_at_once: float = 0.5
    sweeps_without_gain: int = 10


AS_TUNED = ShardingParams()
MESSAGES = MessageParams()
DESCENT = DescentParams()
