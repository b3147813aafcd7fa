"""Limits of the norm of a whole gradient in one budget: as in plain training, or refused."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import JointPlan, StageChoice, UpdatePlace, Way
from tests.executor_steps import build
from tests.torch.test_one_budget_training import (
    OPTIMIZERS,
    Plain,
    planned,
    squares,
    unit_training_chain,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

pytestmark = pytest.mark.torch


class Clipped(Plain):
    """Plain training that clips the norm of the gradient."""

    norm: Any = None

    def step(self, x: Any, target: Any, most: float) -> Any:
        self.optimizer.zero_grad()
        loss = squares(self.model(x), target)
        loss.backward()
        self.norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), most)
        self.optimizer.step()
        return loss.detach()


@pytest.mark.parametrize("model_name", ["mlp", "convolutions"])
@pytest.mark.parametrize("away", [False, True])
def test_a_limited_norm_is_that_of_plain_training_bit_for_bit(
    model_name: str, *, away: bool
) -> None:
    # Updates that wait for the next step; their gradients wait, on the host where weights are away.
    choice = StageChoice(
        saved=Way.AGAIN,
        update=UpdatePlace.LATE,
        away_between=away,
        away_after=away,
        states_away=away,
    )
    for most in (1e-3, 1e6):
        model, x = build(model_name)
        plain = Clipped(model, "adamw")
        trainer = planned(model, choice, most_norm=most)
        with torch.no_grad():
            target = torch.zeros_like(copy.deepcopy(plain.model)(x))
        for turn in range(3):
            torch.manual_seed(turn)
            mine = trainer.step(x, target)
            torch.manual_seed(turn)
            assert torch.equal(mine, plain.step(x, target, most))
            assert torch.equal(trainer.gradient_norm, plain.norm)
            # What a step has left is updated with the norm of that step.
            state = trainer.state_dict() if turn == 1 else {}
            for name, value in state.items():
                assert torch.equal(value, plain.model.state_dict()[name]), name
        state = trainer.state_dict()
        for name, value in plain.model.state_dict().items():
            assert torch.equal(state[name], value), name
        assert (plain.norm > most) == (most < 1)


def test_updates_of_the_host_after_the_backward_phase_have_a_limited_norm() -> None:
    model, x = build("mlp")
    plain = Clipped(model, "adamw")
    chain = unit_training_chain(model)
    problem = TrainingChain(chain, 10**6, "1GB/s")
    plan = JointPlan((StageChoice(update=UpdatePlace.HOST, away_between=True),) * len(chain))
    step = PlanTimer(problem).of_plan(plan)
    assert step is not None
    with pytest.raises(InputError, match="the norm of all is not known"):
        planned(model, plan.stages[0], most_norm=1.0)
    schedule = with_late_host_updates(step.schedule, problem)
    trainer = executor.OneBudgetTrainer(
        model,
        problem,
        schedule,
        optimizer=OPTIMIZERS["adamw"],
        loss=squares,
        max_gradient_norm=0.01,
    )
    with torch.no_grad():
        target = torch.zeros_like(copy.deepcopy(plain.model)(x))
    for turn in range(3):
        torch.manual_seed(turn)
        mine = trainer.step(x, target)
        torch.manual_seed(turn)
        assert torch.equal(mine, plain.step(x, target, 0.01))
    state = trainer.state_dict()
    for name, value in plain.model.state_dict().items():
        assert torch.equal(state[name], value), name


def with_late_host_updates(schedule: TrainingSchedule, problem: TrainingChain) -> TrainingSchedule:
    """Return a slower schedule in which the host's updates and what follows come at its end."""
    updated: set[int] = set()
    moved: list[TrainingEvent] = []
    kept: list[TrainingEvent] = []
    now_ns = schedule.period_ns
    for event in schedule.events:
        is_update = event.kind is TrainingEventKind.HOST_UPDATE
        if is_update:
            updated.add(event.stage)
            moved.append(replace(event, start_ns=now_ns))
            now_ns += problem.instance.stage(event.stage).host_update_ns or 0
        elif event.kind is TrainingEventKind.PREFETCH and event.stage in updated:
            moved.append(event)
        else:
            kept.append(event)
    for place, event in enumerate(moved):
        if event.kind is TrainingEventKind.PREFETCH:
            moved[place] = replace(event, start_ns=now_ns)
            now_ns += 1
    moved.sort(key=lambda event: event.start_ns)
    return TrainingSchedule(now_ns, (*kept, *moved))


def test_updates_within_the_backward_phase_and_numbers_that_are_no_limit_are_refused() -> None:
    model, _ = build("mlp")
    message = "stage s4 is updated before the gradient of stage s0 exists"
    with pytest.raises(InputError, match=message) as refused:
        planned(model, StageChoice(), most_norm=1.0)
    assert "clip_grad_norm_" in str(refused.value)
    late = StageChoice(update=UpdatePlace.LATE)
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="write a positive number"):
            planned(model, late, most_norm=wrong)
