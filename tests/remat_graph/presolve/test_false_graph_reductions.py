"""Reductions of graphs that seem right and are not, each with a graph against it.

`solvers.graph_presolve` has the conditions under which some of them hold.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import Graph, RematGraph, ScheduleClass
from jettison.formulations.remat_graph.windows.fixings import WindowFixings
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.presolve.presolved import presolve
from tests.remat_graph.oracles.brute_force import (
    least_in_order_time_ns,
    least_staged_time_ns,
    least_time_ns,
)
from tests.remat_graph.oracles.test_brute_force import SKIP

STAGED, IN_ORDER, ALL = ScheduleClass.STAGED, ScheduleClass.IN_ORDER, ScheduleClass.ALL


def graph_of(*nodes: tuple[str, int, int, int, tuple[str, ...]]) -> Graph:
    """Build a graph from name, duration, output bytes, workspace bytes and inputs of each node."""
    return Graph(
        "false",
        tuple(
            Node(
                name=name,
                duration_ns=duration,
                output_bytes=output,
                workspace_bytes=workspace,
                inputs=inputs,
            )
            for name, duration, output, workspace, inputs in nodes
        ),
    )


def contracted(graph: Graph, name: str, into: str) -> Graph:
    """Merge a node into another that reads it, with room for one after the other, and no questions.

    The node that is left needs the larger of what both need, with all their inputs in memory.
    """
    node, reader = (graph.nodes[graph.position_of[part]] for part in (name, into))
    during = node.output_bytes + max(
        node.workspace_bytes, reader.output_bytes + reader.workspace_bytes
    )
    others = [source for source in reader.inputs if source != name]
    merged = replace(
        reader,
        duration_ns=node.duration_ns + reader.duration_ns,
        workspace_bytes=max(0, during - reader.output_bytes),
        inputs=tuple(dict.fromkeys((*node.inputs, *others))),
    )
    left = tuple(
        merged if other.name == into else other for other in graph.nodes if other.name != name
    )
    return replace(graph, nodes=left)


def test_an_edge_that_follows_from_others_is_needed() -> None:
    # a -> d follows from a -> b -> c -> d, but d reads a. In 7 bytes a must be computed again.
    *first, d = SKIP.nodes
    without = replace(SKIP, nodes=(*first, replace(d, inputs=("c",))))
    assert least_in_order_time_ns(SKIP, 7) == 7
    assert least_in_order_time_ns(without, 7) == 5


def test_an_edge_from_a_free_value_can_be_all_that_puts_its_node_first() -> None:
    # 5 bytes. n2 takes n1 and 2 bytes, and has to come before n3, which reads n0 too: n0 (1), n1
    # (3), and n0 must go or n2 does not fit: 3 + 2 + 1 bytes. Where n3 need not wait for n2, it
    # runs as soon as n0 is there. In order it waits anyway.
    graph = graph_of(
        ("n0", 1, 1, 0, ()),
        ("n1", 0, 3, 0, ("n0",)),
        ("n2", 0, 0, 2, ("n1",)),
        ("n3", 0, 1, 0, ("n0", "n2")),
    )
    for valid_for in (ALL, IN_ORDER):
        assert least_time_ns(graph, 5) == least_in_order_time_ns(graph, 5) == 2
        presolved = presolve(RematGraph(graph, 5), (valid_for,))
        assert (presolved.counts["edges"] > 0) == (valid_for is IN_ORDER)
        if valid_for is IN_ORDER:
            assert least_time_ns(presolved.problem.instance, 5) == 1


def test_a_reader_may_need_the_room_that_the_inputs_of_its_input_take() -> None:
    # p and i take 2 + 1 bytes, i and k take 1 + 2; all three take 5.
    graph = graph_of(("p", 1, 2, 0, ()), ("i", 1, 1, 0, ("p",)), ("k", 1, 2, 0, ("i",)))
    assert least_in_order_time_ns(graph, 3) == 3
    assert least_in_order_time_ns(contracted(graph, "i", "k"), 3) is None


def test_a_small_value_may_serve_twice() -> None:
    # In 3 bytes i (1 byte, 1 ns) stays, k (2 bytes, 0 ns) gives way to b and is computed again.
    graph = graph_of(
        ("i", 1, 1, 0, ()), ("k", 0, 2, 0, ("i",)), ("b", 0, 2, 0, ()), ("e", 1, 0, 0, ("k",))
    )
    assert least_in_order_time_ns(graph, 3) == 2
    assert least_in_order_time_ns(contracted(graph, "i", "k"), 3) == 3
    # So i is computed once although its reader is not, and a known time proves nothing of k.
    presolved = presolve(RematGraph(graph, 3), (STAGED,), known_time_ns=2)
    assert presolved.positions == (0, 1, 2, 3)
    assert 1 not in presolved.fixings.computed_once


def test_a_large_workspace_may_fit_early_and_not_late() -> None:
    # i needs 2 bytes beside nothing; k comes when the byte of a is there, and so must i.
    graph = graph_of(("a", 1, 1, 0, ()), ("i", 1, 0, 2, ()), ("k", 0, 0, 0, ("a", "i")))
    assert least_in_order_time_ns(graph, 2) == 3
    assert least_in_order_time_ns(contracted(graph, "i", "k"), 2) is None


# In 6 bytes a is computed again after b, then d, then c: descending. z is computed beside it all.
DESCENDING = graph_of(
    ("a", 1, 4, 0, ()),
    ("c", 1, 2, 0, ()),
    ("d", 1, 1, 0, ("a",)),
    ("b", 1, 6, 0, ()),
    ("z", 1, 0, 0, ()),
    ("e", 1, 0, 0, ("c", "d")),
)


def test_a_node_that_needs_nothing_is_a_stage_in_which_something_is_computed_again() -> None:
    # With z there are two stages after b, one for d and one for c: 6 ns and 3 more. Without z there
    # is one stage, and no staged schedule.
    without = replace(
        DESCENDING, nodes=tuple(node for node in DESCENDING.nodes if node.name != "z")
    )
    assert least_staged_time_ns(DESCENDING, 6) == least_in_order_time_ns(DESCENDING, 6) == 9
    assert least_staged_time_ns(without, 6) is None
    assert least_in_order_time_ns(without, 6) == 8
    assert presolve(RematGraph(DESCENDING, 6)).counts["beside_host"] == 0
    assert presolve(RematGraph(DESCENDING, 6), (IN_ORDER,)).counts["beside_host"] == 1


def test_contraction_takes_a_stage_too() -> None:
    z, e = DESCENDING.nodes[4:]
    graph = replace(
        DESCENDING, nodes=(*DESCENDING.nodes[:4], z, replace(e, inputs=("c", "d", "z")))
    )
    assert least_staged_time_ns(graph, 6) == 9
    assert least_staged_time_ns(contracted(graph, "z", "e"), 6) is None


def test_a_node_that_fits_beside_all_before_it_may_do_so_in_its_order_only() -> None:
    # s needs p and q at once: 2 + 2 + 1 bytes of 5. It is best to make y (2 bytes) when only one of
    # p and q is there: p, y, a, q, b. With s one of them is computed twice, whichever comes first.
    graph = graph_of(
        ("p", 1, 2, 0, ()),
        ("q", 1, 2, 0, ()),
        ("s", 1, 1, 0, ("p", "q")),
        ("y", 5, 2, 0, ()),
        ("a", 1, 1, 0, ("p", "y")),
        ("b", 1, 1, 0, ("q", "y")),
    )
    presolved = presolve(RematGraph(graph, 5), (IN_ORDER,))
    assert presolved.counts["in_prefix"] == 1
    left = presolved.problem.instance
    assert least_time_ns(graph, 5) == 11
    assert least_time_ns(left, 5) == 10
    assert least_in_order_time_ns(graph, 5) == least_in_order_time_ns(left, 5) == 11
    assert presolve(RematGraph(graph, 5), (ALL,)).counts["in_prefix"] == 0


# One of i and j can stay beside b.
TWINS = graph_of(
    ("i", 1, 2, 0, ()),
    ("j", 1, 2, 0, ()),
    ("b", 1, 2, 0, ()),
    ("e", 1, 0, 0, ("i", "j")),
)


def test_twins_are_not_one_node_of_twice_the_size() -> None:
    _, j, b, e = TWINS.nodes
    merged = replace(
        TWINS,
        nodes=(replace(j, duration_ns=2, output_bytes=4), b, replace(e, inputs=("j",))),
    )
    assert least_in_order_time_ns(TWINS, 4) == 5
    assert least_in_order_time_ns(merged, 4) == 6


def model_time_ns(graph: Graph, memory_bytes: int, fixings: WindowFixings) -> int | None:
    """Return the optimum of the model that is exact for staged schedules, with fixings."""
    count = len(graph)
    slots = tuple((t, q) for t in range(1, count) for q in range(t))
    frontier = WindowedFrontier(tuple(range(count)), slots, STAGED, fixings=fixings)
    built = frontier.build(RematGraph(graph, memory_bytes))
    objective = solve_model(built.model, HighsOptions(gap=0, feasibility_tolerance=1e-9)).objective
    if objective is None:
        return None
    return graph.base_time_ns + built.time_scale.from_model(objective)


def test_of_twins_the_later_one_stays_and_not_the_earlier_one() -> None:
    # x (3 bytes) is there while j comes for the first time, so i is not: 3 + 2 of 6 bytes.
    graph = graph_of(
        ("x", 9, 3, 0, ()),
        ("i", 1, 2, 0, ()),
        ("j", 1, 2, 0, ()),
        ("y", 1, 0, 0, ("x",)),
        ("e", 1, 0, 0, ("i", "j")),
    )
    assert presolve(RematGraph(graph, 6)).fixings.twins == ((1, 2),)
    # 13 ns, and i again. If j could stay only beside i, both would be computed again.
    assert least_staged_time_ns(graph, 6) == 14
    assert model_time_ns(graph, 6, WindowFixings(twins=((1, 2),))) == 14
    assert model_time_ns(graph, 6, WindowFixings(twins=((2, 1),))) == 15


def test_twins_with_another_node_between_them_are_none_for_staged_schedules() -> None:
    graph = graph_of(
        ("x", 3, 3, 0, ()),
        ("i", 2, 3, 0, ()),
        ("m", 1, 4, 0, ("x",)),
        ("j", 2, 3, 0, ()),
        ("p", 3, 3, 0, ()),
        ("b", 3, 5, 0, ("p",)),
        ("e", 1, 1, 0, ("i", "j", "m", "p")),
    )
    problem = RematGraph(graph, 14)
    assert presolve(problem).fixings.twins == ()
    assert presolve(problem, (IN_ORDER,)).fixings.twins == ((1, 3),)
    # 15 ns. Beside b and p (8 bytes) there is room for x and one of i and j. After b, m is computed
    # from x before the other one is, for which x leaves no room. After m that can be j, not i.
    assert least_staged_time_ns(graph, 14) == 18
    assert model_time_ns(graph, 14, WindowFixings()) == 18
    assert model_time_ns(graph, 14, WindowFixings(twins=((1, 3),))) == 19


def test_equal_blocks_in_a_row_need_not_store_the_same() -> None:
    # Two equal blocks of a forward and a backward; one of f1 and f2 can stay beside the loss.
    graph = graph_of(
        ("f1", 1, 2, 0, ()),
        ("f2", 1, 2, 0, ("f1",)),
        ("loss", 1, 1, 2, ("f2",)),
        ("b2", 1, 1, 0, ("f2", "loss")),
        ("b1", 1, 1, 0, ("f1", "b2")),
    )
    assert least_time_ns(graph, 5) == 6
    alike = {
        "both stored": (0, 1, 2, 3, 4),
        "none stored": (0, 1, 2, 0, 1, 3, 0, 4),
    }
    replays = {
        name: GraphSchedule.from_computations(graph, order).replay(graph, 5)
        for name, order in alike.items()
    }
    assert not replays["both stored"].valid
    assert replays["none stored"].time_ns == 8


def test_a_node_of_no_duration_may_have_to_be_stored() -> None:
    # Beside b (4 of 5 bytes) i can stay and p cannot; to compute i again takes p again.
    graph = graph_of(
        ("p", 7, 4, 0, ()), ("i", 0, 1, 0, ("p",)), ("b", 1, 4, 0, ()), ("e", 1, 0, 0, ("i",))
    )
    assert least_in_order_time_ns(graph, 5) == 9
    model = WindowedFrontier((2,)).build(RematGraph(graph, 5)).model
    stored = model.column_names.index("S_2_1")
    upper = model.column_upper.copy()
    upper[stored] = 0
    objective = solve_model(replace(model, column_upper=upper), HighsOptions(gap=0)).objective
    assert objective == pytest.approx(7)
