r"""States of windowed sharding that are left with fewer cuts, as a limit on those with more.

Let :math:`C \subset C'` be cuts. A labelling with :math:`C'` becomes one with :math:`C` mask by
mask: where windows are merged, *again* if the value is *again* in one of them, else what the first
of them says; windows before the first cut of :math:`C` are dropped, and what is not looked at in a
window of :math:`C` is *neither* in it. That image

* has a mask of :math:`C`: (need) and (stay) of the merged window follow from those of its parts;
* costs no more, since an operator is *again* in no more windows;
* takes no more memory in the rows of :math:`C`: what is *stored* there was so, or was *again*;
* keeps (again): an operator that is *again* in a part has inputs that are not *neither* in it, and
  by (stay) what is *stored* in a later part was *stored* or *again* in the ones before.

So where no labelling with :math:`C` that is cheap enough has a state, none with :math:`C'` has a
state whose image it is, and any bound with :math:`C` holds with :math:`C'` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NEITHER, STORED, AGAIN = range(3)
Mask = tuple[int, ...]


@dataclass(frozen=True)
class StatesLeft:
    """States of a graph with some cuts that are left, by operator.

    Attributes
    ----------
    cuts
        The cuts, ascending.
    masks
        The masks of each operator that there were.
    left
        For each operator, its strategies with their masks that are left.
    """

    cuts: tuple[int, ...]
    masks: tuple[tuple[Mask, ...], ...]
    left: tuple[frozenset[tuple[int, Mask]], ...]

    def images(self, cuts: Sequence[int], i: int, masks: Sequence[Mask]) -> list[Mask]:
        """Return the images of masks of an operator with more cuts."""
        first = [cuts.index(t) for t in self.cuts]
        ends = [*first[1:], len(cuts)][: len(first)]
        is_looked_at = [
            any(mask[w] != NEITHER for mask in self.masks[i]) for w in range(len(self.cuts))
        ]
        return [
            tuple(
                _merged(mask[begin:end]) if looked_at else NEITHER
                for begin, end, looked_at in zip(first, ends, is_looked_at, strict=True)
            )
            for mask in masks
        ]


def _merged(parts: Sequence[int]) -> int:
    return AGAIN if AGAIN in parts else parts[0]
