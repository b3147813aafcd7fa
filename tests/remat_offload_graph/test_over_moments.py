"""The search over moments in the kernel: equal to the brute force, and what it says at limits."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import jettison as jt
from jettison import Graph, Link
from jettison.instances.core.errors import InputError
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.instances.remat_offload_graph.saving_graph import saving_graph
from jettison.remat_graph import Node
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload_graph.over_moments import (
    MomentSearchParams,
    solve_linked_exact,
)
from tests.drawing.chains import random_chain
from tests.drawing.graphs import tight
from tests.remat_graph.oracles.brute_force import least_time_ns
from tests.remat_offload.oracles.unrestricted import OffloadSearch
from tests.remat_offload_graph.cases import tiny_problem
from tests.remat_offload_graph.oracles.moments import MomentSearch
from tests.remat_offload_graph.test_saving_graph import saving_nothing_else


def test_the_kernel_finds_the_least_time_of_the_brute_force_or_that_nothing_fits() -> None:
    chance = random.Random(1)
    harder = infeasible = 0
    for seed in range(150):
        problem = tiny_problem(chance, 6)
        assert problem.link is not None
        rate = Fraction(problem.link.bytes_per_s, 10**9)
        least_ns = MomentSearch(problem.instance, problem.memory_bytes, rate).fastest()
        found = jt.solve(problem, method="exact")
        assert found.time_ns == least_ns, seed
        assert found.status == ("infeasible" if least_ns is None else "optimal"), seed
        harder += least_ns is not None and least_ns > problem.base_time_ns
        infeasible += least_ns is None
    assert harder > 25
    assert infeasible > 0


def test_without_a_link_it_is_the_least_time_of_remat_graph() -> None:
    chance = random.Random(2)
    for _ in range(60):
        problem = tight(chance, 5)
        graph, memory_bytes = problem.instance, problem.memory_bytes
        for absent in (None, 0):
            found = jt.solve(RematOffloadGraph(graph, memory_bytes, absent), method="exact")
            assert found.time_ns == least_time_ns(graph, memory_bytes)


def test_on_chains_it_is_the_least_time_of_remat_offload_chain() -> None:
    generator = random.Random(3)
    compared = 0
    while compared < 12:
        chain = saving_nothing_else(random_chain(generator, 2, largest_output_bytes=3))
        memory_bytes = generator.randint(2, chain.store_all_peak_bytes)
        by_chain = OffloadSearch(chain, memory_bytes, Fraction(1)).fastest()
        if by_chain is None:
            continue
        try:
            graph = saving_graph(chain)
        except InputError:
            continue
        problem = RematOffloadGraph(graph, memory_bytes, 10**9)
        assert jt.solve(problem, method="exact").time_ns == by_chain
        compared += 1


def test_a_search_without_states_bounds_by_its_least_estimate() -> None:
    chance = random.Random(4)
    stopped = 0
    for _ in range(20):
        given = tight(chance, 6)
        problem = RematOffloadGraph(given.instance, given.memory_bytes, 10**9)
        whole = jt.solve(problem, method="exact")
        part = solve_linked_exact(problem, SolveOptions(), MomentSearchParams(most_states=30))
        assert whole.time_ns is not None
        bounds = [bound.time_ns for bound in part.bounds]
        assert problem.base_time_ns <= max(bounds) <= whole.time_ns
        stopped += not part.termination.is_regular
    assert stopped > 5


def test_on_a_shared_link_it_is_a_bracket() -> None:
    chance = random.Random(5)
    for _ in range(60):
        problem = tiny_problem(chance)
        assert problem.link is not None
        half = Link.half_duplex(problem.link.bytes_per_s)
        fast = jt.solve(problem, method="exact")
        slow = jt.solve(
            RematOffloadGraph(problem.instance, problem.memory_bytes, half), method="exact"
        )
        if fast.time_ns is None:
            assert slow.time_ns is None
            continue
        assert slow.time_ns is not None
        assert slow.lower_bound_ns == fast.time_ns <= slow.time_ns
        is_met = slow.time_ns == fast.time_ns
        assert slow.status == ("optimal" if is_met else "feasible")


def test_larger_graphs_are_declined_with_a_hint_and_left_to_remat_graph_without_a_link() -> None:
    nodes = tuple(
        Node(
            name=f"{i}",
            duration_ns=1,
            output_bytes=2,
            inputs=(f"{i - 1}", *(("0",) if i == 39 else ())) if i else (),
            workspace_bytes=3 if i == 20 else 0,
        )
        for i in range(40)
    )
    graph = Graph("long", nodes)
    memory_bytes = graph.store_all_peak_bytes - 1
    declined = jt.solve(RematOffloadGraph(graph, memory_bytes, 10**8), method="exact")
    assert declined.note is not None
    assert "32 nodes or fewer" in declined.note
    assert declined.schedule is not None
    left = jt.solve(RematOffloadGraph(graph, memory_bytes), method="exact")
    assert left.status.startswith(("optimal", "infeasible"))


def test_the_kernel_refuses_arrays_that_are_no_graph() -> None:
    one, flag = np.ones(2, dtype=np.int64), np.ones(2, dtype=np.uint8)
    arrays = {
        "duration_ns": one,
        "output_bytes": one,
        "workspace_bytes": one,
        "copy_ns": one,
        "movable": flag,
        "keep": flag,
        "again": flag,
        "token": 0 * flag,
        "input_start": np.array([0, 0, 1], dtype=np.int32),
        "inputs": np.array([0], dtype=np.int32),
        "memory_bytes": 5,
    }
    search = _kernels.LinkedMoments(**arrays)
    search.run(1000, 100)
    assert search.time_ns == 2
    for name, value, words in (
        ("inputs", np.array([1], dtype=np.int32), "not before their node"),
        ("input_start", np.array([0, 2, 1], dtype=np.int32), "not the starts of rows"),
        ("copy_ns", np.array([1, 2**60], dtype=np.int64), "too much"),
        ("memory_bytes", -1, "range"),
        ("output_bytes", -one, "negative"),
    ):
        with pytest.raises(ValueError, match=words):
            _kernels.LinkedMoments(**{**arrays, name: value})
