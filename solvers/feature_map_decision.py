"""What becomes of a feature map between its two uses."""

from __future__ import annotations

from enum import StrEnum


class FeatureMapDecision(StrEnum):
    """One of three: the binary triple of µ-TWO's greedy, and of the bound."""

    KEEP = "keep"
    SWAP = "swap"
    RECOMPUTE = "recompute"
