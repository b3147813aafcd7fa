"""Checkmate's ILP, solved: the optimum of the brute force, honest words about everything else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, RematGraph, Result, ScheduleClass
from jettison.formulations.milp.array_model import ArrayModel
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.remat_graph import Node
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.remat_graph import checkmate
from jettison.solvers.remat_graph.least_memory import LeastMemoryParams
from tests.drawing.graphs import graphs, tight_remat_graphs
from tests.remat_graph.oracles.brute_force import (
    least_memory_bytes,
    least_staged_memory_bytes,
    least_staged_time_ns,
    least_time_ns,
)

EXACT = SolveOptions(time_limit_s=None, gap=0)


def _skip(unit: int, more: int = 0) -> Graph:
    """a, b and c together take 8 units and `more` bytes; a (2 ns) recomputed, 7 and `more` do."""
    return Graph(
        "skip",
        (
            Node(name="a", duration_ns=2, output_bytes=3 * unit),
            Node(name="b", duration_ns=1, output_bytes=4 * unit + more, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=unit, inputs=("b",)),
            Node(name="d", duration_ns=1, output_bytes=unit, inputs=("a", "c")),
        ),
    )


SKIP = _skip(1)
# See tests/remat_graph/test_least_graph_memory.py: 13 bytes would do, and no node alone needs them.
KEPT = Graph(
    "kept",
    (
        Node(name="a", duration_ns=2, output_bytes=5, keep=True),
        Node(name="b", duration_ns=1, output_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=8, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=0, inputs=("c",)),
    ),
)


def solved(graph: Graph, memory: int | str, options: SolveOptions = EXACT) -> Result:
    return solve_with(RematGraph(graph, memory), "checkmate", options)


def bounded(graph: Graph, memory: int | str, options: SolveOptions = EXACT) -> Result:
    return solve_with(RematGraph(graph, memory), "checkmate-lp", options)


def answering(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[ModelSolution], ModelSolution]
) -> None:
    """Let HiGHS answer, in silence, what `change` makes of its answer."""

    def changed(model: ArrayModel, options: HighsOptions, *_: Any, **__: Any) -> ModelSolution:
        return change(solve_model(model, options))

    monkeypatch.setattr(checkmate, "solve_in_time", changed)


def test_the_cheapest_recomputation_is_found_and_proved() -> None:
    result = solved(SKIP, 7)
    # a, b, c, d take 5 ns; a again takes 2.
    assert (result.time_ns, result.lower_bound_ns, result.peak_bytes) == (7, 7, 7)
    assert result.status == "optimal-staged"
    assert result.termination is Termination.COMPLETED
    assert result.bound is not None
    assert result.bound.evidence is Evidence.SOLVER
    assert result.work["rows"] > 0


def test_where_everything_fits_the_solver_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkmate, "solve_in_time", None)
    result = solved(SKIP, 8)
    assert (result.time_ns, result.status) == (5, "optimal")
    relaxed = bounded(SKIP, 8)
    assert (relaxed.lower_bound_ns, relaxed.status) == (5, "bounded")


def test_what_no_schedule_can_do_is_proved_from_sizes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkmate, "solve_in_time", None)
    # b needs 7 bytes. That they are enough is shown by a schedule, which a bound does not look for.
    for result, is_exact in ((solved(SKIP, 6), True), (bounded(SKIP, 6), False)):
        assert result.status == "infeasible"
        proof = result.infeasibility
        assert proof is not None
        assert proof.valid_for is ScheduleClass.ALL
        assert proof.evidence is Evidence.EXACT
        assert (proof.least_memory_bytes, proof.is_exact) == (7, is_exact)


def test_a_memory_too_small_for_staged_schedules_comes_with_the_least_that_would_do() -> None:
    result = solved(KEPT, 12)
    assert result.status == "infeasible-staged"
    assert result.termination is Termination.COMPLETED
    proof = result.infeasibility
    assert proof is not None
    assert (proof.least_memory_bytes, proof.is_exact) == (13, True)
    assert proof.evidence is Evidence.SOLVER
    assert solved(KEPT, 13).time_ns == 7  # 5 ns, and a again


def test_a_relaxation_without_a_point_is_a_proof_too() -> None:
    # Kept, a and b are in memory together; one by one they fit, and d needs neither.
    graph = Graph(
        "pair",
        (
            Node(name="a", duration_ns=1, output_bytes=5, keep=True),
            Node(name="b", duration_ns=1, output_bytes=5, keep=True),
            Node(name="d", duration_ns=1, output_bytes=8),
        ),
    )
    # The last operation is d, beside what it does not read: 5 + 5 + 8.
    result = bounded(graph, 17)
    assert result.status == "infeasible-staged"
    proof = result.infeasibility
    assert proof is not None
    assert (proof.least_memory_bytes, proof.is_exact) == (18, False)
    assert least_staged_memory_bytes(graph) == 18


def test_costs_enter_as_they_are_however_small_or_large() -> None:
    # 1 ns beside an hour: the gap of 1 in 3.6e12 is closed, without noise in the objective.
    hour_ns = 3_600 * 10**9
    nodes = (replace(SKIP.nodes[0], duration_ns=hour_ns), *SKIP.nodes[1:])
    result = solved(Graph("hour", nodes), 7)
    assert result.time_ns == 2 * hour_ns + 3


def test_progress_ends_at_the_time_and_the_bound_of_the_result() -> None:
    seen: list[Progress] = []
    result = solved(SKIP, 7, replace(EXACT, on_progress=seen.append))
    assert (seen[-1].time_ns, seen[-1].lower_bound_ns) == (result.time_ns, result.lower_bound_ns)
    assert all(earlier.seconds <= later.seconds for earlier, later in pairwise(seen))


def test_a_run_is_stopped_when_the_gap_between_times_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped_at: list[float] = []

    def slow(
        model: ArrayModel,
        options: HighsOptions,
        on_progress: Callable[[ModelProgress], None],
        *,
        stop: threading.Event,
    ) -> ModelSolution:
        for bound in (0.0, 1.0, 1.9):
            on_progress(ModelProgress(0.0, 2.0, bound, 0))
            if stop.is_set():
                stopped_at.append(bound)
                break
        return replace(
            solve_model(model, options),
            termination=Termination.INTERRUPTED,
            dual_bound=bound,
        )

    monkeypatch.setattr(checkmate, "solve_in_time", slow)
    # Recomputation takes 2 ns, of which 1 ns is proved; the step takes 7: a gap of 1 / 2.
    result = solved(SKIP, 7, replace(EXACT, gap=0.5))
    assert stopped_at == [1.0]
    assert (result.time_ns, result.lower_bound_ns) == (7, 6)
    assert result.termination is Termination.GAP_REACHED


def test_a_gap_between_times_is_measured_without_their_constant_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, lambda solution: replace(solution, dual_bound=1.0))
    # 7 ns, and a bound of 5 + 1: (7 - 6) / (7 - 5).
    assert solved(SKIP, 7, replace(EXACT, gap=0.5)).termination is Termination.GAP_REACHED
    result = solved(SKIP, 7, replace(EXACT, gap=0.49))
    assert (result.time_ns, result.lower_bound_ns, result.status) == (7, 6, "feasible")


def test_a_bound_within_a_unit_of_cost_proves_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(
        monkeypatch,
        lambda solution: replace(
            solution, termination=Termination.TIME_LIMIT, answer=Answer.FEASIBLE, dual_bound=1.01
        ),
    )
    # No time lies between 5 + 1.01 and 7 ns.
    result = solved(SKIP, 7)
    assert (result.status, result.termination) == ("optimal-staged", Termination.COMPLETED)


@pytest.mark.parametrize("termination", [Termination.TIME_LIMIT, Termination.INTERRUPTED])
def test_a_run_that_is_cut_short_keeps_its_schedule_and_its_bound(
    monkeypatch: pytest.MonkeyPatch, termination: Termination
) -> None:
    answering(
        monkeypatch,
        lambda solution: replace(
            solution, termination=termination, answer=Answer.FEASIBLE, dual_bound=0.5
        ),
    )
    result = solved(SKIP, 7)
    assert (result.time_ns, result.lower_bound_ns) == (7, 6)
    assert (result.status, result.termination) == ("feasible", termination)


def test_a_time_limit_without_incumbent_is_not_called_optimal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(
        monkeypatch,
        lambda solution: ModelSolution(
            termination=Termination.TIME_LIMIT, answer=Answer.UNKNOWN, dual_bound=0.5, seconds=1.0
        ),
    )
    result = solved(SKIP, 7)
    assert result.schedule is None
    assert (result.status, result.termination) == ("bounded", Termination.TIME_LIMIT)
    assert result.lower_bound_ns == 6
    assert result.note == "no schedule was found before the end of the search"


def test_a_relaxation_that_is_cut_short_bounds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(
        monkeypatch,
        lambda solution: ModelSolution(
            termination=Termination.TIME_LIMIT, answer=Answer.FEASIBLE, objective=1.0, seconds=1.0
        ),
    )
    result = bounded(SKIP, 7)
    assert (result.status, result.termination) == ("unknown", Termination.TIME_LIMIT)
    assert result.lower_bound_ns == 5


def test_a_schedule_overrules_a_solver_that_claims_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(
        monkeypatch,
        lambda solution: ModelSolution(
            termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=1.0
        ),
    )
    # The search for a memory that would do (b is read from a: 30 + 41) does not need 76 bytes.
    result = solved(_skip(10, more=1), 75)
    assert (result.time_ns, result.peak_bytes, result.status) == (7, 71, "feasible")
    assert result.termination is Termination.ERROR


def test_a_schedule_over_the_limit_by_less_than_the_solver_sees_is_replaced() -> None:
    # Eight units of 2^45 bytes and one byte more: in a model of 2^29 units the byte is lost, and a
    # limit of eight units looks like enough for everything.
    graph = _skip(2**45, more=1)
    result = solved(graph, 8 * 2**45)
    assert (result.time_ns, result.peak_bytes) == (7, 7 * 2**45 + 1)
    # The bound is that of the model that lost the byte.
    assert (result.lower_bound_ns, result.status) == (5, "feasible")


def test_a_run_that_stopped_at_the_gap_with_too_large_a_schedule_is_not_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopping(
        model: ArrayModel,
        options: HighsOptions,
        on_progress: Callable[[ModelProgress], None],
        *,
        stop: threading.Event,
    ) -> ModelSolution:
        solution = solve_model(model, options, on_progress)
        assert stop.is_set()
        return replace(solution, termination=Termination.INTERRUPTED)

    monkeypatch.setattr(checkmate, "solve_in_time", stopping)
    # Nobody pressed Ctrl-C: the first schedule, a byte too large, is replaced as in the test above.
    assert solved(_skip(2**45, more=1), 8 * 2**45).time_ns == 7


def test_sizes_that_the_model_holds_exactly_need_no_second_run() -> None:
    # 2^27 + 1 bytes in units of one byte.
    result = solved(_skip(2**25, more=1), 8 * 2**25)
    assert (result.time_ns, result.lower_bound_ns, result.status) == (7, 7, "optimal-staged")


def test_a_model_that_takes_longer_to_write_than_there_is_time_is_declined() -> None:
    nodes = tuple(
        Node(name=f"{k}", duration_ns=1, output_bytes=1, inputs=(f"{k - 1}",) if k else ())
        for k in range(20)
    )
    graph = Graph("path", (*nodes, Node(name="last", duration_ns=1, output_bytes=1, inputs=("0",))))
    for result in (
        solved(graph, 2, replace(EXACT, time_limit_s=1e-3)),
        bounded(graph, 2, replace(EXACT, time_limit_s=1e-3)),
    ):
        assert (result.status, result.termination) == ("unknown", Termination.TIME_LIMIT)
        assert result.note is not None
        assert "use another method" in result.note


def test_a_model_too_large_for_memory_is_declined_with_its_size() -> None:
    nodes = tuple(
        Node(name=f"{k}", duration_ns=1, output_bytes=1, inputs=(f"{k - 1}",) if k else ())
        for k in range(1200)
    )
    graph = Graph("path", (*nodes, Node(name="last", duration_ns=1, output_bytes=1, inputs=("0",))))
    outcome: Outcome = checkmate.solve_checkmate(RematGraph(graph, 2), EXACT)
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.note is not None
    assert "coefficients" in outcome.note


def test_limits_of_the_models_that_are_written_are_parameters() -> None:
    problem = RematGraph(SKIP, 7)
    for solve in (checkmate.solve_checkmate, checkmate.bound_checkmate_lp):
        outcome = solve(problem, EXACT, LeastMemoryParams(most_coefficients=10))
        assert outcome.termination is Termination.MEMORY_LIMIT
        assert outcome.note is not None
        assert "more than the 10 that are tried" in outcome.note


def test_highs_begins_from_a_staged_start(monkeypatch: pytest.MonkeyPatch) -> None:
    best = solved(SKIP, 7, EXACT)
    assert best.schedule is not None
    starts: list[tuple[float, ...]] = []

    def note(model: ArrayModel, options: HighsOptions, *rest: Any, **named: Any) -> ModelSolution:
        start = options.start_for(model)
        assert start is not None
        assert not np.isnan(start).all()
        # The point of the start: HiGHS may look at no node of its own.
        starts.append(tuple(start))
        return solve_model(model, replace(options, node_limit=0), *rest, **named)

    monkeypatch.setattr(checkmate, "solve_in_time", note)
    outcome = checkmate.solve_checkmate(RematGraph(SKIP, 7), replace(EXACT, start=best.schedule))
    assert len(starts) == 1
    assert outcome.schedule is not None
    assert outcome.schedule.replay(SKIP).time_ns == best.time_ns


@st.composite
def any_remat_graphs(draw: st.DrawFn) -> RematGraph:
    graph = draw(graphs())
    return RematGraph(graph, draw(st.integers(0, graph.store_all_peak_bytes)))


@given(tight_remat_graphs() | any_remat_graphs())
@settings(max_examples=200)
def test_the_optimum_is_that_of_the_brute_force(problem: RematGraph) -> None:
    graph, memory_bytes = problem.instance, problem.memory_bytes
    result = solved(graph, memory_bytes)
    expected_ns = least_staged_time_ns(graph, memory_bytes)
    relaxed = bounded(graph, memory_bytes)
    if expected_ns is None:
        assert result.schedule is None
        assert result.infeasibility is not None
        proof = result.infeasibility
        assert proof.is_exact
        assert memory_bytes < proof.least_memory_bytes == least_staged_memory_bytes(graph)
        if proof.valid_for is ScheduleClass.ALL:
            assert memory_bytes < least_memory_bytes(graph)
        return
    assert result.time_ns == result.lower_bound_ns == expected_ns
    assert result.peak_bytes is not None
    assert result.peak_bytes <= memory_bytes
    any_order_ns = least_time_ns(graph, memory_bytes)
    assert any_order_ns is not None
    assert any_order_ns <= expected_ns
    assert relaxed.infeasibility is None
    assert relaxed.lower_bound_ns is not None
    assert relaxed.lower_bound_ns <= expected_ns


def test_more_memory_never_costs_time() -> None:
    generator = np.random.default_rng(7)
    nodes = []
    for k in range(8):
        read = [f"{j}" for j in range(k) if generator.random() < 0.5]
        nodes.append(
            Node(
                name=f"{k}",
                duration_ns=int(generator.integers(1, 9)),
                output_bytes=int(generator.integers(1, 6)),
                inputs=tuple(read),
                keep=k == 3,
            )
        )
    graph = Graph("random", tuple(nodes))
    least = least_staged_memory_bytes(graph)
    times = [solved(graph, memory).time_ns for memory in range(least, graph.store_all_peak_bytes)]
    assert None not in times
    assert times == sorted(times, reverse=True)  # type: ignore[type-var]
    assert times[0] > times[-1] > graph.base_time_ns


def test_vgg16_of_the_published_instances_at_90_percent_is_solved_to_the_known_optimum(
    shared_data: Path,
) -> None:
    path = shared_data / "moccasin" / "VGG16__MLSys__256__224__224__3__train_nx.json"
    result = solved(import_networkx_graph(path), "90%")
    # 1.9677 % over the 15500 of the step without recomputation is 305.
    assert (result.time_ns, result.lower_bound_ns) == (15805, 15805)
    assert result.status == "optimal-staged"
