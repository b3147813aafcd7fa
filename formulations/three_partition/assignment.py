r"""Assignment MILP of 3-PARTITION as a PuLP model.

Items :math:`1, \dots, 3m` of sizes :math:`x_i` go into groups of three that sum to :math:`V`. There
is no objective: a point is a partition. Two variants say what a group is.

`AnyGroup`: groups are numbered :math:`g = 1, \dots, m`, and any permutation of them is another
point. With binaries :math:`y_{i,g}`, ``y_i_g`` (items and groups are counted from 0 in names): item
:math:`i` is in group :math:`g`,

.. math::
    \text{(item)} \quad & \sum_g y_{i,g} = 1 && \forall i \\
    \text{(size)} \quad & \sum_i y_{i,g} = 3 && \forall g \\
    \text{(sum)} \quad & \sum_i x_i y_{i,g} = V && \forall g .

`LedByLargest`: a group is named after its largest item, and of equal items the first, so that every
partition is one point. With binaries :math:`y_{i,j}`, ``y_i_j``, for :math:`j = i` and all
:math:`j` before :math:`i` in that order: item :math:`i` is in the group that :math:`j` leads,

.. math::
    \text{(item)} \quad & \sum_j y_{i,j} = 1 && \forall i \\
    \text{(size)} \quad & \sum_i y_{i,j} = 3 y_{j,j} && \forall j \\
    \text{(sum)} \quad & \sum_i x_i y_{i,j} = V y_{j,j} && \forall j \\
    \text{(lead)} \quad & y_{i,j} \le y_{j,j} && \forall i \ne j .

Rows are named ``item_i``, ``size_g``, ``sum_g`` and ``lead_i_j``. The relaxation of `AnyGroup` is
feasible whatever the items: :math:`y_{i,g} = 1/m`.

Size: :math:`3 m^2` columns and :math:`9 m^2` coefficients, or :math:`3 m (3 m + 1) / 2` columns and
about :math:`45 m^2 / 2` coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import lazy_loader as lazy

from jettison.instances.three_partition.instance import Partition, ThreePartition

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


@dataclass(frozen=True, slots=True)
class AnyGroup:
    """Numbered groups, all of whose permutations are points."""


@dataclass(frozen=True, slots=True)
class LedByLargest:
    """Groups named after their largest item, so that every partition is one point."""


@dataclass(frozen=True)
class AssignmentModel:
    """Built model, with the translation of its points to partitions.

    Attributes
    ----------
    instance
        The items.
    problem
        The PuLP problem.
    """

    instance: ThreePartition
    problem: pulp.LpProblem

    def partition(self, values: Mapping[str, float]) -> Partition:
        """Return the positions of the items of each group; `values` are those of a point."""
        groups: dict[str, list[int]] = {}
        for name, value in values.items():
            if value > 0.5:
                _, item, group = name.split("_")
                groups.setdefault(group, []).append(int(item))
        return tuple(
            sorted((first, second, third) for first, second, third in map(sorted, groups.values()))
        )


@dataclass(frozen=True)
class ThreePartitionAssignment:
    """Assignment MILP in one of two variants; the models are in the docstring of this module.

    Attributes
    ----------
    groups
        How groups are named: `AnyGroup` or `LedByLargest`.
    """

    groups: AnyGroup | LedByLargest = field(default_factory=AnyGroup)

    def build(self, instance: ThreePartition) -> AssignmentModel:
        """Build the model; about 10 µs for each coefficient."""
        problem = pulp.LpProblem("three_partition", pulp.LpMinimize)
        problem += pulp.LpAffineExpression()
        match self.groups:
            case AnyGroup():
                _add_any_group(problem, instance)
            case LedByLargest():
                _add_led_by_largest(problem, instance)
            case other:
                assert_never(other)
        return AssignmentModel(instance, problem)


def _add_any_group(problem: pulp.LpProblem, instance: ThreePartition) -> None:
    x, V = instance.values, instance.target  # noqa: N806
    items, groups = range(len(x)), range(instance.groups)
    y = {
        (i, g): problem.add_variable(f"y_{i}_{g}", cat=pulp.LpBinary) for i in items for g in groups
    }
    for i in items:
        problem += pulp.lpSum(y[i, g] for g in groups) == 1, f"item_{i}"
    for g in groups:
        problem += pulp.lpSum(y[i, g] for i in items) == 3, f"size_{g}"
    for g in groups:
        problem += pulp.lpSum(x[i] * y[i, g] for i in items) == V, f"sum_{g}"


def _add_led_by_largest(problem: pulp.LpProblem, instance: ThreePartition) -> None:
    x, V = instance.values, instance.target  # noqa: N806
    order = sorted(range(len(x)), key=lambda i: (-x[i], i))
    led = {j: order[place:] for place, j in enumerate(order)}
    leaders = {i: order[: place + 1] for place, i in enumerate(order)}
    y = {
        (i, j): problem.add_variable(f"y_{i}_{j}", cat=pulp.LpBinary)
        for i in range(len(x))
        for j in sorted(leaders[i])
    }
    for i in range(len(x)):
        problem += pulp.lpSum(y[i, j] for j in leaders[i]) == 1, f"item_{i}"
    for j in range(len(x)):
        problem += pulp.lpSum(y[i, j] for i in led[j]) == 3 * y[j, j], f"size_{j}"
    for j in range(len(x)):
        problem += pulp.lpSum(x[i] * y[i, j] for i in led[j]) == V * y[j, j], f"sum_{j}"
    for (i, j), member in y.items():
        if i != j:
            problem += member <= y[j, j], f"lead_{i}_{j}"
