"""The restricted method: its schedules keep to the restriction and are the best that do."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, RematGraph, ScheduleClass
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.cuts.restricted_method import solve_restricted
from tests.remat_graph.oracles.brute_force import least_staged_time_ns

EXACT = SolveOptions(time_limit_s=60, gap=0)


@st.composite
def training_steps(draw: st.DrawFn) -> RematGraph:
    """Draw three forward nodes, and three or four backward ones that read them in reverse."""
    times, sizes = st.integers(0, 9), st.integers(1, 9)
    backward = draw(st.integers(3, 4))
    nodes: list[Node] = []
    for place in range(3 + backward):
        read = {place - 1} if place else set()
        if place > 3:
            read.add(max(0, 6 - place))
        if place > 1 and draw(st.integers(0, 3)) == 0:
            read.add(draw(st.integers(0, place - 2)))
        nodes.append(
            Node(
                name=f"{place}",
                duration_ns=draw(times),
                output_bytes=draw(sizes),
                inputs=tuple(map(str, sorted(read))),
                workspace_bytes=draw(st.sampled_from((0, 0, 2))),
                backward=place > 2,
                keep=draw(st.integers(0, 9)) == 0,
            )
        )
    graph = Graph("drawn", tuple(nodes))
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    return RematGraph(graph, draw(st.integers(least, most)))


@settings(max_examples=120)
@given(training_steps())
def test_it_finds_the_best_restricted_schedule(problem: RematGraph) -> None:
    graph = problem.instance

    def may_repeat(stage: int, node: int) -> bool:
        return graph.nodes[stage].backward and not graph.nodes[node].backward

    expected = least_staged_time_ns(graph, problem.memory_bytes, may_repeat)
    result = solve_with(problem, "restricted", EXACT)
    assert result.termination is Termination.COMPLETED
    assert result.time_ns == expected


def test_forward_stages_and_backward_operations_are_left_alone() -> None:
    graph = LayeredGraphs(nodes=30, passes=Passes.TRAINING).draw(2)
    result = solve_with(RematGraph(graph, "70%"), "restricted", EXACT)
    assert isinstance(result.schedule, GraphSchedule)
    computed: set[int] = set()
    again = []
    for node in result.schedule.computations:
        if node in computed:
            again.append((len(computed), node))
        computed.add(node)
    assert again
    assert all(graph.nodes[stage].backward for stage, _ in again)
    assert not any(graph.nodes[node].backward for _, node in again)


def test_without_marks_of_the_backward_pass_it_says_why_it_finds_nothing() -> None:
    graph = Graph(
        "no marks",
        (
            Node(name="a", duration_ns=1, output_bytes=3),
            Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
            Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
        ),
    )
    outcome = solve_restricted(RematGraph(graph, 7), EXACT)
    assert outcome.schedule is None
    assert outcome.note is not None
    assert "no operation has the mark of the backward pass" in outcome.note


# In 7 bytes a must be lost while b and c are computed, and d, a forward node, reads it.
READ_FORWARD = Graph(
    "read forward",
    (
        Node(name="a", duration_ns=1, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
        Node(name="g", duration_ns=1, output_bytes=1, inputs=("d",), backward=True),
    ),
)


def test_a_memory_for_unrestricted_schedules_only_is_named() -> None:
    assert least_staged_time_ns(READ_FORWARD, 7) == 6
    outcome = solve_restricted(RematGraph(READ_FORWARD, 7), EXACT)
    assert outcome.termination is Termination.COMPLETED
    assert outcome.schedule is None
    assert outcome.infeasibility is None
    assert outcome.note is not None
    assert "in the backward pass and nothing else" in outcome.note


def test_progress_shows_schedules_and_no_bound() -> None:
    graph = LayeredGraphs(nodes=30, passes=Passes.TRAINING).draw(2)
    seen: list[Progress] = []
    options = SolveOptions(time_limit_s=60, gap=0, on_progress=seen.append)
    outcome = solve_restricted(RematGraph(graph, "70%"), options)
    assert outcome.schedule is not None
    assert seen
    assert seen[-1].time_ns == outcome.schedule.replay(graph).time_ns  # type: ignore[union-attr]
    assert {progress.lower_bound_ns for progress in seen} == {None}


def test_it_is_never_below_the_optimum() -> None:
    found = 0
    for seed, share in product(range(3), ("60%", "80%")):
        problem = RematGraph(LayeredGraphs(nodes=20, passes=Passes.TRAINING).draw(seed), share)
        exact = solve_with(problem, "exact", EXACT)
        result = solve_with(problem, "restricted", EXACT)
        if result.time_ns is not None:
            assert exact.time_ns is not None
            assert exact.time_ns <= result.time_ns
            found += 1
    assert found > 2


@settings(max_examples=20)
@given(training_steps())
def test_it_begins_from_any_staged_start_and_nothing_slower_comes_after_it(
    problem: RematGraph,
) -> None:
    best = solve_with(problem, "restricted", EXACT)
    # That of exact may compute again what this method may not.
    for found in (best, solve_with(problem, "exact", EXACT)):
        if found.schedule is None or found.replay is None:
            continue
        if not ScheduleClass.STAGED.covers(found.replay.schedule_class):
            continue
        heard: list[int] = []
        options = replace(
            EXACT,
            start=found.schedule,
            on_schedule=lambda _, replay, heard=heard: heard.append(replay.time_ns),
        )
        result = solve_with(problem, "restricted", options)
        assert heard[0] <= (found.time_ns or 0)
        assert result.time_ns == min(found.time_ns or 0, best.time_ns or found.time_ns or 0)
