"""Proof found by a search, and the reason why the search ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """Reason why a search for a proof ended.

    ``proved``
        The claim that was asked for is proved.
    ``false``
        An integer point of the model, checked in exact integers, contradicts that claim.
    ``time limit``, ``interrupted``
        The time is up, or Ctrl-C.
    ``size limit``
        The tree became too large to hold.
    ``precision``
        Multipliers of this precision cannot prove more, or only continuous columns remain.
    """

    PROVED = "proved"
    FALSE = "false"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    SIZE_LIMIT = "size limit"
    PRECISION = "precision"


@dataclass(frozen=True)
class Proof:
    """Proof that no point of a model beats a time.

    Attributes
    ----------
    time_ns
        The time that no schedule beats; None where the model has no point at all.
    scale_bits
        Multipliers :math:`Y` in the lines mean :math:`Y / 2^k` with this :math:`k`.
    lines
        The lines of the proof, ASCII, as one gzip member.
    num_bytes
        Size of the uncompressed lines.
    leaves
        Number of leaves of the tree.
    """

    time_ns: int | None
    scale_bits: int
    lines: bytes
    num_bytes: int
    leaves: int


@dataclass(frozen=True)
class Attempt:
    """Outcome of a search for a proof.

    Attributes
    ----------
    proof
        Proof of the claim, or of the largest smaller one that is proved; None where none is.
    ending
        Why the search ended.
    """

    proof: Proof | None
    ending: Ending
