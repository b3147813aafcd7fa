r"""The triple relaxation of 3-PARTITION, decided in exact integers.

The relaxation asks for a weight :math:`t_j \ge 0` of every triple :math:`j` of values, such that
each value :math:`v` is covered :math:`n_v` times, the number of its items:

.. math::
    \sum_j a_{vj} t_j = n_v \quad \forall v .

By Farkas' lemma there is none exactly where some :math:`y` has :math:`\sum_v a_{vj} y_v \ge 0` for
all :math:`j` and :math:`\sum_v n_v y_v < 0`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from jettison.instances.three_partition.value_triples import value_triples


def farkas_vector(values: Sequence[int], target: int) -> dict[int, int] | None:
    r"""Return an integer Farkas vector :math:`y`, by value; None if the relaxation is feasible.

    Phase 1 of the simplex method from the basis of one artificial column per row, with Bland's
    rule, which ends, and integer pivots: the tableau holds integers over one common denominator,
    the determinant of the basis (Edmonds). A pivot takes :math:`O(d (d + k))` operations on
    integers for :math:`d` distinct values and :math:`k` triples.
    """
    count = Counter(values)
    distinct = sorted(count)
    row_of = {value: row for row, value in enumerate(distinct)}
    triples = value_triples(values, target)
    width, height = len(triples), len(distinct)
    # Columns: the triples, the artificial columns, the right-hand side. The last row of the tableau
    # holds the reduced costs of the sum of the artificial columns.
    tableau = [[0] * (width + height + 1) for _ in range(height + 1)]
    costs = tableau[height]
    for column, triple in enumerate(triples):
        for value in triple:
            tableau[row_of[value]][column] += 1
            costs[column] -= 1
    for row, value in enumerate(distinct):
        tableau[row][width + row] = 1
        tableau[row][-1] = count[value]
        costs[-1] -= count[value]
    basis = [width + row for row in range(height)]
    denominator = 1
    while True:
        entering = next((column for column in range(width) if costs[column] < 0), None)
        if entering is None:
            break
        leaving = _leaving_row(tableau, basis, entering)
        denominator = _pivot(tableau, leaving, entering, denominator)
        basis[leaving] = entering
    if costs[-1] == 0:
        return None
    # A reduced cost of an artificial column is 1 minus its dual value; y is minus that value.
    dual = [costs[width + row] - denominator for row in range(height)]
    divisor = math.gcd(*dual)
    return {value: dual[row] // divisor for row, value in enumerate(distinct)}


def _leaving_row(tableau: list[list[int]], basis: list[int], entering: int) -> int:
    """Return the row with the smallest ratio, and of these the one with the first column."""
    best: int | None = None
    for row in range(len(basis)):
        pivot = tableau[row][entering]
        if pivot <= 0:
            continue
        if best is not None:
            difference = tableau[row][-1] * tableau[best][entering] - tableau[best][-1] * pivot
            if difference > 0 or (difference == 0 and basis[row] > basis[best]):
                continue
        best = row
    # The sum of the artificial columns is at least 0, so that no ray improves it for ever.
    assert best is not None
    return best


def _pivot(tableau: list[list[int]], leaving: int, entering: int, denominator: int) -> int:
    """Make `entering` basic in row `leaving`, and return the new common denominator."""
    source = tableau[leaving]
    pivot = source[entering]
    for row, line in enumerate(tableau):
        factor = line[entering]
        if row == leaving:
            continue
        if factor:
            line[:] = [
                (entry * pivot - factor * other) // denominator
                for entry, other in zip(line, source, strict=True)
            ]
        elif pivot != denominator:
            line[:] = [entry * pivot // denominator for entry in line]
    return pivot
