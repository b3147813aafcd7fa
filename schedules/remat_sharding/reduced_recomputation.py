r"""Recomputations that KIWI's reduced problem allows, and their operations.

Source: KIWI, Section 3.2. Three simplifications: no input of an operator that is computed again is
computed again itself; what has been computed again stays in memory for its other users; and what
will be computed again is freed when the forward pass needs it no more.

Let :math:`z_i = 1` if a backward operator reads forward operator :math:`i`. Then :math:`i` may be
computed again, once, at :math:`H_i`, right before its first backward user, together with all others
of the same :math:`H`, ascending. It is freed after its last user that is not backward, and again
after its last user. Every other value is freed after its last user, and after the last :math:`H_j`
of a user :math:`j` that is computed again, if that is later. Nothing is freed before operator
:math:`t` has run, and everything that is read by then is freed right after it.

Parameters, and what is kept, are never freed at the end; inputs are freed and not computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from jettison.instances.core.errors import InputError
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind


class ReducedRecomputation:
    """Fixed times of one graph at which values may be computed again, and are freed.

    Parameters
    ----------
    sharded
        The instance. Every backward operator comes after all others.

    Raises
    ------
    InputError
        If a backward operator comes before one that is not, which is named.
    """

    def __init__(self, sharded: ShardedGraph) -> None:
        self._sharded = sharded
        self._backward = [operator.role is Role.BACKWARD for operator in sharded.operators]
        late = _first_after_backward(sharded)
        if late is not None:
            operator = sharded.operators[late]
            raise InputError(
                f"{operator.name!r} comes after a backward operator and is a {operator.role}",
                field=f"operators[{late}].role",
                expected="KIWI's reduced problem needs every backward operator after all others; "
                "use a method for staged schedules",
            )

    @cached_property
    def recomputable(self) -> tuple[int, ...]:
        """The operators that may be computed again: :math:`z_i = 1`."""
        return tuple(
            position
            for position, operator in enumerate(self._sharded.operators)
            if operator.role is Role.FORWARD and self._is_read_backward(position)
        )

    @cached_property
    def again_at(self) -> dict[int, int]:
        """The position :math:`H_i` of the first backward user of each recomputable operator."""
        return {i: self.first_backward_user(i) for i in self.recomputable}

    def first_backward_user(self, position: int) -> int:
        """Return the position of the first backward user of an operator that has one."""
        return next(j for j in self._sharded.users[position] if self._backward[j])

    @cached_property
    def last_forward_use(self) -> tuple[int, ...]:
        """For each operator, its last user that is not backward, else itself."""
        return tuple(
            max((j for j in users if not self._backward[j]), default=position)
            for position, users in enumerate(self._sharded.users)
        )

    @cached_property
    def last_use(self) -> tuple[int, ...]:
        """For each operator, its last user :math:`live_i`, else itself; the length if kept."""
        return tuple(
            len(self._sharded)
            if self.stays(position)
            else max(self._sharded.users[position], default=position)
            for position in range(len(self._sharded))
        )

    def stays(self, position: int) -> bool:
        """Whether a value is in memory at the end: a parameter, or one that is kept."""
        operator = self._sharded.operators[position]
        return operator.keep or operator.role is Role.PARAMETER

    def _is_read_backward(self, position: int) -> bool:
        return any(self._backward[j] for j in self._sharded.users[position])

    def operations(self, again: Collection[int]) -> tuple[GraphOperation, ...]:
        """Return the operations of the plan that computes these operators again.

        Parameters
        ----------
        again
            Some of `recomputable`, none of which reads another.

        Notes
        -----
        Time :math:`O(n + |E|)`, and the order of what is freed at once.
        """
        count = len(self._sharded)
        before: list[list[int]] = [[] for _ in range(count)]
        after: list[list[int]] = [[] for _ in range(count + 1)]
        for i in sorted(again):
            before[self.again_at[i]].append(i)
            after[self.last_forward_use[i]].append(i)
        for i, users in enumerate(self._sharded.users):
            recomputed = [self.again_at[j] for j in users if j in again]
            after[max([self.last_use[i], *recomputed])].append(i)
        operations: list[GraphOperation] = []
        for t in range(count):
            operations.extend(
                GraphOperation(GraphOperationKind.COMPUTE, i) for i in (*before[t], t)
            )
            operations.extend(GraphOperation(GraphOperationKind.FREE, i) for i in sorted(after[t]))
        return tuple(operations)

    def allows(self, operations: Sequence[GraphOperation]) -> bool:
        """Tell whether these are the operations of a plan of the reduced problem."""
        seen: set[int] = set()
        again: set[int] = set()
        for operation in operations:
            if operation.kind is GraphOperationKind.COMPUTE:
                (again if operation.node in seen else seen).add(operation.node)
        if not again.issubset(self.recomputable):
            return False
        if any(again.intersection(self._sharded.inputs[i]) for i in again):
            return False
        return _in_normal_order(operations) == self.operations(again)


def is_reduced(sharded: ShardedGraph, operations: Sequence[GraphOperation]) -> bool:
    """Tell whether these operations are those of a plan of the graph's reduced problem."""
    return has_reduced_problem(sharded) and ReducedRecomputation(sharded).allows(operations)


def has_reduced_problem(sharded: ShardedGraph) -> bool:
    """Tell whether every backward operator comes after all others."""
    return _first_after_backward(sharded) is None


def _first_after_backward(sharded: ShardedGraph) -> int | None:
    roles = [operator.role for operator in sharded.operators]
    return next(
        (
            position
            for position in range(1, len(roles))
            if roles[position - 1] is Role.BACKWARD and roles[position] is not Role.BACKWARD
        ),
        None,
    )


def _in_normal_order(operations: Sequence[GraphOperation]) -> tuple[GraphOperation, ...]:
    """Return the operations with those that free next to each other in ascending order."""
    ordered: list[GraphOperation] = []
    freed: list[GraphOperation] = []
    for operation in operations:
        if operation.kind is GraphOperationKind.FREE:
            freed.append(operation)
            continue
        ordered.extend(sorted(freed, key=lambda item: item.node))
        freed.clear()
        ordered.append(operation)
    return (*ordered, *sorted(freed, key=lambda item: item.node))
