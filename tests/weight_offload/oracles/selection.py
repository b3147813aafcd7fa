"""Algorithm 1 of weight offloading as it is written, in fractions, for given excesses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def naive_selection(
    excess_bytes: Sequence[int], weight_bytes: Sequence[int]
) -> list[tuple[int, int]] | None:
    """Return the choices (k, d) in order; the excesses are those of B_L, ..., B_1, F_1, ..., F_L.

    They are taken as they are: who wants them cut off at 0 at the start does so before.
    """
    layers = len(weight_bytes)
    excess = list(excess_bytes)
    names = [("B", k) for k in range(layers, 0, -1)] + [("F", k) for k in range(1, layers + 1)]

    def covered(k: int, d: int) -> list[int]:
        # Cyclic from F_k to B_k for d = 1, from B_k to F_k for d = 0.
        here = names.index(("F", k) if d else ("B", k))
        there = names.index(("B", k) if d else ("F", k))
        places = []
        here = (here + 1) % len(names)
        while here != there:
            places.append(here)
            here = (here + 1) % len(names)
        return places

    chosen: list[tuple[int, int]] = []
    while max(excess) > 0:
        profits = {}
        for k in range(1, layers + 1):
            for d in (0, 1):
                size = weight_bytes[k - 1]
                if size == 0 or (k, d) in chosen:
                    continue
                benefit = sum(min(excess[place], size) for place in covered(k, d))
                halves = 2 if (k, 1 - d) in chosen else 1
                profits[k, d] = Fraction(halves * benefit, 2 * size)
        if not profits:
            return None
        best = max(profits, key=lambda choice: (profits[choice], choice))
        chosen.append(best)
        for place in covered(*best):
            excess[place] = max(excess[place] - weight_bytes[best[0] - 1], 0)
    return chosen
