"""Gradients of other sizes than the outputs: weight offloading against the brute force."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison.certificates.weight_offload.given_weight_offload import GivenWeightOffload
from jettison.core import ScheduleClass
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.weight_offload.exact.method import solve_weight_exact
from jettison.solvers.weight_offload.methods import METHODS
from tests.drawing.chains import with_random_gradients
from tests.weight_offload.oracles.brute_force import Walks, least_period_ns
from tests.weight_offload.oracles.cyclic_referee import CyclicReferee
from tests.weight_offload.oracles.samples import sample

OPTIONS = SolveOptions(gap=0, time_limit_s=60)
BOUNDS = ("milp", "agg", "aggint", "closed-form")


def drawn(chance: random.Random, layers: int, longest_ns: int) -> WeightOffload:
    """Return a step with gradients of any size, in a memory in which it fits."""
    problem = sample(chance, layers, longest_ns=longest_ns, most_bytes=chance.choice((2, 4)))
    chain = with_random_gradients(chance, problem.instance, 5)
    unlimited = replace(problem, instance=chain, memory=10**9)
    lowest = unlimited.cycle.least_memory_bytes
    extra = unlimited.cycle.no_offload_peak_bytes - lowest
    return replace(unlimited, memory=lowest + int(extra * chance.random() ** 2))


def test_what_operations_need_is_what_the_brute_force_and_the_checker_count() -> None:
    chance = random.Random(1)
    others = 0
    for _ in range(1000):
        problem = drawn(chance, chance.randint(1, 4), 4)
        counted = {str(o): (o.working_bytes, o.resting_bytes) for o in problem.cycle}
        # It begins its period with any of the operations.
        walked = Walks(problem).operations
        assert counted == {f"{kind} {k + 1}": (e, r) for kind, k, _, e, r in walked}, problem
        resources = {
            "memory_bytes": problem.memory_bytes,
            "bytes_per_s": problem.link.bytes_per_s,
        }
        given = GivenWeightOffload.from_json(problem.instance.to_json(), resources, 10)
        assert list(given.needs_bytes) == [need for need, _ in counted.values()], problem
        others += any(stage.output_gradient_bytes is not None for stage in problem.instance)
    assert others > 400


@pytest.mark.parametrize(("layers", "count"), [(1, 300), (2, 700), (3, 40)])
def test_no_schedule_is_faster_and_one_is_as_fast(layers: int, count: int) -> None:
    chance = random.Random(10 + layers)
    for _ in range(count):
        problem = drawn(chance, layers, chance.choice((1, 2) if layers < 3 else (1, 2, 4)))
        outcome = solve_weight_exact(problem, OPTIONS)
        schedule = outcome.schedule
        assert isinstance(schedule, CyclicSchedule), problem
        assert [bound.time_ns for bound in outcome.bounds] == [schedule.period_ns], problem
        assert schedule.period_ns == least_period_ns(problem), problem
        assert schedule.replay(problem.cycle, problem.link, problem.memory_bytes).valid, problem
        assert CyclicReferee(problem).judge(schedule).is_valid, problem


def test_bounds_and_heuristics_enclose_the_fastest_step() -> None:
    chance = random.Random(2)
    for number in range(30):
        problem = drawn(chance, 1 + number % 3, 2)
        best = least_period_ns(problem)
        assert best is not None
        for method in (method.name for method in METHODS):
            result = solve_with(problem, method, OPTIONS)
            for bound in result.bounds:
                assert bound.valid_for is ScheduleClass.ALL
                assert bound.time_ns <= best, (problem, method)
            if method in BOUNDS:
                continue
            if result.time_ns is not None:
                assert result.time_ns >= best, (problem, method)
