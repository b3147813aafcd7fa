"""Annealing of recomputations: judged by the replay and by brute force over tiny graphs."""

from __future__ import annotations

import os
import random
import signal
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jettison import Graph, RematGraph, Result, ScheduleClass, solve
from jettison.core import Replay
from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.annealing.method import annealing_of, solve_anneal
from jettison.solvers.remat_graph.baselines.simple import recompute_all_schedule
from tests.drawing.graphs import random_graph
from tests.each import each
from tests.remat_graph.mirrored_layers import training_step
from tests.remat_graph.oracles.brute_force import least_staged_memory_bytes, least_staged_time_ns
from tests.remat_graph.result_graphs import graph_of_runs

# a must stay, or be recomputed, until b and c are there. Dropped after its own stage and computed
# again when only c (8 bytes) is left, it needs 13 bytes; no node alone needs more than 9.
KEPT = Graph(
    "kept",
    (
        Node(name="a", duration_ns=2, output_bytes=5, keep=True),
        Node(name="b", duration_ns=1, output_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=0, inputs=("c",)),
    ),
)


def tight(graph: Graph) -> list[int]:
    """Up to four sizes of memory in which a schedule exists, but not without recomputation."""
    least, most = least_staged_memory_bytes(graph), graph.store_all_peak_bytes
    return list(range(least, most, max(1, (most - least) // 3)))


def replayed(result: Result) -> Replay:
    assert result.replay is not None
    assert result.replay.valid
    return result.replay


def scaled(graph: Graph, factor: int) -> Graph:
    return replace(
        graph,
        nodes=tuple(
            replace(
                node,
                output_bytes=node.output_bytes * factor,
                workspace_bytes=node.workspace_bytes * factor,
            )
            for node in graph.nodes
        ),
    )


def test_tiny_graphs_are_solved_to_the_staged_optimum_almost_always() -> None:
    optimal = tried = 0
    for seed in range(10):
        graph = random_graph(random.Random(seed), 4 + seed % 5)
        for memory_bytes in tight(graph):
            problem = RematGraph(graph, memory_bytes)
            result = solve_with(problem, "anneal", SolveOptions(gap=0, seed=seed))
            best_ns = least_staged_time_ns(graph, memory_bytes)
            assert best_ns is not None
            assert replayed(result).time_ns >= best_ns
            assert result.replay is not None
            assert result.replay.peak_bytes <= memory_bytes
            optimal += result.replay.time_ns == best_ns
            tried += 1
    assert tried >= 10
    assert optimal >= 0.9 * tried  # 20 of 20 when this was written


def test_sizes_whose_excess_is_summed_in_larger_units_give_valid_schedules() -> None:
    compared = 0
    for seed in range(12):
        graph = random_graph(random.Random(seed), 6)
        large = scaled(graph, 2**46)
        for memory_bytes in tight(graph):
            result = solve_with(
                RematGraph(large, memory_bytes * 2**46 + 2**46 - 1), "anneal", SolveOptions(gap=0)
            )
            best_ns = least_staged_time_ns(graph, memory_bytes)
            assert best_ns is not None
            assert replayed(result).time_ns >= best_ns
            compared += 1
    assert compared > 8


def test_units_of_the_excess_make_no_difference_to_sizes_that_are_multiples_of_them() -> None:
    # 300 nodes of 2 kB are some 2^19 bytes, 2^55 when scaled, in units of 2^14.
    graph = LayeredGraphs(nodes=300).draw(2)
    memory_bytes = 8 * graph.store_all_peak_bytes // 10
    found = []
    for factor in (1, 2**36):
        problem = RematGraph(scaled(graph, factor), memory_bytes * factor)
        search = annealing_of(problem, 1, graph.base_time_ns)
        search.run(60_000)
        schedule = GraphSchedule.from_computations(problem.instance, search.computations)
        replay = schedule.replay(problem.instance, problem.memory_bytes)
        assert replay.valid
        assert replay.time_ns == search.time_ns
        found.append(search.computations)
    assert found[0] == found[1]
    assert len(found[0]) > len(graph)


@each(seed=range(3))
def test_what_the_search_believes_of_larger_graphs_is_what_the_replay_finds(seed: int) -> None:
    graph = random_graph(random.Random(seed), 60)
    between = (graph.least_peak_bound_bytes + 3 * graph.store_all_peak_bytes) // 4
    problem = RematGraph(graph, between)
    result = solve_with(problem, "anneal", SolveOptions(gap=0.03, seed=seed))
    found = replayed(result)
    assert found.peak_bytes <= between
    assert found.time_ns >= graph.base_time_ns
    assert found.schedule_class is ScheduleClass.STAGED


def test_a_step_fits_a_third_of_its_memory_for_a_second_run_of_each_forward() -> None:
    # 60 layers of equal size, 61 values at the peak, in 21. Every forward a second time: 240 ns.
    # The gap that is asked for is the one between 180 and 240 ns.
    graph = training_step(60)
    assert graph.store_all_peak_bytes == 61
    result = solve_with(RematGraph(graph, 21), "anneal", SolveOptions(gap=0.25))
    assert replayed(result).time_ns <= 240
    assert graph.base_time_ns == 180


def test_with_memory_for_everything_nothing_is_recomputed() -> None:
    graph = training_step(10)
    result = solve(RematGraph(graph, "100%"), "anneal")
    assert result.status == "optimal"
    assert result.time_ns == graph.base_time_ns


def test_only_sizes_prove_that_nothing_fits() -> None:
    refused = solve_anneal(RematGraph(KEPT, 8), SolveOptions())
    assert refused.infeasibility is not None
    assert refused.infeasibility.least_memory_bytes == 9
    assert refused.infeasibility.valid_for is ScheduleClass.ALL
    in_vain = solve_anneal(RematGraph(KEPT, 12), SolveOptions())
    assert in_vain.termination is Termination.COMPLETED
    assert in_vain.infeasibility is None
    assert in_vain.schedule is None
    assert in_vain.note is not None
    assert "does not prove" in in_vain.note


def test_the_least_memory_is_enough() -> None:
    # a twice: 2 + 5 ns.
    assert replayed(solve(RematGraph(KEPT, 13), "anneal")).time_ns == 7


def test_a_seed_gives_the_same_schedule_again() -> None:
    problem = RematGraph(training_step(12), "40%")
    options = SolveOptions(gap=0, seed=3, time_limit_s=None)
    first, again = (solve_anneal(problem, options) for _ in range(2))
    assert first.schedule == again.schedule
    assert first.schedule is not None
    assert first.work == again.work
    assert first.work["moves"] > 0


def test_progress_is_told_and_interrupts_keep_the_best_so_far() -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 5:
            raise KeyboardInterrupt

    problem = RematGraph(training_step(40), "30%")
    result = solve_with(problem, "anneal", SolveOptions(gap=0, on_progress=interrupt))
    assert result.termination is Termination.INTERRUPTED
    assert seen[-1].time_ns is not None
    assert replayed(result).time_ns <= seen[-1].time_ns
    assert [item.lower_bound_ns for item in seen] == [problem.instance.base_time_ns] * 5


def test_a_time_limit_before_the_first_schedule_leaves_a_note() -> None:
    problem = RematGraph(training_step(40), "30%")
    outcome = solve_anneal(problem, SolveOptions(time_limit_s=1e-9))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is None
    assert outcome.note is not None


def kernel(**changed: object) -> _kernels.RematAnneal:
    """A chain of three nodes, 2 bytes each, in 4 bytes."""
    arguments: dict[str, Any] = {
        "duration_ns": np.ones(3, np.int64),
        "output_bytes": np.full(3, 2, np.int64),
        "workspace_bytes": np.zeros(3, np.int64),
        "keep": np.zeros(3, np.uint8),
        "again": np.ones(3, np.uint8),
        "run_of": np.full(3, -1, np.int32),
        "input_start": np.array([0, 0, 1, 2], np.int32),
        "inputs": np.array([0, 1], np.int32),
        "memory_bytes": 4,
        "floor_ns": 3,
        "rounds": 3,
        "seed": 0,
        **changed,
    }
    return _kernels.RematAnneal(**arguments)


def test_a_schedule_that_needs_no_search_is_there_before_it() -> None:
    search = kernel()
    assert search.is_over
    assert search.time_ns == 3
    assert search.computations == [0, 1, 2]


@pytest.mark.parametrize(
    "changed",
    [
        {"duration_ns": np.zeros(0, np.int64)},
        {"duration_ns": np.array([1, -1, 1], np.int64)},
        {"duration_ns": np.full(3, 2**58, np.int64)},
        {"output_bytes": np.full(3, 2**59, np.int64)},
        {"keep": np.zeros(2, np.uint8)},
        {"again": np.ones(2, np.uint8)},
        {"run_of": np.full(2, -1, np.int32)},
        # Node 0 is no operator with several results; node 2 does not read it; node 2 is behind.
        {"run_of": np.array([-1, 0, -1], np.int32)},
        {"run_of": np.array([0, 0, 0], np.int32)},
        {"run_of": np.array([-1, 2, 2], np.int32)},
        {"input_start": np.array([0, 1, 1, 2], np.int32)},
        {"input_start": np.array([0, 2, 1, 2], np.int32)},
        {"input_start": np.array([1, 1, 1, 2], np.int32)},
        {"input_start": np.array([0, 0, 1, 3], np.int32)},
        {"inputs": np.array([0, 2], np.int32)},
        {"inputs": np.array([0, -1], np.int32)},
        {"memory_bytes": -1},
        {"memory_bytes": 2**60},
        {"rounds": -1},
    ],
)
def test_the_kernel_refuses_what_would_read_past_its_arrays(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        kernel(**changed)


def test_results_of_an_operator_come_again_in_its_runs_only() -> None:
    repeated = 0
    for seed in range(6):
        graph = graph_of_runs(seed, 40)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        problem = RematGraph(graph, least + 3 * (most - least) // 4)
        search = annealing_of(problem, 1, graph.base_time_ns, rounds=2)
        search.run(20_000)
        if search.time_ns is None:
            continue
        schedule = GraphSchedule.from_computations(graph, search.computations)
        replay = schedule.replay(graph, problem.memory_bytes)
        # Nothing was left out by the schedule: each computation is read.
        assert (replay.valid, replay.time_ns) == (True, search.time_ns), seed
        assert ScheduleClass.STAGED.covers(replay.schedule_class), seed
        again = len(schedule.computations) - len(graph)
        repeated += again > 1
    assert repeated > 2


# f0 f1 f2 f3 b3 b2 b1 b0 take 12 ns. Here f0 and f1 come again before b1, and f0 before b0, which
# leaves at most four values in memory: f0 to f3.
TWICE = np.array([0, 1, 2, 3, 4, 5, 0, 1, 6, 0, 7], np.int32)


def test_a_start_that_fits_is_the_best_known_at_once() -> None:
    search = annealing_of(RematGraph(training_step(4), 4), 0, 12)
    assert search.time_ns is None
    search.start_from(np.array([0, 1, 2, 3, 4, 5, 0, 6, 7], np.int32))
    # f0 once more.
    assert search.time_ns == 13
    search.start_from(TWICE)
    assert search.time_ns == 13
    assert search.computations == [0, 1, 2, 3, 4, 5, 0, 6, 7]


def test_what_nobody_reads_is_left_out_of_a_start() -> None:
    search = annealing_of(RematGraph(training_step(4), 4), 0, 12)
    # Of the f0, f1 and f2 before b0 only f0 is read in the end; f3 before b1 is not read either.
    search.start_from(np.array([0, 1, 2, 3, 4, 5, 0, 1, 3, 6, 0, 1, 2, 7], np.int32))
    assert search.time_ns == 15
    assert search.computations == TWICE.tolist()


def test_a_start_that_does_not_fit_is_repaired() -> None:
    graph = random_graph(random.Random(6), 60)
    start = recompute_all_schedule(graph)
    memory_bytes = start.replay(graph).peak_bytes - 1
    search = annealing_of(RematGraph(graph, memory_bytes), 0, graph.base_time_ns)
    search.start_from(np.array(start.computations, np.int32))
    assert search.time_ns is None
    search.run(20_000)
    assert search.time_ns is not None
    found = GraphSchedule.from_computations(graph, search.computations).replay(graph, memory_bytes)
    assert found.valid
    assert found.time_ns == search.time_ns < start.replay(graph).time_ns


def test_a_start_opens_a_search_again_that_was_over() -> None:
    graph = training_step(12)
    search = annealing_of(RematGraph(graph, 8), 0, graph.base_time_ns)
    search.run(10**7)
    assert search.is_over
    best_ns = search.time_ns
    tried = search.tried
    assert best_ns is not None
    search.start_from(np.array(recompute_all_schedule(graph).computations, np.int32))
    assert not search.is_over
    search.run(100)
    assert search.tried == tried + 100
    assert search.time_ns is not None
    assert search.time_ns <= best_ns


def test_a_seed_and_the_same_starts_give_the_same_schedule_again() -> None:
    graph = random_graph(random.Random(5), 40)
    memory_bytes = (graph.least_peak_bound_bytes + graph.store_all_peak_bytes) // 2
    problem = RematGraph(graph, memory_bytes)
    start = np.array(recompute_all_schedule(graph).computations, np.int32)

    def searched() -> tuple[int | None, list[int]]:
        search = annealing_of(problem, 3, graph.base_time_ns)
        search.run(1000)
        search.start_from(start)
        search.run(5000)
        return search.time_ns, search.computations

    first = searched()
    assert first == searched()
    assert first[0] is not None


def test_a_floor_that_rises_to_the_best_known_ends_the_search() -> None:
    search = annealing_of(RematGraph(training_step(4), 4), 0, 12)
    search.start_from(np.array([0, 1, 2, 3, 4, 5, 0, 6, 7], np.int32))
    assert search.floor_ns == 12
    assert not search.is_over
    search.floor_ns = 13
    assert search.is_over
    search.run(1000)
    assert search.tried == 0


@pytest.mark.parametrize(
    "computations",
    [
        [],
        [0, 1],
        [0, 2, 1],
        [0, 1, 0, 0, 2],
        [0, 1, 1, 0, 2],
        [0, 1, 2, 1],
        [0, 1, 2, 3],
        [0, -1, 1, 2],
    ],
)
def test_a_start_that_is_no_staged_schedule_is_refused(computations: list[int]) -> None:
    search = kernel()
    with pytest.raises(ValueError, match="computations"):
        search.start_from(np.array(computations, np.int32))
    assert search.computations == [0, 1, 2]


def test_ctrl_c_stops_the_kernel() -> None:
    count = 2000
    search = kernel(
        duration_ns=np.ones(count, np.int64),
        output_bytes=np.ones(count, np.int64),
        workspace_bytes=np.zeros(count, np.int64),
        keep=np.ones(count, np.uint8),
        again=np.ones(count, np.uint8),
        run_of=np.full(count, -1, np.int32),
        input_start=np.zeros(count + 1, np.int32),
        inputs=np.zeros(0, np.int32),
        memory_bytes=10,
    )
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        search.run(10**12)
    timer.join()
    assert search.tried > 0
