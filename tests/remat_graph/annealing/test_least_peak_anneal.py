"""Annealing towards the least peak: never below the brute force, and nearly always equal to it."""

from __future__ import annotations

import os
import random
import signal
import threading

import numpy as np
import pytest

from jettison import Graph, ScheduleClass
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.remat_graph import GraphSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.annealing.least_peak import LeastPeak, least_peak_by_annealing
from jettison.solvers.remat_graph.kernel_arrays import graph_arrays
from tests.drawing.graphs import random_graph
from tests.remat_graph.mirrored_layers import training_step
from tests.remat_graph.oracles.brute_force import least_staged_memory_bytes


def least_peak(graph: Graph, seed: int = 0, stop_at_bytes: int | None = None) -> LeastPeak:
    stop = graph.least_peak_bound_bytes if stop_at_bytes is None else stop_at_bytes
    return least_peak_by_annealing(graph, seed, Clock(None), stop)


def test_tiny_graphs_need_what_the_brute_force_says_and_never_less() -> None:
    exact = tried = 0
    for seed in range(80):
        graph = random_graph(random.Random(seed), 4 + seed % 5)
        least_bytes = least_staged_memory_bytes(graph)
        if least_bytes == graph.store_all_peak_bytes:
            continue
        found = least_peak(graph, seed)
        replay = found.schedule.replay(graph, found.peak_bytes)
        assert replay.valid
        assert replay.peak_bytes == found.peak_bytes >= least_bytes
        assert replay.schedule_class is ScheduleClass.STAGED
        exact += found.peak_bytes == least_bytes
        tried += 1
    assert tried >= 20
    assert exact >= 0.9 * tried  # 38 of 38 when this was written


def test_sixteen_layers_need_three_values() -> None:
    # A backward, its forward and the backward before it. That much does: each backward is kept for
    # the next one, and in between the forwards run from the first one, two of them at a time.
    graph = training_step(16)
    found = least_peak(graph)
    assert graph.store_all_peak_bytes == 17
    assert found.peak_bytes == graph.least_peak_bound_bytes == 3
    assert found.termination is Termination.COMPLETED


def test_the_least_peak_of_a_larger_graph_is_replayed() -> None:
    graph = LayeredGraphs(nodes=60).draw(1)
    found = least_peak(graph, stop_at_bytes=7 * graph.store_all_peak_bytes // 10)
    assert found.peak_bytes <= 7 * graph.store_all_peak_bytes // 10
    assert found.schedule.replay(graph, found.peak_bytes).valid


@pytest.mark.parametrize("passes", list(Passes))
def test_the_peak_that_the_kernel_counts_is_the_one_that_the_replay_finds(passes: Passes) -> None:
    graph = LayeredGraphs(nodes=80, passes=passes).draw(3)
    search = _kernels.RematPeak(**graph_arrays(graph), stop_at_bytes=0, seed=1)
    for _ in range(10):
        search.run(1500)
        schedule = GraphSchedule.from_computations(graph, search.computations)
        assert schedule.replay(graph).valid
        assert schedule.replay(graph).peak_bytes == search.peak_bytes
    assert search.peak_bytes < graph.store_all_peak_bytes


def test_where_the_schedule_without_recomputation_is_small_enough_it_is_the_answer() -> None:
    graph = training_step(4)
    found = least_peak(graph, stop_at_bytes=graph.store_all_peak_bytes)
    assert found.schedule.computations == tuple(range(8))


def test_a_seed_gives_the_same_schedule_again() -> None:
    graph = LayeredGraphs(nodes=30).draw(2)
    assert least_peak(graph, 5) == least_peak(graph, 5)


def test_without_time_the_schedule_without_recomputation_is_left() -> None:
    graph = training_step(40)
    found = least_peak_by_annealing(graph, 0, Clock(1e-9), 0)
    assert found.termination is Termination.TIME_LIMIT
    assert found.peak_bytes == graph.store_all_peak_bytes


def test_ctrl_c_keeps_the_best_so_far() -> None:
    # No schedule of this graph gets down to 0 bytes, and the search takes seconds to give up.
    graph = LayeredGraphs(nodes=1000).draw(0)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = least_peak_by_annealing(graph, 0, Clock(None), 0)
    timer.join()
    assert found.termination is Termination.INTERRUPTED
    assert found.schedule.replay(graph, found.peak_bytes).valid


@pytest.mark.parametrize("stop_at_bytes", [-1, 2**60])
def test_the_kernel_refuses_what_no_peak_can_be(stop_at_bytes: int) -> None:
    with pytest.raises(ValueError, match="memory"):
        _kernels.RematPeak(**graph_arrays(training_step(3)), stop_at_bytes=stop_at_bytes, seed=0)


def test_the_kernel_refuses_arrays_that_do_not_match() -> None:
    arrays = graph_arrays(training_step(3))
    arrays["keep"] = np.zeros(2, np.uint8)
    with pytest.raises(ValueError, match="keep"):
        _kernels.RematPeak(**arrays, stop_at_bytes=1, seed=0)
