"""Mistakes that released rematerialization tools make, and that are not made here.

Each test says what the tool does, on a graph where the right answer is another one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jettison import Graph, RematGraph
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.solve import solve_with
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph import checkmate
from jettison.solvers.remat_graph.baselines.lp_rounding import round_by_thresholds
from tests.remat_graph.oracles.brute_force import least_staged_time_ns, least_time_ns

EXACT = SolveOptions(time_limit_s=20, gap=0)


def skip(unit: int) -> Graph:
    """Return a -> b -> c -> d, where d reads a too; all of a, b, c together take 8 units."""
    return Graph(
        "skip",
        (
            Node(name="a", duration_ns=2, output_bytes=3 * unit),
            Node(name="b", duration_ns=1, output_bytes=4 * unit, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=unit, inputs=("b",)),
            Node(name="d", duration_ns=1, output_bytes=unit, inputs=("a", "c")),
        ),
    )


def either(first_ns: int, second_ns: int) -> Graph:
    """Return two values of which one has to go while a third is computed: 6 of 7 bytes."""
    return Graph(
        "either",
        (
            Node(name="first", duration_ns=first_ns, output_bytes=2),
            Node(name="second", duration_ns=second_ns, output_bytes=2),
            Node(name="large", duration_ns=1, output_bytes=3),
            Node(name="end", duration_ns=1, output_bytes=1, inputs=("first", "second")),
        ),
    )


@pytest.mark.parametrize("times", [(1_000_000, 1_000_001), (1_000_001, 1_000_000)])
def test_costs_carry_no_noise(times: tuple[int, int]) -> None:
    # Noise of a thousandth on each cost, to break ties, would hide a difference of a millionth.
    graph = either(*times)
    result = solve_with(RematGraph(graph, 6), "checkmate", EXACT)
    assert result.time_ns == graph.base_time_ns + 1_000_000
    assert result.lower_bound_ns == result.time_ns


def test_binaries_are_rounded_and_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    # Solvers return 0.9999999 for 1; int() of it is 0, and every computation is gone.
    def just_below(
        model: ArrayModel, options: HighsOptions, *args: object, **more: object
    ) -> ModelSolution:
        solution = solve_model(model, options)
        assert solution.values is not None
        return replace(solution, values=np.asarray(solution.values) * 0.9999999)

    expected = solve_with(RematGraph(skip(1), 7), "checkmate", EXACT)
    monkeypatch.setattr(checkmate, "solve_in_time", just_below)
    found = solve_with(RematGraph(skip(1), 7), "checkmate", EXACT)
    assert found.schedule == expected.schedule
    assert found.time_ns == 7


def test_a_share_of_nearly_one_is_stored() -> None:
    # x == 1 on floating-point numbers is false for 0.9999999, and the value would be dropped.
    shares = ({}, {0: 0.9999999}, {0: 0.9999999, 1: 1.0}, {0: 0.9999999, 2: 1 - 1e-12})
    found = [schedule.computations for schedule in round_by_thresholds(skip(1), shares)]
    assert found == [(0, 1, 2, 3)]


def test_memory_is_counted_with_the_new_value_before_anything_is_freed() -> None:
    # a, then b from a: 3 + 4 bytes at once, although a goes right after. Counted after that, or
    # before b is there, the peak would be 4 or 3.
    graph = Graph(
        "pair",
        (
            Node(name="a", duration_ns=1, output_bytes=3),
            Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        ),
    )
    assert GraphSchedule.from_computations(graph, (0, 1)).replay(graph).peak_bytes == 7
    for method in methods_of("remat-graph"):
        assert method.run(RematGraph(graph, 6), EXACT).schedule is None
        if method.promise is not Promise.BOUND:
            outcome = method.run(RematGraph(graph, 7), EXACT)
            # Planners of frameworks need to know which operations are of the backward pass.
            assert outcome.schedule is not None or "use another method" in (outcome.note or "")


@pytest.mark.parametrize(
    ("memory_bytes", "time_ns"), [(27, None), (28, 7), (31, 7), (32, 5), (35, 5)]
)
def test_a_limit_between_multiples_is_not_rounded_up(
    memory_bytes: int, time_ns: int | None
) -> None:
    # All sizes are multiples of 4. In 7 units (28 bytes) a is recomputed, in 8 nothing; less than
    # 7 is too little for b. Rounded up, 31 bytes would be 8 units, and 27 bytes 7.
    for method in methods_of("remat-graph"):
        result = solve_with(RematGraph(skip(4), memory_bytes), method.name, EXACT)
        if method.name == "checkmate":
            assert result.time_ns == time_ns
        if result.time_ns is not None:
            assert time_ns is not None
            assert result.time_ns >= time_ns


def test_nothing_is_freed_by_a_computation_that_does_not_happen() -> None:
    # Before a stands a leaf z. In the stage of c it is not computed; "freed" all the same, without
    # FREE <= R, it makes the byte of room that c needs beside a and b, and nothing is recomputed.
    graph = Graph("leaf", (Node(name="z", duration_ns=1, output_bytes=1), *skip(1).nodes))
    problem = RematGraph(graph, 7)
    optimum_ns = least_staged_time_ns(graph, 7)
    assert optimum_ns == least_time_ns(graph, 7) == graph.base_time_ns + 2
    assert solve_with(problem, "checkmate", EXACT).time_ns == optimum_ns

    model = from_pulp(Checkmate().build(problem).problem).model
    forgotten = np.array([name.startswith("free_computed_") for name in model.row_names])
    wrong = replace(model, row_upper=np.where(forgotten, np.inf, model.row_upper))
    assert solve_model(wrong, HighsOptions(gap=0)).objective == pytest.approx(0)
