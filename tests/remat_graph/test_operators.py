from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import RematGraph
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.formulations.remat_graph.checkmate_writer import Aggregated, Disaggregated
from jettison.formulations.remat_graph.windows.presets import Frontier, Residency, SingleCut
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult
from jettison.schedules.core.replay import Rule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.method import Method, Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.methods import METHODS
from tests.remat_graph.oracles.brute_force_of_runs import least_time_of_runs_ns
from tests.remat_graph.result_graphs import graph_of_runs, some_computed_once

# Three bytes of results and one of workspace; late reads what is dropped after the first read.
NODES = (
    Node(
        name="split",
        duration_ns=5,
        workspace_bytes=1,
        results=(
            OperatorResult(name="big", output_bytes=2),
            OperatorResult(name="small", output_bytes=1),
        ),
    ),
    Node(name="middle", duration_ns=1, output_bytes=2, inputs=("small",)),
    Node(name="late", duration_ns=1, output_bytes=1, inputs=("big", "middle"), keep=True),
)
GRAPH = Graph("split", NODES)
# As they stand in the graph: the operator without a value, and its results.
RUN = GRAPH.nodes
# Classes that schedules of these oracles need not be in.
NARROW = {ScheduleClass.SAVED_OR_ONCE, ScheduleClass.ONCE}


def compute(*computations: int) -> GraphSchedule:
    return GraphSchedule.from_computations(GRAPH, computations)


def test_a_file_lists_the_results_with_their_operator() -> None:
    document = GRAPH.to_json()
    assert Graph.from_json(document) == GRAPH
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    assert [node["name"] for node in nodes] == ["split", "middle", "late"]
    assert nodes[0]["results"] == [
        {"name": "big", "output_bytes": 2, "keep": False},
        {"name": "small", "output_bytes": 1, "keep": False},
    ]
    assert "output_bytes" not in nodes[0]
    assert GRAPH.given_nodes == NODES


def test_results_that_are_listed_as_nodes_mean_the_same() -> None:
    document = GRAPH.to_json()
    head = {"duration_ns": 5, "output_bytes": 0, "workspace_bytes": 4, "has_value": False}
    listed = [
        {"name": "split", **head},
        *(
            {
                "name": name,
                "duration_ns": 0,
                "output_bytes": size,
                "inputs": ["split"],
                "result_of": "split",
            }
            for name, size in (("big", 2), ("small", 1))
        ),
    ]
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    found = Graph.from_json({**document, "nodes": [*listed, *nodes[1:]]})
    assert found == GRAPH
    assert found.to_json() == document


def test_the_results_are_counted_once() -> None:
    # split: its workspace, 4. small is computed beside big: 3. middle: 2 + 1 + 2. late: 2 + 2 + 1.
    replay = compute(0, 1, 2, 3, 4).replay(GRAPH)
    assert replay.valid
    assert [step.during_bytes for step in replay.steps if step.operation.startswith("compute")] == [
        4,
        2,
        3,
        5,
        5,
    ]
    assert GRAPH.store_all_peak_bytes == replay.peak_bytes == 5


def test_some_results_of_a_second_run_may_be_left_out() -> None:
    replay = compute(0, 1, 2, 3, 0, 1, 4).replay(GRAPH)
    assert replay.valid
    assert replay.time_ns == GRAPH.base_time_ns + 5
    assert replay.schedule_class is ScheduleClass.STAGED


@pytest.mark.parametrize(
    "computations",
    [(0, 1, 2, 3, 1, 4), (0, 2, 1, 3, 4), (0, 1, 2, 3, 0, 3, 1, 4)],
    ids=["without the operator", "descending", "after another node"],
)
def test_a_result_comes_only_in_the_run_of_its_operator(computations: tuple[int, ...]) -> None:
    replay = GraphSchedule.from_computations(GRAPH, computations).replay(GRAPH)
    assert Rule.INPUT_MISSING in {violation.rule for violation in replay.violations}


