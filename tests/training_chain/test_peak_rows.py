"""Rows of the cycle bound about what was saved for good before the last backward operation."""

from __future__ import annotations

import random

import pytest

from jettison.formulations.training_chain import cycle_bound
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from tests.drawing.training_chains import random_training_chain
from tests.training_chain.test_step_timing import random_plan

OPTIONS = SolveOptions(time_limit_s=None)


def cheap_below_costly() -> TrainingChain:
    """Return a step in which activations that are cheap to make stand below costly ones.

    Where `B` of the loss starts, 12 bytes have the 10 that it saved, the gradient of 1, and 1 more.
    The 9 bytes of the stage below were sent while the loss ran. They come back in 9 ns, or are made
    again in 20.
    """
    stages = (
        Stage(name="cheap", forward_ns=1, backward_ns=1, output_bytes=1, saved_bytes=8),
        Stage(name="costly", forward_ns=20, backward_ns=1, output_bytes=1, saved_bytes=9),
        Stage(name="loss", forward_ns=10, backward_ns=1, output_bytes=0, saved_bytes=10),
    )
    return TrainingChain(Chain("cheap below costly", 0, stages), 12, "1GB/s")


def bound_ns(problem: TrainingChain) -> int:
    found = solve_with(problem, "cycle", OPTIONS).lower_bound_ns
    assert found is not None
    return found


def test_runs_of_a_cheap_stage_do_not_stand_for_the_activations_of_a_costly_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = cheap_below_costly()
    with_rows = bound_ns(problem)
    best = solve_with(problem, "exact", OPTIONS).time_ns
    assert best is not None
    monkeypatch.setattr(cycle_bound, "add_peak_rows", lambda *_: None)
    without = bound_ns(problem)
    assert problem.base_time_ns <= without < with_rows <= best


def missing_at_the_peak(problem: TrainingChain, schedule: TrainingSchedule) -> tuple[int, int]:
    """Return what breaks the rows in a schedule, and what they ask to come back, in bytes.

    What no later run saves again has to be on the device at the start of the last backward
    operation, or to come from the host afterwards.
    """
    events = schedule.events
    last = len(problem.instance)
    peak = next(
        place
        for place, event in enumerate(events)
        if event.kind is TrainingEventKind.BACKWARD and event.stage == last
    )
    missing = back = 0
    for number in range(1, last):
        own = [
            (place, event)
            for place, event in enumerate(events)
            if event.stage == number
            and (event.tensor is StageTensor.SAVED or event.kind is TrainingEventKind.FORWARD_ALL)
        ]
        later = [event.kind for place, event in own if place > peak]
        if TrainingEventKind.FORWARD_ALL in later:
            continue
        before = [event.kind for place, event in own if place < peak]
        before = [kind for kind in before if kind is not TrainingEventKind.OFFLOAD]
        size_bytes = problem.instance.stage(number).saved_bytes
        if before and before[-1] is not TrainingEventKind.DROP:
            continue
        back += size_bytes
        if TrainingEventKind.PREFETCH not in later:
            missing += size_bytes
    return missing, back


def test_every_schedule_keeps_the_rows() -> None:
    chance = random.Random(77)
    schedules = came_back = 0
    for seed in range(60):
        chain = random_training_chain(chance, chance.randint(2, 6))
        problem = TrainingChain(chain, "100%", "1GB/s")
        timer = PlanTimer(problem)
        for _ in range(6):
            step = timer.of_plan(random_plan(chance, len(chain)))
            if step is None:
                continue
            assert step.schedule.replay(chain, problem.link, problem.memory_bytes).valid
            missing, back = missing_at_the_peak(problem, step.schedule)
            assert missing == 0, seed
            came_back += back > 0
            schedules += 1
    assert schedules > 100
    assert came_back > 20
