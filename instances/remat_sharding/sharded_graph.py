"""Sharded graph: a training step on a mesh, for sharding and recomputation together (KIWI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import InstanceDocument, read_each, read_provenance
from jettison.instances.core.names import checked_name, checked_unique
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.topological_order import check_inputs
from jettison.instances.core.units import checked_amount
from jettison.instances.remat_sharding.operator import Operator, Role

Table = tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Resharding:
    """Resharding costs between two operators: the time to bring a value into the reader's layout.

    Attributes
    ----------
    source, target
        Names of the operator that computes the value and of the one that reads it.
    cost_ns
        One row per strategy of `source`, one column per strategy of `target`; None forbids a pair.
    """

    source: str
    target: str
    cost_ns: Table


@dataclass(frozen=True, repr=False)
class ShardedGraph(InstanceDocument):
    """Sharded graph: operators in a topological order, their strategies, and resharding costs.

    Attributes
    ----------
    name
        Name of the instance.
    operators
        At least one; each comes after all of its inputs and after what it follows.
    resharding
        At most one entry per input of an operator; an input without one needs no resharding.
    mesh
        Devices along each dimension of the mesh; empty if it is not known.
    fastest
        For each operator, the strategy of a fastest plan without a limit on memory, if that is
        known: what shares of memory refer to. Empty if it is not known.
    provenance
        Provenance of the numbers.

    Raises
    ------
    InputError
        If there is no operator, a name occurs twice, an input is unknown, the inputs form a cycle
        (which is named), an operator comes before one of its inputs, a table has the wrong shape
        or a cost that is not a non-negative integer, a follower has another number of strategies,
        no strategy is allowed for all of a group, or `fastest` is no choice that is allowed.
    """

    kind = "sharded-graph"

    name: str
    operators: tuple[Operator, ...]
    resharding: tuple[Resharding, ...] = ()
    mesh: tuple[int, ...] = ()
    fastest: tuple[int, ...] = ()
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        if not self.operators:
            raise InputError(
                "the graph is empty", field="operators", expected="give at least one operator"
            )
        checked_unique([operator.name for operator in self.operators], "operators")
        for position, size in enumerate(self.mesh):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise InputError(
                    f"{size!r}", field=f"mesh[{position}]", expected="write a number of devices"
                )
        inputs = {operator.name: operator.inputs for operator in self.operators}
        check_inputs(inputs, "operators", "an operator")
        for position, operator in enumerate(self.operators):
            if operator.follows is not None:
                self._check_follower(position, operator)
        self._check_groups()
        self._check_tables()
        self._check_fastest()
        largest_ns = sum(
            max(operator.strategies[k].cost_ns for k in operator.allowed)
            for operator in self.operators
        ) + sum(max(cost or 0 for row in item.cost_ns for cost in row) for item in self.resharding)
        largest_bytes = sum(
            max(strategy.memory_bytes for strategy in operator.strategies)
            for operator in self.operators
        )
        if max(largest_bytes, largest_ns * len(self)) >= 2**60:
            raise InputError(
                "the sizes or the durations add up to more than 60 bits",
                field="operators",
                expected="check their units: bytes and nanoseconds; null forbids",
            )

    def _check_follower(self, position: int, operator: Operator) -> None:
        assert operator.follows is not None
        leader = self.position_of.get(operator.follows, position)
        if leader >= position:
            raise InputError(
                f"{operator.follows!r} is not an operator before {operator.name!r}",
                field=f"operators[{position}].follows",
                expected="name an operator before this one",
            )
        if len(self.operators[leader].strategies) != len(operator.strategies):
            raise InputError(
                f"{operator.name!r} has {len(operator.strategies)} strategies and follows "
                f"{operator.follows!r}, which has {len(self.operators[leader].strategies)}",
                field=f"operators[{position}].follows",
                expected="give both the same number of strategies, matching place by place",
            )

    def _check_groups(self) -> None:
        for group in self.groups:
            if not self._allowed_together(group):
                last = self.operators[group[-1]]
                raise InputError(
                    f"{last.name!r} has no strategy that is allowed for all that it follows",
                    field=f"operators[{group[-1]}].follows",
                    expected="allow one of the same place",
                )

    def _check_tables(self) -> None:
        seen: set[tuple[str, str]] = set()
        for position, item in enumerate(self.resharding):
            where = f"resharding[{position}]"
            ends = (item.source, item.target)
            target = self.position_of.get(item.target)
            if target is None or item.source not in self.operators[target].inputs:
                raise InputError(
                    f"{item.target!r} does not read {item.source!r}",
                    field=where,
                    expected="name an operator and one of its inputs",
                )
            if ends in seen:
                raise InputError(
                    f"{item.source!r} to {item.target!r} stands twice",
                    field=where,
                    expected="give one table for each input",
                )
            seen.add(ends)
            if all(cost is None for row in item.cost_ns for cost in row):
                raise InputError(
                    f"every pair of strategies of {item.source!r} and {item.target!r} is forbidden",
                    field=f"{where}.cost_ns",
                    expected="allow one; null forbids",
                )
            shape = tuple(len(self.operators[self.position_of[name]].strategies) for name in ends)
            if len(item.cost_ns) != shape[0] or any(len(row) != shape[1] for row in item.cost_ns):
                raise InputError(
                    f"the table from {item.source!r} to {item.target!r} does not match their "
                    "strategies",
                    field=f"{where}.cost_ns",
                    expected=f"write {shape[0]} rows of {shape[1]} costs",
                )
            for row, costs in enumerate(item.cost_ns):
                for column, cost in enumerate(costs):
                    if cost is not None:
                        checked_amount(cost, f"{where}.cost_ns[{row}][{column}]", "nanoseconds")

    def _check_fastest(self) -> None:
        if not self.fastest:
            return
        if len(self.fastest) != len(self):
            raise InputError(
                f"{len(self.fastest)} entries",
                field="fastest",
                expected=f"name a strategy for each of the {len(self)} operators",
            )
        for position, (operator, place) in enumerate(
            zip(self.operators, self.fastest, strict=True)
        ):
            if place not in operator.allowed:
                raise InputError(
                    f"{place!r} is not an allowed strategy of {operator.name!r}",
                    field=f"fastest[{position}]",
                    expected=f"write one of {', '.join(map(str, operator.allowed))}",
                )
            if place != self.fastest[self.leader[position]]:
                raise InputError(
                    f"{operator.name!r} follows {operator.follows!r} and has another strategy",
                    field=f"fastest[{position}]",
                    expected="give both the same place in their lists",
                )
        for (source, target), table in self.tables.items():
            if table[self.fastest[source]][self.fastest[target]] is None:
                raise InputError(
                    f"{self.operators[source].name!r} cannot be resharded for "
                    f"{self.operators[target].name!r}",
                    field=f"fastest[{target}]",
                    expected="choose a pair of strategies whose resharding is allowed",
                )

    def __len__(self) -> int:
        return len(self.operators)

    @cached_property
    def position_of(self) -> Mapping[str, int]:
        """Position of each operator by name."""
        return {operator.name: position for position, operator in enumerate(self.operators)}

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """For each operator, the positions of its inputs, ascending."""
        return tuple(
            tuple(sorted(self.position_of[name] for name in operator.inputs))
            for operator in self.operators
        )

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each operator, the positions of the operators that read it, ascending."""
        found: list[list[int]] = [[] for _ in self.operators]
        for position, inputs in enumerate(self.inputs):
            for source in inputs:
                found[source].append(position)
        return tuple(tuple(users) for users in found)

    @cached_property
    def leader(self) -> tuple[int, ...]:
        """For each operator, the position of its leader: the one it follows, else itself."""
        found: list[int] = []
        for position, operator in enumerate(self.operators):
            follows = operator.follows
            found.append(position if follows is None else found[self.position_of[follows]])
        return tuple(found)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Groups of operators with one common choice: each leader with its followers."""
        found: dict[int, list[int]] = {}
        for position, leader in enumerate(self.leader):
            found.setdefault(leader, []).append(position)
        return tuple(tuple(group) for group in found.values())

    def _allowed_together(self, group: tuple[int, ...]) -> set[int]:
        return set.intersection(*(set(self.operators[position].allowed) for position in group))

    @cached_property
    def tables(self) -> Mapping[tuple[int, int], Table]:
        """The tables of `resharding` by the positions of source and target."""
        return {
            (self.position_of[item.source], self.position_of[item.target]): item.cost_ns
            for item in self.resharding
        }

    @property
    def parameters(self) -> tuple[int, ...]:
        """The positions of the parameters."""
        return tuple(
            position
            for position, operator in enumerate(self.operators)
            if operator.role is Role.PARAMETER
        )

    @cached_property
    def base_time_ns(self) -> int:
        """Base time, a lower bound: each group at its fastest strategy, each input at its cheapest.

        Not the time of a plan, as a rule: the strategies need not go together.
        """
        fastest_ns = sum(
            min(
                sum(self.operators[position].strategies[k].cost_ns for position in group)
                for k in self._allowed_together(group)
            )
            for group in self.groups
        )
        costs = [
            [cost for row in item.cost_ns for cost in row if cost is not None]
            for item in self.resharding
        ]
        return fastest_ns + sum(map(min, costs))

    @cached_property
    def least_peak_bound_bytes(self) -> int:
        """Memory floor: a memory below which no plan in the order of the graph exists.

        Each operator needs its output and its inputs at once beside the parameters before it; the
        kept values and the parameters stand together at the end.
        """
        return max(self._least_bytes_at_end, *self._least_bytes_while_running)

    @cached_property
    def neediest_operator(self) -> str | None:
        """The first operator that needs `least_peak_bound_bytes`; None if only the end does."""
        largest = max(self._least_bytes_while_running)
        if largest < self.least_peak_bound_bytes:
            return None
        return self.operators[self._least_bytes_while_running.index(largest)].name

    @cached_property
    def _least_bytes(self) -> tuple[int, ...]:
        return tuple(
            min(operator.strategies[k].memory_bytes for k in operator.allowed)
            for operator in self.operators
        )

    @cached_property
    def _least_bytes_at_end(self) -> int:
        return sum(
            size
            for size, operator in zip(self._least_bytes, self.operators, strict=True)
            if operator.keep or operator.role is Role.PARAMETER
        )

    @cached_property
    def _least_bytes_while_running(self) -> tuple[int, ...]:
        found, parameters = [], set[int]()
        for position, operator in enumerate(self.operators):
            needed = parameters.union(self.inputs[position], (position,))
            found.append(sum(self._least_bytes[other] for other in needed))
            if operator.role is Role.PARAMETER:
                parameters.add(position)
        return tuple(found)

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        found: dict[str, object] = {
            "operators": [operator.to_json() for operator in self.operators],
            "resharding": [
                {
                    "source": item.source,
                    "target": item.target,
                    "cost_ns": [list(row) for row in item.cost_ns],
                }
                for item in self.resharding
            ],
        }
        if self.mesh:
            found["mesh"] = list(self.mesh)
        if self.fastest:
            found["fastest"] = list(self.fastest)
        return found

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ShardedGraph:
        """Build the graph from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another; the field is named by its path.
        """
        return cls(
            name=document["name"],
            operators=read_each(document, "operators", Operator.from_json),
            resharding=tuple(
                Resharding(
                    item["source"], item["target"], tuple(tuple(row) for row in item["cost_ns"])
                )
                for item in document.get("resharding", [])
            ),
            mesh=tuple(document.get("mesh", [])),
            fastest=tuple(document.get("fastest", [])),
            provenance=read_provenance(document),
        )
