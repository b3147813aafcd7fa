"""The lines of a proof, and why a search for one ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """Why a search for a proof ended.

    ``proved``
        The claim that was asked for is proved.
    ``false``
        An integer point of the model, checked in exact integers, contradicts that claim.
    ``time limit``, ``interrupted``
        The time is up, or Ctrl-C.
    ``size limit``
        The tree became too large to hold.
    ``precision``
        Multipliers of so few bits cannot prove more, or continuous columns leave no more to prove.
    """

    PROVED = "proved"
    FALSE = "false"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    SIZE_LIMIT = "size limit"
    PRECISION = "precision"


@dataclass(frozen=True)
class Proof:
    """A proof that no point of a model beats a time.

    Attributes
    ----------
    time_ns
        The time that no schedule beats; None where the model has no point at all.
    scale_bits
        Multipliers :math:`Y` in the lines mean :math:`Y / 2^k` with this :math:`k`.
    lines
        The lines of the proof, ASCII, as one gzip member.
    num_bytes
        Of the lines, not compressed.
    leaves
        Of the tree.
    """

    time_ns: int | None
    scale_bits: int
    lines: bytes
    num_bytes: int
    leaves: int


@dataclass(frozen=True)
class Attempt:
    """What a search for a proof found.

    Attributes
    ----------
    proof
        Of the claim that was asked for, or the largest smaller one that is proved; None where not
        even the least is.
    ending
        Why the search ended.
    """

    proof: Proof | None
    ending: Ending
