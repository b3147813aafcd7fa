"""The triples of distinct values that sum to the target: the columns of the triple model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

ValueTriple = tuple[int, int, int]


def value_triples(values: Iterable[int], target: int) -> tuple[ValueTriple, ...]:
    r"""Return all :math:`a \le b \le c` with :math:`a + b + c = V` that the items can form.

    A value that a triple takes twice or three times must belong to as many items. The triples are
    in lexicographic order; time :math:`O(d^2)` for :math:`d` distinct values.
    """
    count = Counter(values)
    distinct = sorted(count)
    found = []
    for position, first in enumerate(distinct):
        for second in distinct[position:]:
            third = target - first - second
            if third < second:
                break
            if third in count:
                triple = (first, second, third)
                if all(triple.count(value) <= count[value] for value in triple):
                    found.append(triple)
    return tuple(found)
