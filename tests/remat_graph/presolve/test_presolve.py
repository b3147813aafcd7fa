"""The presolve of graphs: least times stay as brute force has them, and schedules come back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from jettison import Graph, InputError, RematGraph, ScheduleClass
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.cuts.exact_method import solve_graph_exact
from jettison.solvers.remat_graph.presolve.presolved import Presolved, presolve
from tests.remat_graph.oracles.brute_force import (
    least_in_order_time_ns,
    least_staged_time_ns,
    least_time_ns,
)
from tests.remat_graph.result_graphs import graph_with_results
from tests.tiny import LADDER

STAGED, IN_ORDER, ALL = ScheduleClass.STAGED, ScheduleClass.IN_ORDER, ScheduleClass.ALL
LEAST_TIME_NS: dict[ScheduleClass, Callable[[Graph, int], int | None]] = {
    STAGED: least_staged_time_ns,
    IN_ORDER: least_in_order_time_ns,
    ALL: least_time_ns,
}
CLASSES = ((STAGED, IN_ORDER), (IN_ORDER,), (ALL,), (STAGED, IN_ORDER, ALL))


def drawn(chance: random.Random, count: int) -> Graph:
    """Draw a graph with chains, twins, free values, zero durations, workspaces and kept nodes."""
    nodes: list[Node] = []
    for position in range(count):
        name = f"n{position}"
        if nodes and chance.random() < 0.2:
            like = nodes[-1]
            nodes.append(
                Node(
                    name=name,
                    duration_ns=like.duration_ns,
                    output_bytes=like.output_bytes,
                    inputs=like.inputs,
                    workspace_bytes=like.workspace_bytes,
                    keep=like.keep,
                )
            )
            continue
        if nodes and chance.random() < 0.45:
            read = {position - 1}
        else:
            read = {source for source in range(position) if chance.random() < 0.35}
        if nodes and chance.random() < 0.3:
            read |= {int(source[1:]) for source in nodes[-1].inputs}
        nodes.append(
            Node(
                name=name,
                duration_ns=chance.choice((0, 1, 2, 5)),
                output_bytes=chance.choice((0, 1, 1, 2, 2, 3, 4)),
                inputs=tuple(f"n{source}" for source in sorted(read)),
                workspace_bytes=chance.choice((0, 0, 0, 1, 3, 5)),
                keep=chance.random() < 0.1,
            )
        )
    return Graph("drawn", tuple(nodes))


def memories(graph: Graph) -> range:
    """Return every memory at which something changes, and one in which nothing fits."""
    return range(max(0, graph.least_peak_bound_bytes - 1), graph.store_all_peak_bytes + 1)


def walked(
    chance: random.Random, problem: RematGraph, valid_for: ScheduleClass
) -> GraphSchedule | None:
    """Compute and free at random within the memory, until everything is done or 40 steps are."""
    graph = problem.instance
    count = len(graph)
    resident: set[int] = set()
    computed: set[int] = set()
    sequence: list[int] = []
    previous = -1
    for _ in range(40):
        kept = all(i in resident for i, node in enumerate(graph.nodes) if node.keep)
        if len(computed) == count and kept:
            return GraphSchedule.from_computations(graph, sequence)
        frontier = len(computed)
        stored = sum(graph.nodes[i].output_bytes for i in resident)
        able = []
        for i, node in enumerate(graph.nodes):
            fits = stored + node.output_bytes + node.workspace_bytes <= problem.memory_bytes
            if i in resident or not fits or not set(graph.inputs[i]) <= resident:
                continue
            if valid_for is not ALL and i > frontier:
                continue
            if valid_for is STAGED and (frontier == count or previous >= i != frontier):
                continue
            able.append(i)
        new = [i for i in able if i not in computed]
        if able and chance.random() < 0.75:
            i = chance.choice(new if new and chance.random() < 0.6 else able)
            previous = i if i in computed else -1
            sequence.append(i)
            resident.add(i)
            computed.add(i)
        elif resident:
            resident.remove(chance.choice(sorted(resident)))
    return None


@pytest.mark.parametrize("classes", CLASSES)
def test_the_least_time_of_each_class_stays_at_every_memory(
    classes: tuple[ScheduleClass, ...],
) -> None:
    chance = random.Random(1)
    done: Counter[str] = Counter()
    for _ in range(150):
        graph = drawn(chance, chance.randint(2, 5))
        for memory_bytes in memories(graph):
            presolved = presolve(RematGraph(graph, memory_bytes), classes)
            reduced = presolved.problem.instance
            if reduced is graph:
                continue
            done.update(presolved.counts)
            assert presolved.problem.memory_bytes == memory_bytes
            assert reduced.base_time_ns == graph.base_time_ns
            for named in classes:
                least_ns = LEAST_TIME_NS[named]
                assert least_ns(reduced, memory_bytes) == least_ns(graph, memory_bytes)
    expected = {"free_values", "edges", "contracted"}
    if STAGED not in classes:
        expected.add("beside_host")
    if ALL not in classes:
        expected.add("in_prefix")
    if classes == (STAGED, IN_ORDER, ALL):
        # All schedules allow nothing in the prefix, staged ones only that and edges.
        expected = {"free_values", "edges"}
    assert min(done[reduction] for reduction in expected) >= 5


@pytest.mark.parametrize("classes", CLASSES)
def test_schedules_come_back_in_no_more_time_or_memory_and_stay_in_their_class(
    classes: tuple[ScheduleClass, ...],
) -> None:
    chance = random.Random(2)
    restored = 0
    for _ in range(600):
        graph = drawn(chance, chance.randint(2, 8))
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        problem = RematGraph(graph, chance.randint(least, max(least, most)))
        presolved = presolve(problem, classes)
        if presolved.problem is problem:
            continue
        for named in classes:
            schedule = walked(chance, presolved.problem, named)
            if schedule is None:
                continue
            before = schedule.replay(presolved.problem.instance, problem.memory_bytes)
            after = presolved.restore(schedule).replay(graph, problem.memory_bytes)
            assert before.valid
            assert after.valid
            assert after.time_ns <= before.time_ns
            assert named.covers(after.schedule_class)
            restored += 1
    assert restored > 200


def test_what_is_solved_on_the_reduced_graph_is_optimal_on_the_original_one() -> None:
    chance = random.Random(3)
    options = SolveOptions(time_limit_s=None, gap=0)
    solved = 0
    while solved < 15:
        graph = drawn(chance, 6)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        if least == most:
            continue
        problem = RematGraph(graph, chance.randint(least, most - 1))
        presolved = presolve(problem, (IN_ORDER,))
        best_ns = least_in_order_time_ns(graph, problem.memory_bytes)
        if presolved.problem is problem or best_ns in (None, graph.base_time_ns):
            continue
        outcome = solve_graph_exact(presolved.problem, options)
        for bound in outcome.bounds:
            assert bound.valid_for is STAGED or bound.time_ns <= best_ns
        if isinstance(outcome.schedule, GraphSchedule):
            replay = presolved.restore(outcome.schedule).replay(graph, problem.memory_bytes)
            assert replay.valid
            assert replay.time_ns >= best_ns
        solved += 1


def model_time_ns(
    presolved: Presolved, cuts: tuple[int, ...], slots: tuple[tuple[int, int], ...]
) -> int | None:
    """Return the optimum of a model of the reduced graph with all fixings, base time included."""
    (valid_for,) = presolved.classes
    frontier = WindowedFrontier(cuts, slots, valid_for, fixings=presolved.fixings)
    built = frontier.build(presolved.problem)
    solution = solve_model(built.model, HighsOptions(gap=0, feasibility_tolerance=1e-9))
    if solution.objective is None:
        return None
    return built.graph.base_time_ns + built.time_scale.from_model(solution.objective)


def test_the_exact_model_with_all_fixings_has_the_least_staged_time() -> None:
    chance = random.Random(4)
    checked = twins = fixed = 0
    while checked < 25:
        graph = drawn(chance, chance.randint(3, 5))
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        memory_bytes = chance.randint(least, most)
        best_ns = least_staged_time_ns(graph, memory_bytes)
        if best_ns is None or best_ns == graph.base_time_ns:
            continue
        for known_time_ns in (None, best_ns, best_ns + 1):
            problem = RematGraph(graph, memory_bytes)
            presolved = presolve(problem, (STAGED,), known_time_ns)
            count = len(presolved.problem.instance)
            slots = tuple((t, q) for t in range(1, count) for q in range(t))
            assert model_time_ns(presolved, tuple(range(count)), slots) == best_ns
        checked += 1
        twins += presolved.counts["twins"] > 0
        fixed += presolved.counts["computed_once"] > 1
    assert twins >= 3
    assert fixed >= 10


def test_models_of_some_cuts_with_all_fixings_bound_every_schedule_in_order() -> None:
    chance = random.Random(5)
    checked = 0
    while checked < 60:
        graph = drawn(chance, chance.randint(3, 6))
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        memory_bytes = chance.randint(least, most)
        best_ns = least_in_order_time_ns(graph, memory_bytes)
        if best_ns is None or best_ns == graph.base_time_ns:
            continue
        for known_time_ns in (None, best_ns):
            presolved = presolve(RematGraph(graph, memory_bytes), (IN_ORDER,), known_time_ns)
            count = len(presolved.problem.instance)
            cuts = tuple(sorted(chance.sample(range(count), chance.randint(1, count))))
            bound_ns = model_time_ns(presolved, cuts, ())
            assert bound_ns is not None
            assert bound_ns <= best_ns
        checked += 1


def test_where_nothing_applies_the_problem_is_the_same_object() -> None:
    problem = RematGraph(LADDER, "80%")
    presolved = presolve(problem)
    assert presolved.problem is problem
    # b0 is read by nobody.
    assert presolved.fixings.computed_once == {6}
    schedule = GraphSchedule.from_computations(LADDER, range(7))
    assert presolved.restore(schedule) == schedule


def test_a_chain_of_equal_values_that_are_read_once_becomes_one_node() -> None:
    graph = Graph(
        "chain",
        (
            Node(name="a", duration_ns=1, output_bytes=2),
            Node(name="b", duration_ns=2, output_bytes=2, inputs=("a",)),
            Node(name="c", duration_ns=3, output_bytes=2, inputs=("b",)),
            Node(name="d", duration_ns=4, output_bytes=3),
            Node(name="e", duration_ns=5, output_bytes=1, inputs=("c", "d")),
        ),
    )
    presolved = presolve(RematGraph(graph, 6), (IN_ORDER,))
    # No value is smaller than its only reader's but d, and that reads nothing: each can run just
    # before its reader. At the end c, d and e stand together: 2 + 3 + 1 bytes.
    (last,) = presolved.problem.instance.nodes
    assert (last.name, last.duration_ns, last.output_bytes) == ("e", 15, 1)
    assert last.workspace_bytes == 5
    assert presolved.positions == (4,)
    assert presolved.counts["contracted"] == 4
    back = presolved.restore(GraphSchedule.from_computations(presolved.problem.instance, [0]))
    assert back.computations == (0, 1, 2, 3, 4)
    assert back.replay(graph).peak_bytes == 6


def test_durations_of_nodes_that_are_taken_out_stay_in_the_base_time() -> None:
    graph = Graph(
        "unread",
        (
            Node(name="a", duration_ns=1, output_bytes=3),
            Node(name="s", duration_ns=7, output_bytes=1, inputs=("a",)),
            Node(name="b", duration_ns=2, output_bytes=2, inputs=("a",)),
            Node(name="c", duration_ns=4, output_bytes=4, inputs=("a", "b")),
        ),
    )
    presolved = presolve(RematGraph(graph, 6), (IN_ORDER,))
    assert presolved.counts["beside_host"] == 1
    assert "s" not in presolved.problem.instance.position_of
    assert presolved.problem.instance.base_time_ns == 14


def test_a_known_time_tells_what_is_too_slow_to_compute_again() -> None:
    graph = Graph(
        "known",
        (
            Node(name="a", duration_ns=3, output_bytes=2),
            Node(name="c", duration_ns=2, output_bytes=1),
            Node(name="b", duration_ns=4, output_bytes=1, inputs=("a",), workspace_bytes=9),
            Node(name="d", duration_ns=2, output_bytes=1, inputs=("b", "c")),
            Node(name="e", duration_ns=1, output_bytes=1, inputs=("b", "c", "d")),
        ),
    )
    # Base 12 ns. b again is 4 ns, and 3 for a, which is larger and which nothing else reads: 19 ns
    # for the step at least.
    for known_time_ns, once in ((18, True), (19, False)):
        presolved = presolve(RematGraph(graph, 12), (STAGED, IN_ORDER), known_time_ns)
        place = presolved.problem.instance.position_of["b"]
        assert (place in presolved.fixings.computed_once) == once


def test_classes_and_known_times_that_cannot_be_are_refused() -> None:
    problem = RematGraph(LADDER, "80%")
    with pytest.raises(InputError, match="classes"):
        presolve(problem, ())
    with pytest.raises(InputError, match="classes"):
        presolve(problem, (ScheduleClass.PERSISTENT,))
    with pytest.raises(InputError, match="known_time_ns"):
        presolve(problem, known_time_ns=LADDER.base_time_ns - 1)


def unmarked(graph: Graph) -> Graph:
    """Return the graph with results as nodes like any other."""
    return replace(graph, nodes=tuple(replace(node, result_of=None) for node in graph.nodes))


def test_results_of_operators_are_reduced_and_solved_as_the_nodes_that_they_are() -> None:
    for seed in range(24):
        graph = graph_with_results(seed, 4)
        memory_bytes = (graph.least_peak_bound_bytes + graph.store_all_peak_bytes) // 2
        problem = RematGraph(graph, memory_bytes)
        left, plain = (
            presolve(RematGraph(given, memory_bytes)).problem.instance
            for given in (graph, unmarked(graph))
        )
        assert unmarked(left) == plain
        if len(graph) <= 7:
            result = solve_with(problem, "exact", SolveOptions())
            valid_for = result.bound.valid_for if result.bound else STAGED
            assert result.time_ns == LEAST_TIME_NS[valid_for](graph, memory_bytes)
            for method in ("dtr", "dtr-eq", "dtr-local"):
                other = solve_with(problem, method, SolveOptions())
                if other.time_ns is not None:
                    least_ns = least_time_ns(graph, memory_bytes)
                    assert least_ns is not None
                    assert least_ns <= other.time_ns
