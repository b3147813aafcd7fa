"""Importer of the instances of the ASPLOS'25 / IOPDDL contest on intra-operator parallelism.

The file is JSON, plain or compressed by gzip: an object ``problem`` with ``name``, ``nodes``
(``intervals``, ``costs`` and ``usages``, one entry for each node), ``edges`` (``nodes``: pairs of
positions, and ``costs``: tables row by row) and ``usage_limit``. A cost of 10^18 or more says that
the strategy, or the pair, is forbidden; here it becomes None.

Source: github.com/google/iopddl; Moffitt and Fegade, The ASPLOS 2025 / EuroSys 2025 Contest on
Intra-Operator Parallelism for Distributed Deep Learning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import LARGEST_FILE_BYTES, parse_json, read_text
from jettison.instances.core.provenance import Provenance
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode

FORBIDDEN = 10**18
# Limit on the size of an unpacked file: the largest of the contest has about 400 MB.
LARGEST_UNPACKED_BYTES = 16 * LARGEST_FILE_BYTES


def import_iopddl(path: str | Path) -> StrategyGraph:
    """Read a contest file, ``.json`` or ``.json.gz``.

    Nodes, which have no names there, are called n0, n1 and so on. An edge from a node to itself
    adds the diagonal of its table to the costs of the node.

    Raises
    ------
    InputError
        If the file cannot be read or unpacked, is not JSON or not of this form, or is no valid
        instance; the field is named by its path in the file.
    """
    source = str(path)
    text = read_text(Path(path), largest_unpacked_bytes=LARGEST_UNPACKED_BYTES)
    document = parse_json(text, source)
    try:
        return _graph(document)
    except InputError as error:
        raise error.within(source=source) from None


def _graph(document: Any) -> StrategyGraph:
    problem = _object(_object(document, "").get("problem"), "problem")
    nodes = _object(problem.get("nodes"), "problem.nodes")
    edges = _object(problem.get("edges", {"nodes": [], "costs": []}), "problem.edges")
    name = problem.get("name", "iopddl")
    limit = problem.get("usage_limit")
    intervals = _lists(nodes, "problem.nodes.intervals")
    costs = [list(_costs(row)) for row in _lists(nodes, "problem.nodes.costs")]
    usages = _lists(nodes, "problem.nodes.usages")
    _check_lengths("problem.nodes", intervals=intervals, costs=costs, usages=usages)
    pairs = _lists(edges, "problem.edges.nodes")
    tables = [_costs(row) for row in _lists(edges, "problem.edges.costs")]
    _check_lengths("problem.edges", nodes=pairs, costs=tables)
    made_edges: list[StrategyEdge] = []
    for place, (pair, table) in enumerate(zip(pairs, tables, strict=True)):
        first, second = _ends(pair, f"problem.edges.nodes[{place}]", len(costs))
        if first == second:
            _add_diagonal(costs[first], table, f"problem.edges.costs[{place}]")
            continue
        try:
            edge = StrategyEdge(first=f"n{first}", second=f"n{second}", costs_ns=table)
        except InputError as error:
            raise _moved(error, f"problem.edges.costs[{place}]") from None
        expected = len(costs[first]) * len(costs[second])
        if len(table) != expected:
            raise InputError(
                f"{len(table)} costs",
                field=f"problem.edges.costs[{place}]",
                expected=f"give {len(costs[first])} x {len(costs[second])}, row by row",
            )
        made_edges.append(edge)
    made_nodes: list[StrategyNode] = []
    for place, (interval, row, usage) in enumerate(zip(intervals, costs, usages, strict=True)):
        try:
            node = StrategyNode(
                name=f"n{place}",
                interval=tuple(interval),
                costs_ns=tuple(row),
                usages_bytes=tuple(usage),
            )
        except InputError as error:
            raise _moved(error, f"problem.nodes[{place}]") from None
        made_nodes.append(node)
    return StrategyGraph(
        name=name,
        nodes=tuple(made_nodes),
        edges=tuple(made_edges),
        usage_limit_bytes=limit,
        provenance=Provenance(source="iopddl", note="ASPLOS'25 / IOPDDL contest"),
    )


def _moved(error: InputError, field: str) -> InputError:
    return InputError(error.problem, expected=error.expected, field=f"{field} ({error.field})")


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            f"there is no object {field!r}" if field else "the file holds no object",
            field=field,
            expected='a contest file is {"problem": {"name", "nodes", "edges", "usage_limit"}}',
        )
    return value


def _lists(parent: dict[str, Any], path: str) -> list[list[Any]]:
    value = parent.get(path.rsplit(".", 1)[1])
    if not isinstance(value, list):
        raise InputError("there is no list", field=path, expected="give one list for each entry")
    for place, entry in enumerate(value):
        if not isinstance(entry, list):
            raise InputError(
                f"{str(entry)[:40]} is not a list",
                field=f"{path}[{place}]",
                expected="give a list of integers",
            )
    return value


def _costs(row: list[Any]) -> tuple[int | None, ...]:
    if set(map(type, row)) == {int} and max(row) < FORBIDDEN:
        return tuple(row)
    return tuple(
        None
        if isinstance(cost, int) and cost >= FORBIDDEN
        else cost
        if cost is not None
        else _NOT_GIVEN
        for cost in row
    )


# The contest writes no null: the checks of costs refuse this text and show it.
_NOT_GIVEN: Any = "null"


def _check_lengths(path: str, **lists: list[Any]) -> None:
    (first, expected), *others = lists.items()
    for name, entries in others:
        if len(entries) != len(expected):
            raise InputError(
                f"{len(entries)} {name} and {len(expected)} {first}",
                field=f"{path}.{name}",
                expected="give one entry of each for every one",
            )


def _ends(pair: list[Any], field: str, nodes: int) -> tuple[int, int]:
    is_pair = len(pair) == 2 and all(type(end) is int for end in pair)
    if not is_pair or not all(0 <= end < nodes for end in pair):
        raise InputError(
            f"{str(pair)[:40]} are not two nodes",
            field=field,
            expected=f"write two positions from 0 to {nodes - 1}",
        )
    return pair[0], pair[1]


def _add_diagonal(costs: list[int | None], table: tuple[int | None, ...], field: str) -> None:
    size = len(costs)
    if len(table) != size * size:
        raise InputError(
            f"{len(table)} costs", field=field, expected=f"give {size} x {size}, row by row"
        )
    for strategy, cost in enumerate(table[:: size + 1]):
        own = costs[strategy]
        if cost is None or own is None:
            costs[strategy] = None
        elif type(own) is int and type(cost) is int and cost >= 0:
            costs[strategy] = own + cost
        else:
            raise InputError(
                f"{cost!r} and {own!r}", field=field, expected="write integers, 0 or more"
            )
