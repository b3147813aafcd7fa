"""Profiles of fused models, against the replay of the graphs that they are made from."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, InputError, MultiModel
from jettison.multi_model import fused_profile
from jettison.remat_graph import GraphOperationKind, GraphSchedule, Node
from tests.drawing.graphs import graphs

SECOND = 10**9
AMOUNTS = st.integers(0, 12)


def node(name: str, size_bytes: int, *inputs: str, ns: int = 1, **more: int | bool) -> Node:
    return Node(name=name, duration_ns=ns, output_bytes=size_bytes, inputs=inputs, **more)  # type: ignore[arg-type]


# Two layers: t is transient, x and y are read again, w is the gradient of a weight.
STEP = Graph(
    "step",
    (
        node("x", 4, ns=3),
        node("t", 10, "x", ns=5, workspace_bytes=1),
        node("y", 2, "t", ns=7, workspace_bytes=6),
        node("loss", 1, "y", "x"),
        node("dy", 2, "loss", backward=True),
        node("dw", 5, "dy", "y", backward=True, keep=True),
        node("dx", 4, "dy", "x", backward=True),
    ),
)


def test_a_step_of_two_layers_has_the_profile_that_is_worked_out_by_hand() -> None:
    made = fused_profile("two", {1: STEP}, {1: 100}, bandwidth=SECOND)
    x, y, loss = made.feature_maps
    # The gradient of the weight is resident.
    assert made.static_bytes == (105,)
    assert (x.made_by, x.last_forward, x.first_backward, x.last_backward) == (
        "x",
        "loss",
        "dx",
        "dx",
    )
    assert (y.made_by, y.last_forward, y.first_backward, y.last_backward) == (
        "y",
        "loss",
        "dw",
        "dw",
    )
    assert (loss.made_by, loss.last_forward, loss.first_backward) == ("loss", "loss", "dy")
    # x; x t and 1; x t y and 6; x y loss. Afterwards t is gone, then all are idle.
    assert [operator.peak_bytes for operator in made.forward] == [(4,), (15,), (22,), (7,)]
    assert [operator.active_bytes for operator in made.forward] == [(4,), (14,), (6,), (0,)]
    # loss dy; dy y; dy x dx.
    assert [operator.peak_bytes for operator in made.backward] == [(3,), (4,), (10,)]
    assert [operator.active_bytes for operator in made.backward] == [(2,), (2,), (0,)]
    assert (x.sources, x.recompute_ns, x.recompute_bytes) == ((), (3,), (0,))
    # By way of t: 5 + 7 ns; t, y and a workspace of 6 bytes, less y itself.
    assert (y.sources, y.recompute_ns, y.recompute_bytes) == (("x",), (12,), (16,))
    assert loss.sources == ("x", "y")


def test_the_memory_of_the_result_may_hold_what_is_needed_before_it() -> None:
    # t with its workspace takes 10 bytes, the result 7 beside 1 of t: at most 3 beyond the result.
    step = Graph(
        "step",
        (
            node("x", 4),
            node("t", 1, "x", workspace_bytes=9),
            node("y", 7, "t"),
            node("dx", 4, "y", "x", backward=True),
        ),
    )
    made = fused_profile("one", {1: step}, {1: 0}, bandwidth=SECOND)
    assert made.feature_maps[1].recompute_bytes == (3,)


@st.composite
def steps(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """Draw a training step, and another one with the same nodes and edges."""
    graph = draw(graphs(min_nodes=2, max_nodes=9))
    turn = draw(st.integers(1, len(graph) - 1))
    nodes = [replace(item, backward=place >= turn) for place, item in enumerate(graph.nodes)]
    others = [
        replace(
            item,
            duration_ns=draw(AMOUNTS),
            output_bytes=draw(AMOUNTS),
            workspace_bytes=draw(AMOUNTS),
        )
        for item in nodes
    ]
    return Graph("one", tuple(nodes)), Graph("two", tuple(others))


def moments(made: MultiModel, size: int) -> list[tuple[int, int]]:
    """Return the memory during and after each operator where every feature map is kept."""
    array = made.sub_array(size)
    found = []
    for place, work in enumerate(array.forward):
        before = sum(item.size_bytes for item in array.tensors if item.last_forward < place)
        after = sum(item.size_bytes for item in array.tensors if item.last_forward <= place)
        found.append((before + work.peak_bytes, after + work.active_bytes))
    for place, work in enumerate(array.backward):
        left = sum(item.size_bytes for item in array.tensors if item.first_backward > place)
        found.append((left + work.peak_bytes, left + work.active_bytes))
    return [(array.static_bytes + during, array.static_bytes + after) for during, after in found]


def replayed_moments(graph: Graph) -> list[tuple[int, int]]:
    """Return the memory during and after each node where values are freed as early as possible."""
    schedule = GraphSchedule.from_computations(graph, range(len(graph)))
    replay = schedule.replay(graph)
    assert replay.valid
    found: list[tuple[int, int]] = []
    for operation, step in zip(schedule.operations, replay.steps, strict=True):
        if operation.kind is GraphOperationKind.COMPUTE:
            found.append((step.during_bytes, step.after_bytes))
        else:
            found[-1] = (found[-1][0], step.after_bytes)
    return found


@settings(max_examples=200)
@given(steps(), st.integers(0, 9))
def test_memory_at_every_step_is_that_of_the_graph(
    pair: tuple[Graph, Graph], static_bytes: int
) -> None:
    made = fused_profile(
        "drawn", dict(enumerate(pair, start=1)), {1: static_bytes, 2: 0}, bandwidth=SECOND
    )
    for size, graph, resident in ((1, pair[0], static_bytes), (2, pair[1], 0)):
        assert sum(work.run_ns for work in made.sub_array(size).forward) == sum(
            item.duration_ns for item in graph.nodes if not item.backward
        )
        kept_later = [
            resident + sum(later.output_bytes for later in graph.nodes[place + 1 :] if later.keep)
            for place in range(len(graph))
        ]
        assert moments(made, size) == [
            (during + later, after + later)
            for (during, after), later in zip(replayed_moments(graph), kept_later, strict=True)
        ]


def paths_to(graph: Graph, name: str, stops: set[str]) -> set[tuple[str, ...]]:
    """Return all paths that end in `name` and lead through no stop, with the stop they start at."""
    found = {(name,)}
    for source in graph.nodes[graph.position_of[name]].inputs:
        above = {(source,)} if source in stops else paths_to(graph, source, stops)
        found |= {(*path, name) for path in above}
    return found


@settings(max_examples=200)
@given(steps())
def test_a_recomputation_is_the_step_of_what_lies_between_sources_and_result(
    pair: tuple[Graph, Graph],
) -> None:
    made = fused_profile("drawn", {1: pair[0], 2: pair[1]}, {1: 0, 2: 0}, bandwidth=SECOND)
    kept = {item.name for item in pair[0].nodes if item.keep}
    maps = {tensor.name for tensor in made.feature_maps}
    for tensor in made.feature_maps:
        paths = paths_to(pair[0], tensor.name, (maps | kept) - {tensor.name})
        touched = reduce(set.union, map(set, paths))
        assert set(tensor.sources) == touched & maps - {tensor.name}
        again = touched - maps - kept | {tensor.name}
        for place, graph in enumerate(pair):
            little = Graph(
                "little",
                tuple(
                    replace(
                        item,
                        inputs=tuple(name for name in item.inputs if name in again),
                        keep=item.name == tensor.name,
                    )
                    for item in graph.nodes
                    if item.name in again
                ),
            )
            replay = GraphSchedule.from_computations(little, range(len(little))).replay(little)
            assert tensor.recompute_ns[place] == replay.time_ns
            assert tensor.recompute_bytes[place] + tensor.size_bytes[place] == replay.peak_bytes


FORWARD_ONLY = Graph("step", (node("x", 4), node("y", 4, "x")))
BACKWARD_ONLY = Graph("step", (node("x", 4, backward=True),))
MIXED = Graph("step", (node("x", 4), node("dx", 4, "x", backward=True), node("late", 1)))


@pytest.mark.parametrize(
    ("given_graphs", "static_bytes", "message"),
    [
        ({}, {}, "graphs: no step is given; give at least one graph"),
        ({1: STEP}, {2: 0}, r"static_bytes: \[2\] for the steps of \[1\] models; give one amount"),
        ({1: FORWARD_ONLY}, {1: 0}, "graphs: the backward pass is empty; give the graph of a"),
        ({1: BACKWARD_ONLY}, {1: 0}, "graphs: the forward pass is empty; give the graph of a"),
        ({1: MIXED}, {1: 0}, r"graphs: nodes\[2\]: 'late' comes after 'dx'; list the forward"),
        (
            {1: STEP, 2: FORWARD_ONLY},
            {1: 0, 2: 0},
            r"graphs\[2\]: step and step differ in their nodes or edges; give one architecture",
        ),
        ({65: STEP}, {65: 0}, r"65; write a number of models, 1 to 64"),
    ],
)
def test_steps_that_make_no_profile_are_refused(
    given_graphs: dict[int, Graph], static_bytes: dict[int, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        fused_profile("bad", given_graphs, static_bytes, bandwidth=SECOND)
