"""Parameters of the certificates of POFO's program."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.core.params import Params


@dataclass(frozen=True, kw_only=True)
class PofoProofParams(Params):
    """Parameters of the certificates of POFO's program.

    Attributes
    ----------
    coarse_slots, fine_slots
        Slots of memory of the two grids of the bounds that are tried for each claim: on the coarse
        one bounds take few points, and more states are searched.
    most_points
        Points of a certificate, at most: 100,000 take less than a megabyte, and about seven seconds
        of the checker.
    most_claims
        Claims that are tried where the first one takes more points than that, or more time.
    most_table_bytes
        Limit on the memory of the tables.
    """

    coarse_slots: int = 120
    fine_slots: int = 240
    most_points: int = 800_000
    most_claims: int = 5
    most_table_bytes: int = 2**30


POFO_PROOF = PofoProofParams()
