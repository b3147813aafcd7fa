r"""Models of 3-PARTITION, by triples of values and by assignment, in exact integers.

The models of `formulations/three_partition/triples.py` and, with groups named after their largest
item, of `formulations/three_partition/assignment.py`. There is no objective: a point is a
partition of the items :math:`x_1, \dots, x_{3m}` into triples of sum :math:`V`, and every
partition is a point of either model. So a claim is that there is none.

``triples``, version 1. A column ``t_a_b_c`` for all values :math:`a \le b \le c` with
:math:`a + b + c = V` that the items can form, in lexicographic order: how often the triple is
taken. It lies from 0 to the number of times that there are items for it. Rows ``value_v``: the
items of each value are covered as often as there are.

``assignment``, version 1. Items are counted from 0. A binary column ``y_i_j`` for each item
:math:`i` and each item :math:`j` that is larger, or equal and not after it: :math:`i` is in the
group whose first item, the largest one first, is :math:`j`. Rows ``item_i``: every item is in one
group; ``size_j``, ``sum_j``: a group has three items, of sum :math:`V`, or is none;
``lead_i_j``: what is no group has no items.

The items are those of the instance in their order, with :math:`V / 4 < x < V / 2` and
:math:`\sum x = m V`.
"""

from __future__ import annotations

from collections import Counter

from ..errors import CertificateError
from ..header_fields import Fields, check_kind, integer_field, integers_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel

_MOST_ITEMS = 30_000
# Pairs of values are looked at for triples, and pairs of items are columns of the assignment.
_MOST_VALUES = 3000
_MOST_ASSIGNED_ITEMS = 600


def three_partition_triples(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, in time quadratic in the number of distinct values.

    Raises
    ------
    CertificateError
        If the instance is not a 3-PARTITION, or there are too many values.
    """
    values, target = _items(instance, resources, options)
    count = Counter(values)
    distinct = sorted(count)
    if len(distinct) > _MOST_VALUES:
        raise CertificateError(f"{len(distinct)} values; at most {_MOST_VALUES} are checked")
    model = IntegerModel()
    covers: dict[int, list[int]] = {value: [] for value in distinct}
    for position, first in enumerate(distinct):
        for second in distinct[position:]:
            third = target - first - second
            if third < second:
                break
            if third not in covers:
                continue
            triple = (first, second, third)
            most = min(count[value] // triple.count(value) for value in triple)
            if most:
                column = model.add_column(f"t_{first}_{second}_{third}", 0, most)
                for value in triple:
                    covers[value].append(column)
    for value in distinct:
        # A column stands there as often as its triple takes the value, and adds up.
        columns = covers[value]
        model.equal(f"value_{value}", columns, [1] * len(columns), count[value])
    return StatedModel(model, "all partitions")


def three_partition_assignment(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, in time quadratic in the number of items.

    Raises
    ------
    CertificateError
        If the instance is not a 3-PARTITION, or has too many items.
    """
    values, target = _items(instance, resources, options)
    if len(values) > _MOST_ASSIGNED_ITEMS:
        raise CertificateError(f"{len(values)} items; at most {_MOST_ASSIGNED_ITEMS} are checked")
    order = sorted(range(len(values)), key=lambda item: (-values[item], item))
    place = {item: number for number, item in enumerate(order)}
    model = IntegerModel()
    y: dict[tuple[int, int], int] = {}
    for i in range(len(values)):
        for j in sorted(order[: place[i] + 1]):
            y[i, j] = model.add_column(f"y_{i}_{j}", 0, 1)
    for i in range(len(values)):
        columns = [y[i, j] for j in sorted(order[: place[i] + 1])]
        model.equal(f"item_{i}", columns, [1] * len(columns), 1)
    for word, amounts, total in (("size", [1] * len(values), 3), ("sum", values, target)):
        for j in range(len(values)):
            led = order[place[j] :]
            columns = [y[i, j] for i in led] + [y[j, j]]
            model.equal(f"{word}_{j}", columns, [*(amounts[i] for i in led), -total], 0)
    for (i, j), member in y.items():
        if i != j:
            model.at_least(f"lead_{i}_{j}", [y[j, j], member], [1, -1], 0)
    return StatedModel(model, "all partitions")


def _items(instance: Fields, resources: Fields, options: Fields) -> tuple[list[int], int]:
    """Return the values and the target."""
    only_fields(resources, set(), "resources")
    only_fields(options, set(), "the formulation")
    check_kind(instance, "three-partition", {"values", "target"})
    target = integer_field(instance, "target", least=1)
    values = integers_field(instance, "values", target)
    if not values or len(values) % 3 or len(values) > _MOST_ITEMS:
        raise CertificateError(f"{len(values)} items; they come in threes, up to {_MOST_ITEMS}")
    if not all(target < 4 * value < 2 * target for value in values):
        raise CertificateError("an item is not between a quarter and half of the target")
    if 3 * sum(values) != len(values) * target:
        raise CertificateError(f"the items do not sum to {len(values) // 3} times {target}")
    return values, target
