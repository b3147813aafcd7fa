"""Peak bound: below every schedule that is found, and at once there for long chains."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import jettison as jt
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.certified import certificate_for, certified_bound
from jettison.solvers.core.outcome import SILENT
from jettison.solvers.core.solve import solve_with
from jettison.solvers.training_chain.bounds.cycle_method import CycleParams, bound_training_cycle
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from tests.certificates.second_checker import verdicts
from tests.drawing.training_steps import random_problem
from tests.training_chain.test_step_timing import random_plan

# Every chain of these is longer than what the large model is made for.
PEAK_ONLY = CycleParams(most_stages=1)


def peak_ns(problem: TrainingChain) -> int:
    bounds = bound_training_cycle(problem, SILENT, PEAK_ONLY).bounds
    return max((bound.time_ns for bound in bounds), default=0)


def test_no_plan_is_faster_than_the_peak_bound() -> None:
    chance = random.Random(31)
    timed = above_base = 0
    for seed in range(60):
        problem = random_problem(chance, chance.randint(2, 6))
        bound_ns = peak_ns(problem)
        above_base += bound_ns > problem.base_time_ns
        timer = PlanTimer(problem)
        for _ in range(10):
            step = timer.of_plan(random_plan(chance, len(problem.instance)))
            if step is not None:
                timed += 1
                assert step.period_ns >= bound_ns, seed
    assert timed > 50
    assert above_base > 2


def test_where_the_host_has_all_the_work_the_bound_is_its_time() -> None:
    # 8 B of states for each of 4 stages do not fit beside their weights, and at 1 B/ns each would
    # take 16 ns to move: the host's 4 * 6 ns are less, and more than the 4 * 2 ns of the device.
    stage = Stage(
        name="s",
        forward_ns=1,
        backward_ns=1,
        output_bytes=0,
        saved_bytes=0,
        weight_bytes=1,
        optimizer_state_bytes=8,
        update_ns=0,
        host_update_ns=6,
    )
    chain = Chain("host", 0, tuple(replace(stage, name=f"s{number}") for number in range(4)))
    # The weights, the gradient and no more: no states fit.
    problem = TrainingChain(chain, 5, "1GB/s")
    found = solve_with(problem, "cycle", SILENT)
    assert found.lower_bound_ns is not None
    assert peak_ns(problem) <= 24
    # A share x of an update on the device moves 8 x up and 1 - x for the host: as the link has
    # 8 x + 1 - x of 4 stages in T, and the host 6 (1 - x), both are equal at x = 5 / 13.
    assert peak_ns(problem) == -(-4 * 6 * 8 // 13)


def test_a_long_chain_has_a_certified_bound_for_all_schedules_at_once(tmp_path: Path) -> None:
    layers = jt.load("gpt3-13b-b1-v100-adam")
    middle = layers.stages[1:-2]
    repeated = (layers.stages[0], *middle, *middle[: 147 - len(middle)], *layers.stages[-2:])
    stages = tuple(replace(stage, name=f"{n} {stage.name}") for n, stage in enumerate(repeated))
    problem = TrainingChain(Chain("long", layers.input_bytes, stages), "32GiB", "12GB/s")
    assert len(problem.instance) == 150
    (bound,) = bound_training_cycle(problem, SILENT).bounds
    assert bound.valid_for is ScheduleClass.ALL
    assert bound.method == "peak"
    certificate = certificate_for(problem, [bound], None, SILENT)
    assert certificate is not None
    certified = certified_bound(problem, certificate)
    assert certified is not None
    assert certified.time_ns >= bound.time_ns
    assert certified.method == "peak"
    path = tmp_path / "long.gz"
    certificate.save(path)
    assert verdicts([path]) == ["proved"]
    # The link alone carries more than it can beside the operations.
    assert bound.time_ns > 1.2 * problem.base_time_ns
