"""The least recomputation of a graph: equal to the brute force, and something at any time."""

from __future__ import annotations

import math
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.graph import Graph, Node
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Evidence
from jettison.solvers.clock import Clock
from jettison.solvers.graph_cut_search import CutSearch
from jettison.solvers.model_solution import ModelSolution
from jettison.solvers.outcome import Infeasibility, SolveOptions
from jettison.solvers.solve import solve_with
from jettison.solvers.solver_tolerance import BELOW_TOLERANCE
from jettison.solvers.status import Answer, Termination
from tests.oracles.graph_brute_force import least_in_order_time_ns, least_staged_time_ns
from tests.solvers.bound_runs import EXACT, SKIP
from tests.solvers.test_graph_cut_bound import BACKWARDS
from tests.tight_graphs import tight_remat_graphs

NO_POINT = ModelSolution(termination=Termination.COMPLETED, answer=Answer.INFEASIBLE, seconds=0.0)


@settings(max_examples=150, deadline=None)
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
    with patch(
        "jettison.solvers.graph_cut_search.CutSearch.run", return_value=Termination.TIME_LIMIT
    ):
        result = solve_with(problem, "exact", SolveOptions(time_limit_s=5))
    assert result.time_ns == 7
    assert result.lower_bound_ns == 5
    assert result.status == "feasible"


def test_an_interrupt_keeps_the_bounds() -> None:
    with patch("jettison.solvers.graph_cut_search.CutSearch.run", side_effect=KeyboardInterrupt):
        result = solve_with(RematGraph(SKIP, 7), "exact", EXACT)
    assert result.termination is Termination.INTERRUPTED
    assert result.lower_bound_ns == 5


def test_a_known_schedule_refutes_a_model_that_is_called_infeasible() -> None:
    # a is computed again for d, in 7 bytes: the solver's word against a schedule that fits.
    search = CutSearch(RematGraph(SKIP, 7), EXACT, Clock(None), "exact")
    search.incumbent.find_first()
    with patch.object(search, "_solve", return_value=NO_POINT):
        termination = search.run()
    assert termination is Termination.ERROR
    assert search.infeasibility is None
    assert search.incumbent.time_ns == 7


def test_a_schedule_in_order_is_handed_out_where_no_staged_one_is() -> None:
    proof = Infeasibility(
        valid_for=ScheduleClass.STAGED,
        least_memory_bytes=8,
        is_exact=False,
        evidence=Evidence.SOLVER,
    )

    def run(search: CutSearch) -> Termination:
        search.incumbent.find_first()
        search.infeasibility = proof
        return Termination.COMPLETED

    with patch("jettison.solvers.graph_cut_search.CutSearch.run", run):
        result = solve_with(RematGraph(SKIP, 7), "exact", EXACT)
    assert result.infeasibility is None
    assert result.time_ns == 7


def test_what_can_be_proved_at_once_is_not_left_at_the_gap() -> None:
    # Annealing is within the default gap of this bound, 1e-4 of a step, before it is the optimum.
    problem = RematGraph(LayeredGraphs(nodes=64, passes=Passes.TRAINING).draw(0), "90%")
    with patch("jettison.solvers.graph_cut_search._CPU_SECONDS_FOR_A_PROOF", math.inf):
        result = solve_with(problem, "exact", SolveOptions())
    assert result.gap == 0
    assert result.status == "optimal-in-order"


@pytest.mark.parametrize(
    ("left", "note"),
    [(Termination.TIME_LIMIT, None), (Termination.ERROR, BELOW_TOLERANCE)],
)
def test_annealing_settles_what_the_models_left_open(left: Termination, note: str | None) -> None:
    models = CutSearch.run

    def run(search: CutSearch) -> Termination:
        assert models(search) is Termination.COMPLETED
        # The bound stays, and annealing has to find the schedule that meets it once more.
        search.incumbent.schedule = search.incumbent.time_ns = None
        search.note = note
        return left

    problem = RematGraph(LayeredGraphs(nodes=20, passes=Passes.TRAINING).draw(0), "80%")
    with patch("jettison.solvers.graph_cut_search.CutSearch.run", run):
        result = solve_with(problem, "exact", EXACT)
    assert result.status == "optimal-in-order"
    assert result.termination is Termination.COMPLETED
    assert result.note is None


class BusyClock(Clock):
    """The clock of a machine that does much besides: ten seconds pass for one."""

    @property
    def seconds(self) -> float:
        return 10 * super().seconds


def test_a_short_search_finds_the_same_on_a_busy_machine() -> None:
    options = SolveOptions(time_limit_s=1000.0, gap=0.0)
    for seed, memory in product(range(2), ("60%", "70%")):
        graph = LayeredGraphs(nodes=40, passes=Passes.TRAINING).draw(seed)
        problem = RematGraph(graph, memory)
        idle = solve_with(problem, "exact", options)
        with patch("jettison.solvers.graph_exact.Clock", BusyClock):
            busy = solve_with(problem, "exact", options)
        assert busy.bounds == idle.bounds
        assert busy.schedule == idle.schedule
        assert busy.work["moves"] == idle.work["moves"]
