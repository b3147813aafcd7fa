"""Better steps with offloaded weights by cutting a schedule and sweeping from its state."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.weight_offload.exact.beginnings import CutCycle, best_cut
from jettison.solvers.weight_offload.exact.method import solve_weight_exact
from jettison.solvers.weight_offload.exact.recut import improve_by_cuts, state_at
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from tests.weight_offload.oracles.samples import sample


def test_cuts_never_make_a_schedule_longer_and_keep_it_valid() -> None:
    chance = random.Random(0)
    shorter = 0
    for _ in range(40):
        problem = sample(chance, chance.choice((2, 3, 4)))
        start = layer_to_layer(problem)
        seen = [start]

        def keep(schedule: CyclicSchedule, _: int, seen: list[CyclicSchedule] = seen) -> None:
            seen.append(schedule)

        improve_by_cuts(problem, start, problem.instance.base_time_ns, Clock(5), keep)
        periods = [schedule.period_ns for schedule in seen]
        assert periods == sorted(periods, reverse=True)
        assert seen[-1].replay(problem.cycle, problem.link, problem.memory_bytes).valid
        shorter += periods[-1] < periods[0]
    assert shorter > 20


def test_the_state_of_an_optimal_schedule_is_one_of_the_beginnings() -> None:
    chance = random.Random(1)
    for _ in range(30):
        problem = sample(chance, 3)
        schedule = solve_weight_exact(problem, SolveOptions(gap=0)).schedule
        assert isinstance(schedule, CyclicSchedule)
        found = best_cut(problem, schedule.period_ns, 10_000, Clock(None))
        assert found is not None
        cut, beginnings = found
        if schedule != layer_to_layer(problem):
            state = state_at(cut, schedule)
            # Of layers that cannot leave before their backward it is not said what the host has.
            assert any(
                one == replace(state, hosted=one.hosted) and one.hosted & ~state.hosted == 0
                for one in beginnings.states
            )
        # At every cut there is a state with the weights of the operation that comes next.
        for first in range(len(problem.cycle)):
            cut_here = CutCycle(problem, first)
            state = state_at(cut_here, schedule)
            place = cut_here.place_of.get(cut_here.operations[0].layer)
            assert place is None or state.resident >> place & 1
