"""Sharded graph as the checker reads it from the parsed JSON of an instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..errors import CertificateError
from ..header_fields import (
    Fields,
    check_kind,
    flag_field,
    integer_field,
    list_field,
    object_field,
    only_fields,
    text_field,
)

ROLES = ("parameter", "input", "forward", "backward")

Table = tuple[tuple[int | None, ...], ...]

_MOST_OPERATORS = 100_000
# The mesh, a fastest plan and what an operator computes where count for no model.
_FIELDS = {"operators", "resharding", "mesh", "fastest"}
_OPERATOR_FIELDS = {
    "name",
    "role",
    "inputs",
    "strategies",
    "follows",
    "keep",
    "operation",
    "scope",
}
_STRATEGY_FIELDS = {"name", "compute_ns", "communication_ns", "memory_bytes"}
_TABLE_FIELDS = {"source", "target", "cost_ns"}


@dataclass(frozen=True, slots=True)
class GivenOperator:
    """Operator of a sharded graph.

    Attributes
    ----------
    role
        One of `ROLES`.
    inputs
        The operators that it reads, ascending.
    leader
        The operator that decides its strategy; its own position unless it follows another.
    keep
        Whether its value is in memory at the end.
    cost_ns
        Time of one computation with each strategy; None where it is forbidden.
    memory_bytes
        The size of its value with each strategy.
    """

    role: str
    inputs: tuple[int, ...]
    leader: int
    keep: bool
    cost_ns: tuple[int | None, ...]
    memory_bytes: tuple[int, ...]


@dataclass(frozen=True)
class GivenShardedGraph:
    """Sharded graph: its operators in the order of the instance, counted from 0.

    Attributes
    ----------
    operators
        The operators; inputs and leaders come before those that name them.
    tables
        Resharding times, by the positions of an operator and its reader: a row for each strategy
        of the first; None forbids a pair.
    """

    operators: tuple[GivenOperator, ...]
    tables: Mapping[tuple[int, int], Table]

    @classmethod
    def from_json(cls, document: Fields) -> GivenShardedGraph:
        """Read the fields that models use.

        Raises
        ------
        CertificateError
            If it is no sharded graph of version 1, a field is unknown, a number is none, an
            operator names one that is not before it, or a table has another shape than its
            operators.
        """
        check_kind(document, "sharded-graph", _FIELDS)
        entries = list_field(document, "operators")
        if not 0 < len(entries) <= _MOST_OPERATORS or not all(isinstance(e, dict) for e in entries):
            raise CertificateError(f"a graph has 1 to {_MOST_OPERATORS} operators, each an object")
        position_of: dict[str, int] = {}
        operators: list[GivenOperator] = []
        for entry in entries:
            name = text_field(entry, "name")
            if name in position_of:
                raise CertificateError(f"two operators have the name {name[:60]!r}")
            operators.append(_operator(entry, operators, position_of))
            position_of[name] = len(operators) - 1
        tables: dict[tuple[int, int], Table] = {}
        for entry in list_field(document, "resharding"):
            ends, table = _table(entry, operators, position_of)
            if ends in tables:
                raise CertificateError(f"the table of {ends} stands twice")
            tables[ends] = table
        return cls(tuple(operators), tables)

    def __len__(self) -> int:
        return len(self.operators)

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each operator, the operators that read it, ascending."""
        found: list[list[int]] = [[] for _ in self.operators]
        for position, operator in enumerate(self.operators):
            for source in operator.inputs:
                found[source].append(position)
        return tuple(tuple(users) for users in found)

    @cached_property
    def groups(self) -> Mapping[int, tuple[int, ...]]:
        """Groups by leader: the operators that share one choice of strategy."""
        found: dict[int, list[int]] = {}
        for position, operator in enumerate(self.operators):
            found.setdefault(operator.leader, []).append(position)
        return {leader: tuple(group) for leader, group in found.items()}


def _operator(
    entry: Fields, before: list[GivenOperator], position_of: Mapping[str, int]
) -> GivenOperator:
    position = len(before)
    only_fields(entry, _OPERATOR_FIELDS, f"operator {position}")
    names = [*list_field(entry, "inputs")]
    follows = entry.get("follows")
    if follows is not None:
        names.append(follows)
    if not all(isinstance(name, str) and name in position_of for name in names):
        raise CertificateError(f"operator {position} names an operator that is not before it")
    role = text_field(entry, "role")
    inputs = tuple(sorted({position_of[name] for name in list_field(entry, "inputs")}))
    if role not in ROLES or (inputs and role in {"parameter", "input"}):
        raise CertificateError(f"operator {position} is a {role[:60]!r} of {len(inputs)} inputs")
    strategies = list_field(entry, "strategies")
    if not strategies or not all(isinstance(strategy, dict) for strategy in strategies):
        raise CertificateError(f"operator {position} has no strategies, each an object")
    leader = position if follows is None else before[position_of[follows]].leader
    if leader < position and len(before[leader].cost_ns) != len(strategies):
        raise CertificateError(f"operator {position} has not as many strategies as its leader")
    return GivenOperator(
        role=role,
        inputs=inputs,
        leader=leader,
        keep=flag_field(entry, "keep"),
        cost_ns=tuple(_strategy_ns(strategy) for strategy in strategies),
        memory_bytes=tuple(integer_field(strategy, "memory_bytes") for strategy in strategies),
    )


def _strategy_ns(strategy: Fields) -> int | None:
    only_fields(strategy, _STRATEGY_FIELDS, "a strategy")
    if strategy.get("compute_ns") is None:
        return None
    communication_ns = integer_field(strategy, "communication_ns", default=0)
    return integer_field(strategy, "compute_ns") + communication_ns


def _table(
    entry: object, operators: list[GivenOperator], position_of: Mapping[str, int]
) -> tuple[tuple[int, int], Table]:
    table = object_field({"resharding": entry}, "resharding")
    only_fields(table, _TABLE_FIELDS, "a table")
    names = [text_field(table, "source"), text_field(table, "target")]
    if not all(name in position_of for name in names):
        raise CertificateError(f"a table names an unknown operator: {names[0][:60]!r}")
    source, target = (position_of[name] for name in names)
    if source not in operators[target].inputs:
        raise CertificateError(f"a table from {source} to {target}, which does not read it")
    rows = list_field(table, "cost_ns")
    shape = [len(operators[end].cost_ns) for end in (source, target)]
    if len(rows) != shape[0] or not all(isinstance(r, list) and len(r) == shape[1] for r in rows):
        raise CertificateError(
            f"the table from {source} to {target} is not {shape[0]} x {shape[1]}"
        )
    found = tuple(
        tuple(None if cost is None else integer_field({"cost_ns": cost}, "cost_ns") for cost in row)
        for row in rows
    )
    return (source, target), found
