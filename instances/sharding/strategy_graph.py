"""Strategy graph: operators with sharding strategies, for sharding within a memory limit.

The form is that of the ASPLOS'25 / IOPDDL contest on intra-operator parallelism (Moffitt and
Fegade, 2025), whose graphs come from XLA: a node is an operator, a strategy is one way to shard it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import InstanceDocument, read_each, read_provenance
from jettison.instances.core.live_sets import usage_over_time
from jettison.instances.core.names import checked_name, checked_unique
from jettison.instances.core.provenance import Provenance

# Limit on one cost or size. Sums are Python integers and have no limit.
LARGEST_VALUE = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyNode:
    """Node of a strategy graph: an operator and its strategies.

    Attributes
    ----------
    name
        Unique within the graph.
    interval
        The times (from, to) between which its value is in memory: at `from`, no more at `to`. The
        unit is any that is the same for all nodes; from = to is never.
    costs_ns
        Cost of each strategy; None where it is forbidden.
    usages_bytes
        Memory that each strategy uses throughout the interval; as many as costs.

    Raises
    ------
    InputError
        If there is no strategy, all are forbidden, the two lists differ in length, the interval
        ends before it begins, or a value is not an integer from 0 to 2**63 - 1.
    """

    name: str
    interval: tuple[int, int]
    costs_ns: tuple[int | None, ...]
    usages_bytes: tuple[int, ...]

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        if len(self.interval) != 2:
            raise InputError(
                f"{len(self.interval)} times", field="interval", expected="write [from, to]"
            )
        if not _are_values(self.interval):
            for place, time in enumerate(self.interval):
                _checked_value(time, f"interval[{place}]")
        if self.interval[0] > self.interval[1]:
            raise InputError(
                f"{list(self.interval)} ends before it begins",
                field="interval",
                expected="write [from, to] with from <= to",
            )
        if not self.costs_ns:
            raise InputError(
                f"{self.name!r} has no strategy",
                field="costs_ns",
                expected="give at least one strategy",
            )
        _check_costs(self.costs_ns)
        if len(self.usages_bytes) != len(self.costs_ns):
            raise InputError(
                f"{len(self.usages_bytes)} usages and {len(self.costs_ns)} costs",
                field="usages_bytes",
                expected="give one usage for each strategy",
            )
        if not _are_values(self.usages_bytes):
            for place, usage in enumerate(self.usages_bytes):
                _checked_value(usage, f"usages_bytes[{place}]")
        if all(cost is None for cost in self.costs_ns):
            raise InputError(
                f"every strategy of {self.name!r} is forbidden",
                field="costs_ns",
                expected="allow at least one strategy",
            )

    def __len__(self) -> int:
        return len(self.costs_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEdge:
    """Edge of a strategy graph: the resharding cost of two operators, by their strategies.

    Attributes
    ----------
    first, second
        Names of two different nodes.
    costs_ns
        The table row by row: the cost for strategy a of `first` and b of `second` stands at
        ``a * len(second) + b``; None where the pair is forbidden.

    Raises
    ------
    InputError
        If both ends are one node, or a cost is not an integer from 0 to 2**63 - 1 or None.
    """

    first: str
    second: str
    costs_ns: tuple[int | None, ...]

    def __post_init__(self) -> None:
        checked_name(self.first, "first")
        checked_name(self.second, "second")
        if self.first == self.second:
            raise InputError(
                f"both ends are {self.first!r}",
                field="second",
                expected="add the costs of such an edge to those of the node",
            )
        _check_costs(self.costs_ns)


@dataclass(frozen=True, repr=False)
class StrategyGraph(InstanceDocument):
    """Strategy graph: nodes with strategies, and edges with costs for pairs of strategies.

    Attributes
    ----------
    name
        Name of the instance.
    nodes
        At least one node, in any order.
    edges
        Several edges between two nodes are allowed: their costs add up.
    usage_limit_bytes
        The memory that the instance comes with; None if it says nothing.
    provenance
        Provenance of the numbers.

    Raises
    ------
    InputError
        If there is no node, a name occurs twice, an edge has an unknown end, or its table has not
        one cost for each pair of strategies.
    """

    kind = "strategy-graph"

    name: str
    nodes: tuple[StrategyNode, ...]
    edges: tuple[StrategyEdge, ...] = ()
    usage_limit_bytes: int | None = None
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        if not self.nodes:
            raise InputError("the graph is empty", field="nodes", expected="give at least one node")
        checked_unique([node.name for node in self.nodes], "nodes")
        if self.usage_limit_bytes is not None:
            _checked_value(self.usage_limit_bytes, "usage_limit_bytes")
        for place, edge in enumerate(self.edges):
            for end, name in (("first", edge.first), ("second", edge.second)):
                if name not in self.position_of:
                    raise InputError(
                        f"{name!r} is not a node of the graph",
                        field=f"edges[{place}].{end}",
                        expected="name a node of this graph",
                    )
        # `ends` looks up the nodes of all edges.
        for place, edge in enumerate(self.edges):
            rows, columns = (len(self.nodes[end]) for end in self.ends[place])
            if len(edge.costs_ns) != rows * columns:
                raise InputError(
                    f"{len(edge.costs_ns)} costs",
                    field=f"edges[{place}].costs_ns",
                    expected=f"give {rows} x {columns} costs, for {edge.first!r} and "
                    f"{edge.second!r}, row by row",
                )

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def position_of(self) -> Mapping[str, int]:
        """Position of each node by name."""
        return {node.name: position for position, node in enumerate(self.nodes)}

    @cached_property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """For each edge, the positions of its two nodes."""
        position_of = self.position_of
        return tuple((position_of[edge.first], position_of[edge.second]) for edge in self.edges)

    @property
    def all_costs_ns(self) -> tuple[tuple[int | None, ...], ...]:
        """The costs of each node, then the table of each edge."""
        return (
            *(node.costs_ns for node in self.nodes),
            *(edge.costs_ns for edge in self.edges),
        )

    @cached_property
    def base_time_ns(self) -> int:
        """The least cost of each node and of each edge on its own: no choice costs less.

        An edge all of whose pairs are forbidden counts nothing: then there is no choice at all.
        """
        return sum(
            min((cost for cost in costs if cost is not None), default=0)
            for costs in self.all_costs_ns
        )

    @cached_property
    def cheapest_strategies(self) -> tuple[int, ...]:
        """For each node, its cheapest strategy without edges; of several that of least usage."""
        return tuple(
            min(
                (cost, usage, strategy)
                for strategy, (cost, usage) in enumerate(
                    zip(node.costs_ns, node.usages_bytes, strict=True)
                )
                if cost is not None
            )[2]
            for node in self.nodes
        )

    @cached_property
    def store_all_peak_bytes(self) -> int:
        """Peak where every node takes the strategy that is cheapest without edges.

        Shares of memory are shares of this peak.
        """
        return self.peak_bytes(self.cheapest_strategies)

    @cached_property
    def least_peak_bound_bytes(self) -> int:
        """Peak where every node takes the allowed strategy of least usage; no choice needs less."""
        return self.peak_bytes(
            tuple(
                min(
                    (usage, strategy)
                    for strategy, (cost, usage) in enumerate(
                        zip(node.costs_ns, node.usages_bytes, strict=True)
                    )
                    if cost is not None
                )[1]
                for node in self.nodes
            )
        )

    @cached_property
    def cost_sum_ns(self) -> int:
        """The largest cost of each node and edge together: no choice costs more."""
        return sum(
            max((cost for cost in costs if cost is not None), default=0)
            for costs in self.all_costs_ns
        )

    @cached_property
    def usage_sum_bytes(self) -> int:
        """The largest usages of all nodes together: in so much memory every choice fits."""
        return sum(max(node.usages_bytes) for node in self.nodes)

    def peak_bytes(self, strategies: tuple[int, ...]) -> int:
        r"""Return the peak of a choice, one strategy for each node; :math:`O(n \log n)`."""
        profile = usage_over_time(
            (node.interval, node.usages_bytes[strategy])
            for node, strategy in zip(self.nodes, strategies, strict=True)
        )
        return max((usage for _, usage in profile), default=0)

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        found: dict[str, object] = {
            "nodes": [
                {
                    "name": node.name,
                    "interval": list(node.interval),
                    "costs_ns": list(node.costs_ns),
                    "usages_bytes": list(node.usages_bytes),
                }
                for node in self.nodes
            ],
            "edges": [
                {"first": edge.first, "second": edge.second, "costs_ns": list(edge.costs_ns)}
                for edge in self.edges
            ],
        }
        if self.usage_limit_bytes is not None:
            found["usage_limit_bytes"] = self.usage_limit_bytes
        return found

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StrategyGraph:
        """Build the graph from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another; the field is named by its path.
        """
        return cls(
            name=document["name"],
            nodes=read_each(
                document,
                "nodes",
                lambda entry: StrategyNode(
                    name=entry["name"],
                    interval=tuple(entry["interval"]),
                    costs_ns=tuple(entry["costs_ns"]),
                    usages_bytes=tuple(entry["usages_bytes"]),
                ),
            ),
            edges=read_each(
                document,
                "edges",
                lambda entry: StrategyEdge(
                    first=entry["first"],
                    second=entry["second"],
                    costs_ns=tuple(entry["costs_ns"]),
                ),
            ),
            usage_limit_bytes=document.get("usage_limit_bytes"),
            provenance=read_provenance(document),
        )


def _check_costs(costs_ns: tuple[int | None, ...]) -> None:
    # There are millions, so that they are looked at one by one only where one is wrong.
    given = [cost for cost in costs_ns if cost is not None] if None in costs_ns else costs_ns
    if not _are_values(given):
        _name_wrong_cost(costs_ns)


def _are_values(values: Sequence[object]) -> bool:
    """Tell whether all are plain integers in range; others are looked at one by one."""
    if set(map(type, values)) != {int}:
        return not values
    integers = cast("Sequence[int]", values)
    return min(integers) >= 0 and max(integers) <= LARGEST_VALUE


def _name_wrong_cost(costs_ns: tuple[int | None, ...]) -> None:
    for place, cost in enumerate(costs_ns):
        if cost is not None:
            _checked_value(cost, f"costs_ns[{place}]")


def _checked_value(value: object, field: str) -> None:
    expected = f"write an integer from 0 to {LARGEST_VALUE}"
    if field.startswith("costs_ns"):
        expected += ", or null where it is forbidden"
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{value!r} is not an integer", field=field, expected=expected)
    if value < 0:
        raise InputError(f"{value} is negative", field=field, expected=expected)
    if value > LARGEST_VALUE:
        raise InputError("the value is too large", field=field, expected=expected)
