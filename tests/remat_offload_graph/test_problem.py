"""The problem of a graph with a link: what it takes, what it refuses, and what can be moved."""

from __future__ import annotations

from typing import Any

import pytest

import jettison as jt
from jettison import Graph, Link
from jettison.instances.core.errors import InputError
from jettison.remat_graph import Node, OperatorResult
from tests.tiny import DIAMOND, UNEVEN


def test_a_link_is_a_rate_a_text_a_link_or_none() -> None:
    for given in (10**9, "1GB/s", Link(10**9)):
        assert jt.RematOffloadGraph(DIAMOND, "80%", given).link == Link(10**9)
    for absent in (None, 0):
        problem = jt.RematOffloadGraph(DIAMOND, "80%", absent)
        assert problem.link is None
        assert problem.movable == frozenset()
        assert problem.without_link == jt.RematGraph(DIAMOND, "80%")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((UNEVEN, "80%", "1GB/s"), "remat-offload-chain takes a chain"),
        ((DIAMOND, "alpha=0.5", "1GB/s"), "write an amount"),
        ((DIAMOND, "80%", "12"), "12GB/s"),
        ((DIAMOND, "80%", -1), "bandwidth"),
        ((DIAMOND, "80%", 1.5), "bandwidth"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(
    arguments: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        jt.RematOffloadGraph(*arguments)


def test_values_move_but_for_those_that_stay_and_operators_without_a_value() -> None:
    made = (OperatorResult(name="p", output_bytes=1), OperatorResult(name="q", output_bytes=1))
    nodes = (
        Node(name="a", duration_ns=1, output_bytes=1),
        Node(name="b", duration_ns=1, output_bytes=1, offload=False),
        Node(name="stay", duration_ns=1, inputs=("a",), results=made, offload=False),
        Node(
            name="go",
            duration_ns=1,
            inputs=("a",),
            results=(OperatorResult(name="r", output_bytes=2),),
        ),
    )
    graph = Graph("marks", nodes)
    names = [node.name for node in graph.nodes]
    assert names == ["a", "b", "stay", "p", "q", "go", "r"]
    movable = jt.RematOffloadGraph(graph, "100%", 1).movable
    assert {names[i] for i in movable} == {"a", "r"}
    document = graph.to_json()
    assert Graph.from_json(document) == graph
    assert graph.given_nodes == nodes
    # What says nothing is left out of the file, so that older graphs keep their hash.
    assert "offload" not in DIAMOND.to_json()["nodes"][0]  # type: ignore[index]
