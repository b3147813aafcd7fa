"""State of a trainer in one budget, saved and loaded: that of plain training, bit for bit."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.solvers.training_chain.stage_choices import StageChoice, UpdatePlace, Way
from tests.executor_steps import build
from tests.torch.test_one_budget_training import OPTIMIZERS, Plain, planned

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

pytestmark = pytest.mark.torch

CHOICES = {
    place.name: StageChoice(
        saved=Way.AGAIN, away_between=True, away_after=True, update=place, states_away=True
    )
    for place in UpdatePlace
} | {"STAYS": StageChoice()}


def batch_for(plain: Plain, x: Any) -> Any:
    with torch.no_grad():
        return torch.randn_like(copy.deepcopy(plain.model)(x))


def train(trainers: tuple[Any, ...], x: Any, target: Any, *, steps: int) -> None:
    """Train each on the same batches, with the same random numbers."""
    for turn in range(steps):
        for trainer in trainers:
            torch.manual_seed(turn)
            trainer.step(x, target * turn)


def assert_equal(mine: Any, other: Any, path: str = "") -> None:
    """Compare two nested states: keys, numbers, types and all bits of all tensors."""
    assert type(mine) is type(other), path
    if isinstance(other, dict):
        assert mine.keys() == other.keys(), path
        for key, value in other.items():
            assert_equal(mine[key], value, f"{path}.{key}")
    elif isinstance(other, list):
        assert len(mine) == len(other), path
        for number, pair in enumerate(zip(mine, other, strict=True)):
            assert_equal(*pair, f"{path}.{number}")
    elif isinstance(other, torch.Tensor):
        assert mine.dtype == other.dtype, path
        assert torch.equal(mine, other), path
    else:
        assert mine == other, path


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_state_is_that_of_one_plain_optimizer_after_each_step(
    choice: str, optimizer: str
) -> None:
    model, x = build("mlp")
    plain = Plain(model, optimizer)
    trainer = planned(model, CHOICES[choice], optimizer=optimizer)
    assert_equal(trainer.optimizer_state_dict(), plain.optimizer.state_dict())
    target = batch_for(plain, x)
    for turn in range(3):
        trainer.step(x, target * turn)
        plain.step(x, target * turn)
        assert_equal(trainer.optimizer_state_dict(), plain.optimizer.state_dict())
        assert_equal(trainer.state_dict(), dict(plain.model.state_dict()))


@pytest.mark.parametrize("choice", CHOICES)
def test_training_that_is_resumed_is_training_that_was_never_interrupted(choice: str) -> None:
    model, x = build("convolutions")
    plain = Plain(model, "adamw")
    fresh = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in fresh.parameters():
            parameter.mul_(3)
    first = planned(model, CHOICES["AT_ONCE"])
    target = batch_for(plain, x)
    train((first, plain), x, target, steps=2)
    # Another plan goes on, whose weights and states are elsewhere; it has trained before.
    second = planned(fresh, CHOICES[choice])
    for _ in range(2):
        second.step(x, target)
        second.load_state_dict(first.state_dict())
        second.load_optimizer_state_dict(first.optimizer_state_dict())
        assert_equal(second.state_dict(), dict(plain.model.state_dict()))
        assert_equal(second.optimizer_state_dict(), plain.optimizer.state_dict())
    train((second, plain), x, target, steps=2)
    assert_equal(second.state_dict(), dict(plain.model.state_dict()))
    assert_equal(second.optimizer_state_dict(), plain.optimizer.state_dict())


@pytest.mark.parametrize("choice", CHOICES)
def test_plain_training_and_a_new_trainer_take_each_others_state(choice: str) -> None:
    model, x = build("mlp")
    plain = Plain(model, "adam")
    target = batch_for(plain, x)
    plain.step(x, target)
    trainer = planned(model, CHOICES[choice], optimizer="adam")
    trainer.load_state_dict(plain.model.state_dict())
    # A rate that was changed is a part of the state.
    plain.optimizer.param_groups[0]["lr"] = 0.3
    trainer.load_optimizer_state_dict(plain.optimizer.state_dict())
    assert {group["lr"] for group in trainer.settings} == {0.3}
    train((trainer, plain), x, target, steps=2)
    assert_equal(trainer.state_dict(), dict(plain.model.state_dict()))
    other = Plain(plain.model, "adam")
    other.optimizer.load_state_dict(trainer.optimizer_state_dict())
    trainer.step(x, target)
    other.step(x, target)
    assert_equal(trainer.state_dict(), dict(other.model.state_dict()))


def test_settings_of_some_stages_alone_leave_a_group_for_each_stage() -> None:
    model, _ = build("mlp")
    trainer = planned(model, StageChoice(), optimizer="momentum")
    trainer.settings[0]["lr"] = 0.2
    saved = trainer.optimizer_state_dict()
    assert len(saved["param_groups"]) == len(trainer.settings)
    numbers = [number for group in saved["param_groups"] for number in group["params"]]
    assert numbers == list(range(len(list(model.parameters()))))
    trainer.settings[0]["lr"] = 0.4
    trainer.load_optimizer_state_dict(saved)
    assert trainer.settings[0]["lr"] == 0.2


def test_a_state_of_another_model_is_refused_and_changes_nothing() -> None:
    model, _ = build("mlp")
    trainer = planned(model, StageChoice())
    before, states = trainer.state_dict(), trainer.optimizer_state_dict()
    name = next(iter(before))
    with pytest.raises(InputError, match=f"{name} is missing"):
        trainer.load_state_dict({key: item for key, item in before.items() if key != name})
    with pytest.raises(InputError, match="more is not of the model"):
        trainer.load_state_dict(before | {"more": before[name]})
    with pytest.raises(InputError, match=r"shape \(1, 2\)"):
        trainer.load_state_dict(before | {name: torch.zeros(1, 2)})
    states["param_groups"][0]["params"].pop()
    with pytest.raises(InputError, match="groups of"):
        trainer.load_optimizer_state_dict(states)
    assert_equal(trainer.state_dict(), before)
