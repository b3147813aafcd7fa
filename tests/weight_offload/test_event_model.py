"""The exact model over events: against the brute force, its traps, its variants and its files."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.timed_events.least_period import (
    EventMilp,
    EventModel,
    GivenPeriod,
    LeastPeriod,
    OmittedRow,
    ValidRow,
    WithoutIdle,
)
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.weight_offload.events.event_order import EventOrder
from jettison.solvers.weight_offload.events.order_of_schedule import order_of_schedule, start_point
from jettison.solvers.weight_offload.exact.method import solve_weight_exact
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.cyclic_referee import CyclicReferee
from tests.weight_offload.oracles.samples import sample

STRONG = frozenset(ValidRow)
OPTIONS = HighsOptions(gap=0, feasibility_tolerance=1e-9)


def samples(layers: int, seed: int) -> Iterable[WeightOffload]:
    chance = random.Random(seed)
    while True:
        longest_ns, most_bytes = chance.choice((1, 2, 4)), chance.choice((2, 4))
        yield sample(chance, layers, longest_ns=longest_ns, most_bytes=most_bytes)


def solved(problem: WeightOffload, milp: EventMilp) -> tuple[EventModel, ArrayModel, ModelSolution]:
    built = milp.build(problem)
    model = from_pulp(built.problem).model
    return built, model, solve_model(model, OPTIONS)


def least_ns(problem: WeightOffload, *, omitted: Iterable[OmittedRow] = ()) -> float:
    """The optimum of the model in nanoseconds, not rounded."""
    milp = EventMilp(LeastPeriod(layer_to_layer(problem).period_ns), omitted=frozenset(omitted))
    built, _, solution = solved(problem, milp)
    assert solution.answer is Answer.OPTIMAL
    assert solution.objective is not None
    scale = built.frame.time_scale
    return solution.objective * scale.unit * scale.factor


def judged(problem: WeightOffload, schedule: CyclicSchedule | None) -> CyclicSchedule:
    assert schedule is not None
    assert schedule.replay(problem.cycle, problem.link, problem.memory_bytes).valid
    assert CyclicReferee(problem).judge(schedule).is_valid
    return schedule


@pytest.mark.parametrize(("layers", "count"), [(1, 10), (2, 40), (3, 10)])
@pytest.mark.parametrize("strengthened", [frozenset(), STRONG], ids=["plain", "strengthened"])
def test_its_optimum_is_that_of_the_brute_force_and_a_schedule_has_it(
    layers: int, count: int, strengthened: frozenset[ValidRow]
) -> None:
    for number, problem in enumerate(islice(samples(layers, layers), count)):
        milp = EventMilp(LeastPeriod(layer_to_layer(problem).period_ns), strengthened=strengthened)
        built, model, solution = solved(problem, milp)
        assert solution.dual_bound is not None
        order = EventOrder.from_point(built.frame, solution.by_name(model))
        schedule = judged(problem, order.schedule())
        assert schedule.period_ns == least_period_ns(problem), number
        assert built.period_from_solver_ns(solution.dual_bound) == schedule.period_ns, number


def test_it_agrees_with_the_sweeps_on_four_layers() -> None:
    for number, problem in enumerate(islice(samples(4, 4), 5)):
        found = solve_weight_exact(problem, SolveOptions(time_limit_s=None)).schedule
        assert isinstance(found, CyclicSchedule)
        # Its whole number of nanoseconds is the model's optimum, unless a unit is coarser.
        assert np.ceil(least_ns(problem) - 1e-6) == found.period_ns, number


def test_without_memory_at_prefetches_the_period_is_too_short() -> None:
    found = [
        (least_ns(problem, omitted={OmittedRow.ROOM_AT_PREFETCHES}), least_ns(problem))
        for problem in islice(samples(2, 7), 12)
    ]
    assert all(wrong <= right for wrong, right in found)
    # In half of these a prefetch gains time that starts before its memory is free: what it would
    # push out is gone when the next operation starts.
    assert sum(wrong < right for wrong, right in found) == 6


def test_without_the_rows_around_the_cycle_a_transfer_hides_in_an_earlier_period() -> None:
    problem = next(islice(samples(3, 8), 23, None))
    assert least_period_ns(problem) == least_ns(problem) == 8
    assert least_ns(problem, omitted={OmittedRow.AROUND}) == 7


def test_a_period_that_is_given_is_possible_from_the_least_one_on() -> None:
    for number, problem in enumerate(islice(samples(2, 9), 15)):
        shortest_ns = least_period_ns(problem)
        for period_ns in (shortest_ns - 1, shortest_ns, shortest_ns + 1):
            if period_ns < problem.base_time_ns:
                continue
            built, model, solution = solved(
                problem, EventMilp(GivenPeriod(period_ns), strengthened=STRONG)
            )
            assert (solution.values is not None) == (period_ns >= shortest_ns), number
            if solution.values is not None:
                order = EventOrder.from_point(built.frame, solution.by_name(model))
                assert judged(problem, order.schedule()).period_ns <= period_ns


@pytest.mark.parametrize("strengthened", [frozenset(), STRONG], ids=["plain", "strengthened"])
def test_places_of_operations_that_take_time_decide_about_steps_without_idle_time(
    strengthened: frozenset[ValidRow],
) -> None:
    answers = []
    for number, problem in enumerate(islice(samples(3, 5), 30)):
        base_ns = problem.base_time_ns
        built, model, solution = solved(
            problem, EventMilp(WithoutIdle(), strengthened=strengthened)
        )
        answers.append(solution.values is not None)
        assert answers[-1] == (least_period_ns(problem) == base_ns), number
        if solution.values is not None:
            order = EventOrder.from_point(built.frame, solution.by_name(model))
            assert judged(problem, order.schedule()).period_ns == base_ns
    # Both answers occur.
    assert len(set(answers)) == 2


def test_a_step_of_no_time_has_the_period_0() -> None:
    # Two layers without time that fit: H = 0 is a horizon, and everything happens at 0.
    problem = layers_in(100, (0, 0, 0, 8), (0, 0, 0, 8))
    for question in (GivenPeriod(0), WithoutIdle(), LeastPeriod(0)):
        built, model, solution = solved(problem, EventMilp(question))
        assert solution.answer is Answer.OPTIMAL, question
        order = EventOrder.from_point(built.frame, solution.by_name(model))
        assert judged(problem, order.schedule()).period_ns == 0


def test_schedules_are_points_and_their_order_is_no_slower() -> None:
    for number, problem in enumerate(islice(samples(3, 6), 15)):
        schedule = layer_to_layer(problem)
        order = order_of_schedule(problem, schedule)
        again = judged(problem, order.schedule())
        assert again.period_ns <= schedule.period_ns
        built = EventMilp(LeastPeriod(schedule.period_ns), strengthened=STRONG).build(problem)
        model = from_pulp(built.problem).model
        point = start_point(built.frame, model, order, again.period_ns)
        assert not np.isnan(point[model.integer]).any()
        known = ~np.isnan(point)
        fixed = replace(
            model,
            column_lower=np.where(known, point, model.column_lower),
            column_upper=np.where(known, point, model.column_upper),
        )
        assert solve_model(fixed, OPTIONS).values is not None, number


def test_times_that_share_a_divisor_are_counted_in_it() -> None:
    # All times and the period are multiples of 10 ns; B 2, B 1, F 1 and F 2 take 10, 20, 20, 10.
    problem = layers_in(60, (20, 20, 0, 20), (10, 10, 0, 20))
    frame = EventMilp(GivenPeriod(60)).frame(problem)
    assert frame.durations == (1.0, 2.0, 2.0, 1.0)
    # 20 bytes at a byte per ns.
    assert frame.transfers == {1: 2.0, 2: 2.0}
    assert not frame.counts_nanoseconds


def test_long_times_round_so_that_the_model_relaxes() -> None:
    # 2^31 + 1 and 2^31 + 3 share no divisor and need more than 2^29 units.
    long_ns = 2**31
    problem = layers_in(60, (long_ns + 1, 1, 0, 20), (long_ns + 3, 1, 0, 20))
    frame = EventMilp(LeastPeriod(problem.base_time_ns + 5)).frame(problem)
    unit = frame.time_scale.unit * frame.time_scale.factor
    assert frame.time_scale.unit > 1
    assert all(
        model * unit <= operation.duration_ns
        for model, operation in zip(frame.durations, problem.cycle, strict=True)
    )
    assert frame.most * unit >= problem.base_time_ns + 5


def test_the_rows_have_the_names_of_the_docstring_in_its_order() -> None:
    problem = layers_in(40, (2, 3, 1, 9), (2, 3, 1, 8), (1, 2, 1, 7))
    milp = EventMilp(LeastPeriod(layer_to_layer(problem).period_ns), strengthened=STRONG)
    names = from_pulp(milp.build(problem).problem).model.row_names
    words = [
        *("op", "place", "needed", "used", "first", "from", "until", "up", "upc", "arrive0"),
        *("arrive1", "arrive1c", "gone0", "gone1", "after", "linkC", "copyC", "uplink", "linkP"),
        *("copyP", "downlink", "room", "left", "back", "ended", "roomP", "a", "eC", "eP0", "eP1"),
        *("eP2", "oC", "oCe", "oP"),
    ]
    assert list(dict.fromkeys(name.split("_")[0] for name in names)) == words


def test_a_link_that_both_directions_share_is_refused() -> None:
    problem = replace(layers_in(40, (2, 3, 1, 9)), bandwidth=Link.half_duplex(10**9))
    with pytest.raises(InputError, match="a link that both directions share; write one rate"):
        EventMilp(WithoutIdle()).build(problem)


def test_its_size_is_about_the_estimate() -> None:
    for layers in (3, 5):
        problem = next(iter(samples(layers, 1)))
        milp = EventMilp(LeastPeriod(layer_to_layer(problem).period_ns), strengthened=STRONG)
        model = from_pulp(milp.build(problem).problem).model
        assert 0.6 < milp.estimated_coefficients(problem) / model.num_nonzeros < 1.4
