"""The class saved-or-once: who belongs to it, its optimum, its bounds, and where it stands."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import Graph, RematGraph, ScheduleClass
from jettison.formulations.remat_graph.recomputation import SavedOrOnce
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.formulations.remat_graph.windows.presets import SavedBetweenPasses
from jettison.instances.core.errors import InputError
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.named_steps import tight_named_step
from tests.remat_graph.oracles.saved_or_once_by_choices import least_saved_or_once_time_ns
from tests.tiny import DIAMOND

EXACT = SolveOptions(time_limit_s=None, gap=0)
PLANNERS = ("torch-min-cut-dp", "torch-min-cut-greedy", "selective-blocks", "selective-products")


def _step(*inputs: tuple[str, ...], forward: int = 3) -> Graph:
    return Graph(
        "by hand",
        tuple(
            Node(
                name=f"{place}",
                duration_ns=1,
                output_bytes=2,
                inputs=read,
                backward=place >= forward,
            )
            for place, read in enumerate(inputs)
        ),
    )


# 0, 1, 2 forward; 3 reads 2, 4 reads 1 and 3, 5 reads 0, 1 and 4.
STEP = _step((), ("0",), ("1",), ("2",), ("1", "3"), ("0", "1", "4"))


@pytest.mark.parametrize(
    ("computations", "expected"),
    [
        ((0, 1, 2, 3, 4, 5), ScheduleClass.SAVED_OR_ONCE),
        # 0 and 1 are dropped in the forward pass and computed again before 4.
        ((0, 1, 2, 3, 0, 1, 4, 5), ScheduleClass.SAVED_OR_ONCE),
        # 1 is saved for 4, and computed again for 5 all the same.
        ((0, 1, 2, 3, 4, 0, 1, 5), ScheduleClass.STAGED),
        # 0 is computed again twice.
        ((0, 1, 2, 3, 0, 1, 4, 0, 5), ScheduleClass.STAGED),
        # Within the forward pass.
        ((0, 1, 0, 2, 3, 4, 5), ScheduleClass.STAGED),
        # The backward pass is repeated.
        ((0, 1, 2, 3, 4, 3, 5), ScheduleClass.STAGED),
        ((1, 0, 2, 3, 4, 5), ScheduleClass.ALL),
    ],
)
def test_the_replay_says_which_schedules_belong_to_it(
    computations: tuple[int, ...], expected: ScheduleClass
) -> None:
    from jettison.schedules.remat_graph.schedule import narrowest_class

    assert narrowest_class(STEP, computations) is expected


def test_without_marks_of_the_backward_pass_nothing_belongs_to_it() -> None:
    replay = GraphSchedule.from_computations(DIAMOND, range(len(DIAMOND))).replay(DIAMOND)
    assert replay.schedule_class is ScheduleClass.STAGED
    result = solve_with(
        RematGraph(DIAMOND, DIAMOND.store_all_peak_bytes - 1), "saved-or-once", EXACT
    )
    assert result.schedule is None
    assert "no operation has the mark of the backward pass" in (result.note or "")


def test_it_covers_itself_and_lies_within_staged_schedules() -> None:
    inner = ScheduleClass.SAVED_OR_ONCE
    for wider in (ScheduleClass.STAGED, ScheduleClass.IN_ORDER, ScheduleClass.ALL):
        assert wider.covers(inner)
        assert not inner.covers(wider)


def test_its_optimum_is_that_of_all_choices() -> None:
    chance = random.Random(5)
    solved = 0
    for case in range(25):
        forward = 4 if case == 0 else chance.randint(2, 3)
        problem = tight_named_step(chance, forward, with_results=False)
        expected = least_saved_or_once_time_ns(problem.instance, problem.memory_bytes)
        result = solve_with(problem, "saved-or-once", EXACT)
        assert result.termination is Termination.COMPLETED, case
        assert result.time_ns == expected, case
        if expected is None:
            assert result.infeasibility is not None, case
            assert result.infeasibility.valid_for.covers(ScheduleClass.SAVED_OR_ONCE), case
            continue
        assert result.replay is not None
        assert result.replay.schedule_class is ScheduleClass.SAVED_OR_ONCE, case
        assert result.lower_bound_ns == expected, case
        solved += expected > problem.instance.base_time_ns
    assert solved > 3


def test_the_full_model_has_the_optimum_of_all_choices() -> None:
    chance = random.Random(6)
    for case in range(40):
        problem = tight_named_step(chance, 3, with_results=False)
        graph = problem.instance
        built = SavedBetweenPasses().build(problem)
        solution = solve_model(built.model, HighsOptions())
        expected = least_saved_or_once_time_ns(graph, problem.memory_bytes)
        if expected is None:
            assert solution.values is None, case
            continue
        assert solution.values is not None, case
        computations = built.computations(solution.values)
        replay = GraphSchedule.from_computations(graph, computations).replay(
            graph, problem.memory_bytes
        )
        assert replay.valid, case
        assert replay.time_ns == expected, case
        assert replay.schedule_class is ScheduleClass.SAVED_OR_ONCE, case


def test_it_is_between_the_best_of_all_and_every_planner() -> None:
    chance = random.Random(7)
    planned = apart = 0
    for case in range(24):
        problem = tight_named_step(chance, chance.randint(4, 7))
        own = solve_with(problem, "saved-or-once", EXACT)
        planners = [solve_with(problem, name, EXACT) for name in PLANNERS]
        if own.time_ns is None:
            assert all(found.schedule is None for found in planners), case
            continue
        restricted = solve_with(problem, "restricted", EXACT)
        best = solve_with(problem, "exact", replace(EXACT, time_limit_s=20))
        assert best.time_ns is not None, case
        assert restricted.time_ns is not None, case
        assert best.time_ns <= restricted.time_ns <= own.time_ns, case
        apart += restricted.time_ns < own.time_ns
        for found in planners:
            if found.replay is None:
                continue
            planned += 1
            assert found.replay.schedule_class is ScheduleClass.SAVED_OR_ONCE, case
            # A planner that was faster than the bound of the class would raise an error.
            assert found.with_bounds(own.bounds).time_ns >= own.time_ns, case
    assert planned > 12
    assert apart > 0


def test_rows_once_are_named_after_their_nodes_and_the_boundary_is_a_cut() -> None:
    problem = RematGraph(STEP, 10)
    model = SavedBetweenPasses().build(problem).model
    assert {name for name in model.row_names if name.startswith("once_")} == {
        "once_0",
        "once_1",
        "once_2",
    }
    with pytest.raises(InputError, match="name 2, the last"):
        WindowedFrontier((1,), (), ScheduleClass.STAGED, SavedOrOnce()).build(problem)
