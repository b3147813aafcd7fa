"""The exact method for weight offloading: against the brute force, at its limits, and stopped."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.three_partition.offload_chain import shortest_period_ns, weight_offload_of
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload import local_search as weight_local_search
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns
from jettison.solvers.weight_offload.exact import method as weight_exact
from jettison.solvers.weight_offload.exact.method import solve_weight_exact
from jettison.solvers.weight_offload.exact.params import WeightExactParams
from jettison.solvers.weight_offload.exact.restarts import steps_from_new_starts
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.cyclic_referee import CyclicReferee
from tests.weight_offload.oracles.samples import sample

WITHOUT_LIMIT = SolveOptions(gap=0, time_limit_s=None)
EXACT = SolveOptions(time_limit_s=60, gap=0)


def period_ns(outcome: Outcome) -> int:
    assert isinstance(outcome.schedule, CyclicSchedule)
    return outcome.schedule.period_ns


def drawn(chance: random.Random, layers: int, unit_ns: int = 1) -> WeightOffload:
    """Layers of 1 to 10 units forward, 2 to 20 backward, 1 to 20 bytes at a byte per unit."""

    def amount(least: int, most: int) -> int:
        return chance.randint(least * unit_ns, most * unit_ns)

    stages = tuple(
        Stage(
            name=f"layer {number}",
            forward_ns=amount(1, 10),
            backward_ns=amount(2, 20),
            output_bytes=0,
            saved_bytes=amount(1, 4),
            weight_bytes=amount(1, 20),
        )
        for number in range(layers)
    )
    problem = WeightOffload(Chain("drawn", 0, stages), 10**15, 10**9)
    least_bytes = problem.cycle.least_memory_bytes
    spare_bytes = problem.cycle.no_offload_peak_bytes - least_bytes
    return replace(problem, memory=least_bytes + int(spare_bytes * chance.uniform(0, 0.7)))


@pytest.mark.parametrize(("layers", "count"), [(1, 60), (2, 150), (3, 40)])
def test_no_schedule_is_faster_and_one_is_as_fast(layers: int, count: int) -> None:
    chance = random.Random(10 + layers)
    for _ in range(count):
        longest_ns = chance.choice((1, 2, 4))
        problem = sample(chance, layers, longest_ns=longest_ns, most_bytes=chance.choice((2, 4)))
        outcome = solve_weight_exact(problem, EXACT)
        assert outcome.termination is Termination.COMPLETED
        assert [bound.time_ns for bound in outcome.bounds] == [period_ns(outcome)]
        assert period_ns(outcome) == least_period_ns(problem)
        assert isinstance(outcome.schedule, CyclicSchedule)
        replay = outcome.schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
        assert replay.valid
        assert CyclicReferee(problem).judge(outcome.schedule).is_valid


@pytest.mark.parametrize("layers", [4, 5, 6])
def test_random_steps_of_up_to_six_layers_are_solved(layers: int) -> None:
    chance = random.Random(layers)
    for _ in range(5):
        problem = drawn(chance, layers)
        result = solve_with(problem, "exact", EXACT)
        assert result.status == "optimal"
        assert result.time_ns is not None
        assert result.time_ns <= layer_to_layer(problem).period_ns


def test_it_starts_from_what_the_link_must_carry() -> None:
    # Two layers of 8 bytes and no time. B_2 with its gradient takes 16 of 16 bytes, and so does
    # B_1: both layers come back in every period, in 8 ns each.
    problem = layers_in(16, (0, 0, 0, 8), (0, 0, 0, 8))
    assert closed_form_ns(problem) == 16
    # The optimum is 16 too: w_2 moves out while w_1 moves in (8 ns), and the other way round.
    assert period_ns(solve_weight_exact(problem, EXACT)) == 16


def test_sizes_that_share_no_divisor_leave_at_most_the_gap() -> None:
    chance = random.Random(1)
    for _ in range(3):
        result = solve_with(drawn(chance, 4, unit_ns=100_003), "exact", SolveOptions(gap=1e-4))
        assert result.termination.is_regular
        assert result.gap is not None
        assert result.gap <= 1e-4


def test_progress_closes_in_from_both_sides() -> None:
    seen: list[Progress] = []
    problem = drawn(random.Random(3), 5)
    outcome = solve_weight_exact(problem, replace(EXACT, on_progress=seen.append))
    times = [item.time_ns for item in seen if item.time_ns is not None]
    bounds = [item.lower_bound_ns for item in seen if item.lower_bound_ns is not None]
    assert len(times) == len(bounds) == len(seen)
    assert times == sorted(times, reverse=True)
    assert bounds == sorted(bounds)
    assert times[0] == layer_to_layer(problem).period_ns
    assert times[-1] == bounds[-1] == period_ns(outcome)


def test_at_the_time_limit_the_best_schedule_and_a_bound_are_left() -> None:
    problem = drawn(random.Random(5), 8)
    outcome = solve_weight_exact(problem, SolveOptions(time_limit_s=1e-6, gap=0))
    assert outcome.termination is Termination.TIME_LIMIT
    assert period_ns(outcome) == layer_to_layer(problem).period_ns
    assert outcome.bounds[0].time_ns >= problem.instance.base_time_ns


def test_ctrl_c_leaves_the_best_schedule_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(weight_exact, "seek_step", interrupt)
    problem = drawn(random.Random(5), 5)
    outcome = solve_weight_exact(problem, EXACT)
    assert outcome.termination is Termination.INTERRUPTED
    assert period_ns(outcome) == layer_to_layer(problem).period_ns
    assert outcome.bounds[0].time_ns >= problem.instance.base_time_ns


def test_too_many_layers_get_no_worse_than_the_local_search_and_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weight_local_search, "schedules_of_baselines", lambda *_: ())
    params = {"starts_without_limit": 1, "most_in_vain": 50, "most_in_vain_of_start": 50}
    problem = drawn(random.Random(6), 40)
    result = solve_with(problem, "exact", WITHOUT_LIMIT, params)
    assert result.termination is Termination.NODE_LIMIT
    assert result.note == "at most 16 layers with weights are swept, and there are 40"
    assert result.replay is not None
    assert result.replay.valid
    searched = solve_with(problem, "local-search", WITHOUT_LIMIT, params)
    assert result.time_ns is not None
    assert searched.time_ns is not None
    assert result.time_ns <= searched.time_ns
    assert result.lower_bound_ns == searched.lower_bound_ns
    assert searched.lower_bound_ns is not None
    # The relaxation of AGG proves more here than the closed form.
    assert searched.lower_bound_ns > closed_form_ns(problem)


def test_a_step_in_too_many_states_ends_with_a_note_and_what_new_starts_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # At every cut a step of the shortest period in question can be in more than one state.
    params = WeightExactParams(most_beginnings=1, starts_without_limit=2, most_event_coefficients=1)
    problem = drawn(random.Random(5), 5)
    monkeypatch.setattr(weight_exact, "_search_locally", lambda *_: None)
    monkeypatch.setattr(weight_exact, "_improve", lambda *_: None)
    open_ended = solve_weight_exact(problem, WITHOUT_LIMIT, params)
    assert open_ended.termination is Termination.NODE_LIMIT
    assert open_ended.note is not None
    assert open_ended.note.startswith("wherever a step of ")
    assert open_ended.note.endswith(" ns is cut, it can be in more than 1 states there")
    # Nothing but the new starts has bettered L2L.
    assert period_ns(open_ended) < layer_to_layer(problem).period_ns


def test_a_step_in_too_many_states_is_solved_by_the_event_model_and_its_bound_says_so() -> None:
    problem = drawn(random.Random(5), 5)
    params = WeightExactParams(most_beginnings=1)
    outcome = solve_weight_exact(problem, WITHOUT_LIMIT, params)
    assert outcome.termination is Termination.COMPLETED
    assert period_ns(outcome) == period_ns(solve_weight_exact(problem, EXACT))
    by_sweeps, by_solver = outcome.bounds
    assert by_sweeps.evidence is Evidence.EXACT
    assert by_sweeps.time_ns < by_solver.time_ns == period_ns(outcome)
    assert by_solver.evidence is Evidence.SOLVER


@pytest.mark.parametrize(
    ("items", "longer_ns"),
    [
        # 33 + 29 + 38, 27 + 44 + 29 and 37 + 26 + 37 are 100.
        ((33, 27, 37, 29, 38, 26, 44, 29, 37), 0),
        # 47 needs 53 from two more: only 27 + 26 would do, and no item is 27.
        ((47, 28, 28, 26, 40, 26, 34, 33, 38), 1),
        # 48 needs 52, which is 26 + 26, and then 40 needs 60, where 26 + 34, 27 + 33, 28 + 32 and
        # so on are not there. 20 layers, 16 of which have weights: as many as a sweep takes.
        ((35, 28, 40, 48, 33, 35, 41, 26, 33, 26, 29, 26), 1),
    ],
    ids=["yes", "no", "no of four groups"],
)
def test_chains_of_three_and_four_groups_are_proved_in_exact_arithmetic(
    items: tuple[int, ...], longer_ns: int
) -> None:
    # It takes up to 3 CPU seconds each. Local search does not find the 600 ns of the yes, and that
    # no step of a no takes 600 or 800 ns is what no relaxation here shows.
    instance = ThreePartition("groups", items, 100)
    outcome = solve_weight_exact(weight_offload_of(instance), WITHOUT_LIMIT)
    assert outcome.termination is Termination.COMPLETED
    assert period_ns(outcome) == shortest_period_ns(instance) + longer_ns
    (bound,) = outcome.bounds
    assert bound.time_ns == period_ns(outcome)
    assert bound.evidence is Evidence.EXACT


def test_new_starts_are_valid_steps_and_the_same_for_a_seed() -> None:
    problem = drawn(random.Random(3), 6)
    floor_ns = closed_form_ns(problem)
    first = list(islice(steps_from_new_starts(problem, floor_ns, 1, Clock(None)), 4))
    again = list(islice(steps_from_new_starts(problem, floor_ns, 1, Clock(None)), 4))
    assert first == again
    for schedule in first:
        assert schedule.replay(problem.cycle, problem.link, problem.memory_bytes).valid
    assert not list(steps_from_new_starts(problem, floor_ns, 1, Clock(0)))


def test_a_new_start_that_reaches_the_floor_ends() -> None:
    problem = drawn(random.Random(3), 6)
    floor_ns = layer_to_layer(problem).period_ns
    steps = list(islice(steps_from_new_starts(problem, floor_ns, 1, Clock(None)), 2))
    assert all(schedule.period_ns <= floor_ns for schedule in steps)


def test_too_little_memory_is_refused_with_what_would_do() -> None:
    problem = drawn(random.Random(7), 4)
    least_bytes = problem.cycle.least_memory_bytes
    outcome = solve_weight_exact(replace(problem, memory=least_bytes - 1), EXACT)
    assert outcome.schedule is None
    assert outcome.infeasibility is not None
    assert outcome.infeasibility.least_memory_bytes == least_bytes


def test_schedules_and_bounds_are_told_while_it_runs_and_it_begins_from_a_start() -> None:
    problem = drawn(random.Random(3), 5)
    schedules: list[int] = []
    bounds: list[int] = []
    told = replace(
        EXACT,
        on_schedule=lambda _, replay: schedules.append(replay.time_ns),
        on_bound=lambda bound: bounds.append(bound.time_ns),
    )
    best = solve_weight_exact(problem, told)
    # That of L2L, and a better one; the closed form, and what sweeps prove.
    assert len(schedules) >= 2
    assert len(set(bounds)) >= 2
    assert schedules[0] == layer_to_layer(problem).period_ns
    assert schedules[-1] == bounds[-1] == period_ns(best)
    assert schedules == sorted(schedules, reverse=True)
    schedules.clear()
    again = solve_weight_exact(problem, replace(told, start=best.schedule))
    assert set(schedules) == {period_ns(best)} == {period_ns(again)}
