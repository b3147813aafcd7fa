"""Planners on an operator with several results, which has no value that could be saved."""

from __future__ import annotations

from jettison import Graph, RematGraph, solve
from jettison.remat_graph import Node


def _node(name: str, output_bytes: int, *inputs: str, result_of: str | None = None) -> Node:
    return Node(
        name=name,
        duration_ns=0 if result_of else 1,
        output_bytes=output_bytes,
        inputs=inputs,
        backward=name.startswith("b"),
        result_of=result_of,
        operator_name="aten.mm",
    )


PAIR = Node(
    name="f",
    duration_ns=2,
    output_bytes=0,
    workspace_bytes=12,
    has_value=False,
    operator_name="aten.mm",
)
STEP = Graph(
    "two results",
    (
        PAIR,
        _node("f.0", 5, "f", result_of="f"),
        _node("f.1", 7, "f", result_of="f"),
        _node("g", 4, "f.0"),
        _node("h", 6, "g", "f.1"),
        _node("bh", 3, "h", "f.1"),
        _node("bg", 2, "bh", "f.0"),
    ),
)


def test_an_operator_runs_again_before_its_result_even_where_a_rule_saves_it() -> None:
    # The replay refuses a result without its operator; a schedule that is found is valid.
    for memory_bytes in range(11, STEP.store_all_peak_bytes + 1):
        problem = RematGraph(STEP, memory_bytes)
        first = solve(problem, "selective-products")
        assert first.status in {"not-found", "feasible", "optimal", "optimal-saved-or-once"}
        assert solve(problem, "selective-products").schedule == first.schedule
    assert solve(RematGraph(STEP, "100%"), "selective-products").time_ns == STEP.base_time_ns
