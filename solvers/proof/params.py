"""Parameters of the search for proofs: covers, branching, fixings and the shares of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jettison.solvers.core.params import Params


@dataclass(frozen=True, kw_only=True)
class ProofParams(Params):
    """Parameters of the search for a proof: its shares of the time, and the size of a proof.

    Attributes
    ----------
    first_share
        Share of its time that each of several models gets first, before any gets all of it.
    longest_first_s
        Seconds of that first time, at most.
    share_for_covers
        Share of the time for covers, before the tree.
    most_cover_rounds
        Rounds of covers, at most.
    least_violation
        Share of the right-hand side by which a relaxation must break a cover.
    least_rise
        Relative rise of the bound, over the last rounds, below which covers end.
    patience
        Rounds over which that rise is measured.
    most_cover_steps
        Items times profits of one cover, at most: the effort of its check.
    candidates
        Columns that are tried before one is branched at, at most.
    iterations
        Iterations of the simplex method for each of the two sides of such a column.
    reliable
        Branches at a column, on each side, after which their mean gain is taken for its gain.
    least_gain
        Least gain that counts, as a share of what is missing.
    most_fixings
        Times that columns are fixed at the root, at most.
    share_fixed
        Share of the free columns that a fixing must fix for the relaxation to be built again.
    bits
        Bits after the point of multipliers, less those of the unit of the costs.
    bits_of_weights
        Bits of the weights of rows for which these suffice; larger weights get as many more.
    more_bits
        Bits that are added where these do not prove what integer points allow; such numbers are
        Python's integers, and take time.
    most_multipliers
        Multipliers of a tree, at most: 80 million take about a gigabyte.
    """

    at_least: ClassVar[Mapping[str, float]] = {
        "most_cover_rounds": 0,
        "least_violation": 0,
        "least_rise": 0,
        "most_cover_steps": 0,
        "candidates": 0,
        "least_gain": 0,
        "share_fixed": 0,
    }

    first_share: float = 0.1
    longest_first_s: float = 5.0
    share_for_covers: float = 0.1
    most_cover_rounds: int = 25
    least_violation: float = 1e-3
    least_rise: float = 1e-4
    patience: int = 3
    most_cover_steps: int = 1_000_000
    candidates: int = 10
    iterations: int = 40
    reliable: int = 2
    least_gain: float = 1e-6
    most_fixings: int = 3
    share_fixed: float = 0.1
    bits: int = 30
    bits_of_weights: int = 34
    more_bits: int = 24
    most_multipliers: int = 80_000_000


PROOF = ProofParams()