def test_a_run_that_is_cut_in_two_is_not_staged() -> None:
    replay = compute(0, 1, 0, 2, 3, 4).replay(GRAPH)
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.IN_ORDER


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((replace(RUN[0], workspace_bytes=2), *RUN[1:]), "include the results"),
        ((RUN[0],), "list its results"),
        ((*RUN[:2], replace(RUN[3], inputs=("big",)), RUN[2]), "list its results"),
        ((*RUN[:3], replace(RUN[3], inputs=("split",))), "list its results"),
        ((NODES[0], replace(NODES[1], inputs=("split",))), "list its results"),
        ((*NODES, replace(NODES[1], name="big")), "is also the name"),
    ],
)
def test_a_graph_whose_results_do_not_follow_their_operator_is_refused(
    nodes: tuple[Node, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message.replace("'", ".")):
        Graph("wrong", nodes)


@pytest.mark.parametrize("field", [{"output_bytes": 1}, {"keep": True}])
def test_a_node_without_a_value_has_nothing_to_keep(field: dict[str, int]) -> None:
    with pytest.raises(InputError, match="has no value of its own"):
        replace(RUN[0], **field)


@pytest.mark.parametrize(
    "field", [{"output_bytes": 1}, {"keep": True}, {"has_value": False}, {"result_of": "x"}]
)
def test_a_node_with_results_has_no_value_of_its_own(field: dict[str, int]) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(field))}: 'split' has several results"):
        replace(NODES[0], inputs=("x",), workspace_bytes=0, duration_ns=0, **field)


def test_a_result_cannot_be_marked_as_computed_once() -> None:
    with pytest.raises(InputError, match=r"^again: false for a result of 'split'; mark the oper"):
        replace(RUN[1], again=False)


def random_problems(first: int, number: int) -> list[RematGraph]:
    """Return graphs of up to six operators in less memory than without recomputation.

    Of every second one some operators are computed once.
    """
    found = []
    for seed in range(first, first + number):
        graph = graph_of_runs(seed, 6)
        if seed % 2:
            graph = some_computed_once(graph, random.Random(seed))
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        found += [RematGraph(graph, m) for m in sorted({least, (least + most) // 2}) if m < most]
    return found


def optimum_ns(problem: RematGraph, built: object) -> int | None:
    model = from_pulp(built.problem).model if hasattr(built, "problem") else built.model  # type: ignore[attr-defined]
    objective = solve_model(model, HighsOptions(gap=0)).objective
    if objective is None:
        return None
    return problem.instance.base_time_ns + built.time_scale.from_model(objective)  # type: ignore[attr-defined]


def test_exact_models_have_the_optimum_of_the_brute_force_and_others_are_below() -> None:
    hard = infeasible = 0
    for problem in random_problems(0, 16):
        document = problem.instance.to_json()
        expected = least_time_of_runs_ns(document, problem.memory_bytes, staged=True)
        for choice in (Checkmate(Aggregated()), Checkmate(Disaggregated()), Residency()):
            assert optimum_ns(problem, choice.build(problem)) == expected, (choice, problem)
        infeasible += expected is None
        if expected is not None:
            hard += expected > problem.instance.base_time_ns
            for cut in range(len(problem.instance)):
                below = optimum_ns(problem, SingleCut(cut).build(problem))
                assert below is not None
                assert below <= expected, (cut, problem)
            below = optimum_ns(problem, Frontier().build(problem))
            assert below is not None
            assert below <= expected, problem
    # The cases are no formality.
    assert hard > 3
    assert infeasible > 3


# Methods that search for longer than tiny graphs need, by name, with parameters of short searches.
SHORT = {"anneal": {"rounds": 4}, "orders": {"rounds": 1, "starts": 1, "steps": 1}}


def quick(method: Method[RematGraph]) -> Method[RematGraph]:
    return method.with_params(SHORT[method.name]) if method.name in SHORT else method


def test_bounds_are_below_the_brute_force_and_schedules_are_not() -> None:
    hard = 0
    for problem in random_problems(100, 12):
        document = problem.instance.to_json()
        staged = least_time_of_runs_ns(document, problem.memory_bytes, staged=True)
        best = least_time_of_runs_ns(document, problem.memory_bytes, staged=False)
        for method in map(quick, METHODS):
            outcome = method.run(problem, SolveOptions(time_limit_s=10))
            where = (method.name, problem)
            for bound in outcome.bounds:
                if bound.valid_for in NARROW:
                    # The best of such a class may be slower than the best staged schedule.
                    continue
                limit = best if bound.valid_for is ScheduleClass.ALL else staged
                assert limit is None or bound.time_ns <= limit, where
            proof = outcome.infeasibility
            if proof is not None and proof.valid_for not in NARROW:
                is_for_all = proof.valid_for is ScheduleClass.ALL
                assert (best if is_for_all else staged) is None, where
            if outcome.schedule is not None:
                assert isinstance(outcome.schedule, GraphSchedule)
                replay = outcome.schedule.replay(problem.instance, problem.memory_bytes)
                assert replay.valid, where
                assert best is not None
                assert best <= replay.time_ns, where
                if method.promise is Promise.EXACT_STAGED and staged is not None:
                    assert replay.time_ns <= staged, where
                    hard += staged > problem.instance.base_time_ns
            elif method.promise is Promise.EXACT_STAGED:
                assert staged is None, where
    assert hard > 3
