"""Rows of the cycle bound about what was saved for good when the last backward operation starts."""

from __future__ import annotations

from ..integer_model import IntegerModel
from .activations import Activations
from .around import Around
from .given_step import GivenStep


def add_peak_rows(
    model: IntegerModel, given: GivenStep, around: Around, activations: Activations
) -> None:
    """Add the columns K and O, and the rows remade, holds and returns, of two stages or more."""
    last = len(given.chain)
    if last == 1:
        return
    cut = around.backward(last) - 1
    below = range(1, last)
    sizes = [given.chain.stages[i - 1].saved_bytes for i in below]
    kept = [model.add_column(f"K_{i}", 0, 1, is_integer=False) for i in below]
    away = model.add_column("O", 0, sum(sizes), is_integer=False)
    for i, column in zip(below, kept, strict=True):
        later = [activations.S[e, i] for e in around.gaps if e > cut and (e, i) in activations.S]
        model.at_least(f"remade_{i}", [column, *later], [1] * (1 + len(later)), 1)
    values = [1, 1, *(-size for size in sizes)]
    model.at_least("holds", [activations.dev[cut], away, *kept], values, 0)
    brought = [activations.brought[e][0] for e in around.elements if e > cut]
    model.at_least("returns", [away, *brought], [-1, *[1] * len(brought)], 0)
