"""The least recomputation of a graph: equal to the brute force, and something at any time."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from jettison import Chain, Graph, RematGraph, Result, ScheduleClass, load
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.remat_graph import GraphSchedule, Node, chain_to_graph
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.search import Incumbent, search_in_rounds
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.tolerance import BELOW_TOLERANCE
from jettison.solvers.remat_graph.baselines.dtr import solve_dtr
from jettison.solvers.remat_graph.cuts.exact_method import CutRounds, solve_graph_exact
from jettison.solvers.remat_graph.cuts.params import ExactParams
from jettison.solvers.remat_graph.presolve.presolved import presolve
from tests.core.bound_runs import EXACT
from tests.core.other_machines import MACHINES, without_seconds
from tests.drawing.graphs import tight, tight_remat_graphs
from tests.remat_graph.cuts.test_cut_bound import BACKWARDS
from tests.remat_graph.oracles.brute_force import least_in_order_time_ns, least_staged_time_ns
from tests.tiny import SKIP

BASELINES = (
    *("store-all", "recompute-all", "dtr", "ap-chen-greedy", "chen-greedy", "ap-chen-sqrt"),
    *("chen-sqrt", "linearized-griewank", "last-node"),
)
# Where the method runs its rounds.
ROUNDS = "jettison.solvers.remat_graph.cuts.exact_method.search_in_rounds"
# Shares of the work that end runs early, and much that is annealed beside them.
SMALL_SHARES = ExactParams(least_moves=20_000, moves_at_once=500)
IN_500_S = SolveOptions(time_limit_s=500.0)
NO_POINT = ModelSolution(termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=0.0)


@settings(max_examples=150)
@given(tight_remat_graphs(max_nodes=5))
def test_it_is_the_optimum_of_the_class_that_its_bound_holds_for(problem: RematGraph) -> None:
    result = solve_with(problem, "exact", EXACT)
    graph, memory_bytes = problem.instance, problem.memory_bytes
    if result.schedule is None:
        assert result.status in {"infeasible", "infeasible-staged"}
        assert least_staged_time_ns(graph, memory_bytes) is None
        return
    assert result.status in {"optimal", "optimal-in-order", "optimal-staged"}
    assert result.bound is not None
    if result.bound.valid_for is ScheduleClass.STAGED:
        assert result.time_ns == least_staged_time_ns(graph, memory_bytes)
    else:
        assert result.time_ns == least_in_order_time_ns(graph, memory_bytes)


def test_a_stage_where_memory_costs_nothing_is_cut_as_well() -> None:
    # While c runs, it takes 3 of the 4 bytes beside b, which it reads, so that a has to go. It
    # takes no time to compute a again for d: a byte costs nothing at c, and its stage has to be a
    # cut all the same. No staged schedule fits, and the search has to say so.
    nodes = (
        Node(name="a", duration_ns=0, output_bytes=1, workspace_bytes=2),
        Node(name="b", duration_ns=1, output_bytes=1, inputs=("a",), keep=True),
        Node(name="c", duration_ns=0, output_bytes=2, inputs=("b",), workspace_bytes=1),
        Node(name="d", duration_ns=0, output_bytes=1, inputs=("a", "c")),
        Node(name="e", duration_ns=0, output_bytes=1, inputs=("a", "d")),
    )
    graph = Graph(name="free", nodes=nodes)
    result = solve_with(RematGraph(graph, 4), "exact", EXACT)
    assert least_staged_time_ns(graph, 4) is None
    assert result.status == "infeasible-staged"


def test_a_schedule_that_is_in_order_but_not_staged_is_not_promised() -> None:
    # In 6 bytes only a schedule that recomputes d before c fits: no staged one does.
    result = solve_with(RematGraph(BACKWARDS, 6), "exact", EXACT)
    assert result.status == "infeasible-staged"


def test_when_the_rounds_do_not_end_the_annealing_finds_a_schedule() -> None:
    # a is computed again for d: 2 ns more than the 5 ns of all operations.
    problem = RematGraph(SKIP, 7)
    with patch(ROUNDS, return_value=Termination.TIME_LIMIT):
        result = solve_with(problem, "exact", SolveOptions(time_limit_s=5))
    assert result.time_ns == 7
    assert result.lower_bound_ns == 5
    assert result.status == "feasible"


def test_an_interrupt_keeps_the_bounds() -> None:
    with patch(ROUNDS, side_effect=KeyboardInterrupt):
        result = solve_with(RematGraph(SKIP, 7), "exact", EXACT)
    assert result.termination is Termination.INTERRUPTED
    assert result.lower_bound_ns == 5


def test_a_known_schedule_refutes_a_model_that_is_called_infeasible() -> None:
    # a is computed again for d, in 7 bytes: the solver's word against a schedule that fits.
    problem, clock = RematGraph(SKIP, 7), Clock(None)
    rounds = CutRounds(problem, EXACT, clock, "exact", ExactParams())
    rounds.annealing.find_first()
    # The bound of the relaxation, which would settle it, is not looked at.
    silent = patch("jettison.solvers.remat_graph.cuts.exact_method.GraphModelRuns.prove")
    with silent, patch.object(rounds, "solve", return_value=NO_POINT):
        termination = search_in_rounds(rounds, rounds.incumbent, clock)
    assert termination is Termination.ERROR
    assert rounds.infeasibility is None
    assert rounds.incumbent.time_ns == 7


def test_a_schedule_in_order_is_handed_out_where_no_staged_one_is() -> None:
    proof = Infeasibility(
        valid_for=ScheduleClass.STAGED,
        least_memory_bytes=8,
        is_exact=False,
        evidence=Evidence.SOLVER,
    )

    def without_a_point(rounds: CutRounds, *_: object) -> Termination:
        rounds.infeasibility = proof
        return Termination.COMPLETED

    with patch(ROUNDS, without_a_point):
        result = solve_with(RematGraph(SKIP, 7), "exact", EXACT)
    assert result.infeasibility is None
    assert result.time_ns == 7


def test_by_default_a_search_ends_with_a_proof() -> None:
    # Annealing is within 1e-4 of the time of a step of this bound before it is the optimum.
    problem = RematGraph(LayeredGraphs(nodes=64, passes=Passes.TRAINING).draw(0), "90%")
    result = solve_with(problem, "exact", SolveOptions())
    assert (result.gap, result.termination) == (0, Termination.COMPLETED)
    assert result.status == "optimal-in-order"


def test_a_search_that_reached_the_gap_is_not_out_of_time() -> None:
    problem = RematGraph(LayeredGraphs(nodes=64, passes=Passes.TRAINING).draw(0), "60%")
    result = solve_with(problem, "exact", SolveOptions(gap=0.3))
    assert result.termination is Termination.GAP_REACHED
    assert result.gap is not None
    assert 0 < result.gap <= 0.3


@pytest.mark.parametrize(
    ("left", "note"),
    [(Termination.TIME_LIMIT, None), (Termination.ERROR, BELOW_TOLERANCE)],
)
def test_annealing_settles_what_the_models_left_open(left: Termination, note: str | None) -> None:
    def run(rounds: CutRounds, incumbent: Incumbent[GraphSchedule], clock: Clock) -> Termination:
        assert search_in_rounds(rounds, incumbent, clock) is Termination.COMPLETED
        # The bound stays, and annealing has to find the schedule that meets it once more.
        incumbent.schedule = incumbent.replay = None
        rounds.annealing.schedule = rounds.annealing.time_ns = None
        rounds.note = note
        return left

    problem = RematGraph(LayeredGraphs(nodes=20, passes=Passes.TRAINING).draw(0), "80%")
    with patch(ROUNDS, run):
        result = solve_with(problem, "exact", EXACT)
    assert result.status == "optimal-in-order"
    assert result.termination is Termination.COMPLETED
    assert result.note is None


def solved(problem: RematGraph, params: ExactParams, options: SolveOptions = IN_500_S) -> Result:
    """Solve with parameters that the command line does not give."""
    outcome = solve_graph_exact(problem, options, params)
    return Result.from_outcome(problem, "exact", outcome, 0.0)


@pytest.fixture(scope="module")
def work() -> RematGraph:
    """A search of several models, some of which are too large for their first share."""
    return RematGraph(LayeredGraphs(nodes=48, passes=Passes.TRAINING).draw(1), "60%")


@pytest.fixture(scope="module")
def undisturbed(work: RematGraph) -> str:
    """The result where shares of the work end runs early, and much is annealed beside them."""
    result = solved(work, SMALL_SHARES)
    assert result.answer is Answer.OPTIMAL
    # Beside the first round, which has 1440.
    assert result.work["moves"] > 50_000
    return without_seconds(result)


@pytest.mark.parametrize("clock", MACHINES)
def test_a_search_finds_the_same_on_faster_and_slower_machines(
    work: RematGraph, undisturbed: str, clock: type[Clock]
) -> None:
    with patch("jettison.solvers.remat_graph.cuts.exact_method.Clock", clock):
        again = solved(work, SMALL_SHARES)
    assert without_seconds(again) == undisturbed


def test_a_search_finds_the_same_under_load(work: RematGraph, undisturbed: str) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        again = solved(work, SMALL_SHARES)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert without_seconds(again) == undisturbed


def test_a_search_finds_the_same_with_its_models_in_a_process_of_their_own(
    work: RematGraph, undisturbed: str
) -> None:
    again = solved(work, replace(SMALL_SHARES, columns_for_a_child=150))
    assert without_seconds(again) == undisturbed


@pytest.mark.parametrize("name", ["resnet18-b4-224-cpu", "bert-base-b2-128-cpu"])
def test_what_is_handed_out_is_never_slower_than_a_baseline(name: str) -> None:
    chain = load(name)
    assert isinstance(chain, Chain)
    problem = RematGraph(chain_to_graph(chain), "90%")
    options = SolveOptions(time_limit_s=None)
    # No model may be built, so that annealing and the baselines are what is left.
    found = solved(problem, ExactParams(most_columns=1), options)
    assert found.time_ns is not None
    for method in ("anneal", *BASELINES):
        baseline_ns = solve_with(problem, method, options).time_ns
        assert baseline_ns is None or found.time_ns <= baseline_ns, method


def test_a_baseline_that_annealing_does_not_find_is_handed_out() -> None:
    # Annealing is not begun: only what DTR finds is there.
    problem = RematGraph(LayeredGraphs(nodes=40, passes=Passes.TRAINING).draw(2), "80%")
    options = SolveOptions(time_limit_s=None)
    dtr = solve_with(problem, "dtr", options)
    assert dtr.time_ns is not None
    with (
        patch(ROUNDS, return_value=Termination.ERROR),
        patch(
            "jettison.solvers.remat_graph.annealing.beside_models.GraphAnnealing.improve",
            return_value=False,
        ),
        patch("jettison.solvers.remat_graph.annealing.beside_models.GraphAnnealing.find_first"),
        patch("jettison.solvers.remat_graph.baselines.fallbacks.solve_anneal", solve_dtr),
    ):
        found = solve_with(problem, "exact", options)
    assert found.time_ns is not None
    assert found.time_ns <= dtr.time_ns


def test_the_exact_search_of_graphs_anneals_from_its_start_before_any_model() -> None:
    reduced = 0
    for seed in range(12):
        problem = tight(random.Random(seed), 12)
        best = solve_with(problem, "exact", EXACT)
        if best.schedule is None:
            continue
        rounds = CutRounds(problem, EXACT, Clock(None), "exact", ExactParams())
        reduced += len(presolve(problem).problem.instance) < len(problem.instance)
        rounds.incumbent.begin_from(best.schedule, GraphSchedule, ScheduleClass.IN_ORDER)
        rounds.anneal_from_the_start()
        assert rounds.annealing.time_ns == best.time_ns, seed
    assert reduced
