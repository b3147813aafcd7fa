"""Models, batches and schedules that cannot be trained together: each refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from tests.many_models import case, one_after_the_other

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch.multi_model", exc_type=ImportError)
nn = torch.nn
SGD, Adam = executor.SGD, executor.Adam

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _one_thread_for_the_profile(_one_thread: None) -> None:
    """Profile on one thread as well, though the first test that needs it does it."""


def profile(models: Sequence[Any], batch: Any, **changes: Any) -> Any:
    options = {"optimizers": SGD(0.1), "loss": torch.mean, "warmup": 0, "repeats": 1, **changes}
    return executor.profile_models(models, batch, **options)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda: nn.Linear(4, 3), r"models\[1\]: the module at the top is Linear\(in_features=4"),
        (lambda: nn.Linear(4, 2).double(), r"models\[1\]: the parameter or buffer weight is"),
        (lambda: nn.Linear(4, 2).requires_grad_(False), "not trained"),
        (lambda: nn.Linear(4, 2).eval(), r"models\[1\]: a module is in evaluation mode"),
    ],
)
def test_models_that_are_not_alike_are_refused(second: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        profile([nn.Linear(4, 2), second()], torch.zeros(3, 4))


class Scaled(nn.Module):
    def __init__(self, scale: Any) -> None:
        super().__init__()
        self.inner, self.scale = nn.Linear(4, 2), scale

    def forward(self, x: Any) -> Any:
        return self.inner(x) * self.scale


def test_models_whose_code_differs_are_refused_for_the_first_one_would_run_for_all() -> None:
    batch = torch.zeros(3, 4)
    with pytest.raises(InputError, match=r"models\[1\]: the attribute scale is 3.0, and 2.0 in"):
        profile([Scaled(2.0), Scaled(3.0)], batch)
    with pytest.raises(
        InputError, match=r"models\[1\]: the attribute 0.scale is \(1, 3\), and \(1"
    ):
        profile([nn.Sequential(Scaled((1, end))) for end in (2, 3)], batch)
    with pytest.raises(
        InputError, match=r"models\[1\]: the attribute scale is <built-in method sin"
    ):
        profile([Scaled(torch.cos), Scaled(torch.sin)], batch)
    assert profile([Scaled(2.0), Scaled(2.0)], batch)


def test_trained_parameters_of_two_models_are_refused_and_frozen_ones_are_not() -> None:
    batch, both = torch.zeros(3, 4), nn.Linear(4, 4)
    models = [nn.Sequential(both, nn.Linear(4, 2)) for _ in range(2)]
    with pytest.raises(
        InputError,
        match=r"models\[1\]: the parameter model.0.weight is also model.0.weight of model",
    ):
        profile(models, batch)
    both.requires_grad_(False)
    assert profile(models, batch)
    with pytest.raises(
        InputError, match=r"models\[1\]: the parameter loss.weight is also loss.weigh"
    ):
        profile([nn.Linear(4, 2), nn.Linear(4, 2)], batch, loss=nn.Bilinear(2, 1, 1))


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_parameters_in_which_hyperparameters_are_rounded_are_refused(name: str) -> None:
    kind = getattr(torch, name)
    models = [Scaled(1).to(kind), Scaled(1).to(kind)]
    with pytest.raises(InputError, match=f"models: the parameter model.inner.weight is {name}"):
        profile(models, torch.zeros(3, 4, dtype=kind), loss=lambda output: output.abs().mean())


def test_models_that_changed_after_the_profile_are_refused() -> None:
    batch, models = torch.zeros(3, 4), [nn.Linear(4, 2) for _ in range(2)]
    trainer = executor.optimal_trainer(profile(models, batch), memory=2**30)
    batches = [[batch, batch]]
    models[1].double()
    with pytest.raises(InputError, match=r"models\[1\]: .* weight is float64 .* when it was prof"):
        trainer.train(batches)
    models[1].float()
    models[0].bias.requires_grad_(False)
    with pytest.raises(InputError, match=r"models\[0\]: .* bias is .* not trained, and float32"):
        trainer.train(batches)
    models[0].bias.requires_grad_(True)
    models[0].eval()
    with pytest.raises(InputError, match=r"models\[0\]: a module is in evaluation mode"):
        trainer.train(batches)
    models[0].train()
    assert trainer.train(batches).losses.shape == (1, 2)


def test_what_is_no_tensor_and_no_number_is_refused() -> None:
    batch, models = torch.zeros(3, 4), [nn.Linear(4, 2) for _ in range(2)]
    for changes, message in (
        ({"warmup": -1}, "warmup: -1; write a number from 0"),
        ({"repeats": 0}, "repeats: 0; write a number from 1"),
        ({"repeats": 1.5}, "repeats: 1.5; write"),
        ({"sizes": [1.5]}, r"sizes: \[1.5\]; write numbers from 1 to 2"),
        ({"sizes": []}, r"sizes: \[\]; write"),
        ({"sample_loss_arguments": (3,)}, "sample_loss_arguments: a int; give a tensor"),
    ):
        with pytest.raises(InputError, match=message):
            profile(models, batch, **changes)
    with pytest.raises(InputError, match="sample_input: a list; give a tensor"):
        profile(models, [1.0])
    with pytest.raises(InputError, match="models: a Sequential; give a list of models"):
        profile(nn.Sequential(*models), batch)
    with pytest.raises(InputError, match=r"models\[0\]: a str; give a module"):
        profile(["linear"], batch)
    trainer = executor.optimal_trainer(profile(models, batch), memory=2**30)
    with pytest.raises(InputError, match=r"batches\[0\]\[1\]: a int; give a tensor"):
        trainer.train([[batch, 2]])
    # A tensor of all batches is a sequence of them as well.
    assert trainer.train(torch.zeros(5, 2, 3, 4)).losses.shape == (5, 2)


def test_one_model_twice_is_refused() -> None:
    model = nn.Linear(4, 2)
    with pytest.raises(InputError, match=r"models\[2\]: model 0 again"):
        profile([model, nn.Linear(4, 2), model], torch.zeros(3, 4))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)),
            r"models: \w+ draws random numbers \(aten\.\w+",
        ),
        (
            lambda: nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)),
            r"models: the step writes to the buffer model\.1\.running_mean",
        ),
        (
            lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2)),
            "models: the step modifies its input in place",
        ),
    ],
)
def test_steps_that_cannot_be_repeated_are_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        profile([build(), build()], torch.randn(3, 4))


def test_wrong_numbers_of_things_are_refused() -> None:
    models = [nn.Linear(4, 2) for _ in range(2)]
    batch = torch.zeros(3, 4)
    with pytest.raises(InputError, match="models: 0 models; give 1 to 64"):
        profile([], batch)
    with pytest.raises(InputError, match="optimizers: 3 optimizers for 2 models"):
        profile(models, batch, optimizers=[SGD()] * 3)
    with pytest.raises(InputError, match=r"optimizers\[1\]: Adam, and SGD for the first model"):
        profile(models, batch, optimizers=[SGD(), Adam()])
    with pytest.raises(InputError, match=r"optimizers\[1\].lr: -1"):
        profile(models, batch, optimizers=[SGD(), SGD(lr=-1)])
    with pytest.raises(InputError, match=r"loss: the loss of a model has the shape \(3, 2\)"):
        profile(models, batch, loss=torch.square)
    with pytest.raises(InputError, match=r"sizes: \[3\]; write numbers from 1 to 2"):
        profile(models, batch, sizes=[3])
    made = case("perceptron", "sgd", 3, (1, 2))
    trainer = executor.MultiModelTrainer(
        made.array,
        made.problem(2**30),
        MultiModelSchedule((one_after_the_other(made.array.instance.sub_array(1)),) * 3),
    )
    with pytest.raises(InputError, match="batches: no step is given"):
        trainer.train([])
    with pytest.raises(InputError, match=r"batches\[0\]: 2 batches for 3 models"):
        trainer.train([made.batches[0][:2]])
    odd = (torch.zeros(5, 8, dtype=torch.float64), torch.zeros(5, dtype=torch.int64))
    with pytest.raises(InputError, match=r"batches\[1\]\[2\]: float64 of size \(5, 8\)"):
        trainer.train([made.batches[0], [*made.batches[1][:2], odd]])


def test_a_schedule_of_other_models_or_of_more_memory_is_refused() -> None:
    made = case("perceptron", "sgd", 3, (1, 2))
    schedule = MultiModelSchedule((one_after_the_other(made.array.instance.sub_array(1)),) * 3)
    other = jt.MultiModelTraining(case("perceptron", "sgd", 4, (2,)).array.instance, 2**30)
    with pytest.raises(InputError, match=r"problem: the instance .* is not that of these models"):
        executor.MultiModelTrainer(made.array, other, schedule)
    with pytest.raises(InputError, match="problem: 2 of 3 models"):
        executor.MultiModelTrainer(made.array, replace(made.problem(2**30), models=2), schedule)
    with pytest.raises(InputError, match=r"schedule: .*memory"):
        executor.MultiModelTrainer(made.array, made.problem(1024), schedule)


def test_memory_that_is_too_little_is_refused_with_the_least_that_would_do() -> None:
    made = case("perceptron", "sgd", 3, (1, 2))
    with pytest.raises(
        InputError, match=r"memory: mu-two found no schedule .* at least (\d+)"
    ) as no:
        executor.optimal_trainer(made.array, memory=20_000, method="mu-two")
    least = int(str(no.value).split("at least ")[1].split()[0])
    trainer = executor.optimal_trainer(made.array, memory=least, method="exact")
    assert trainer.train(made.batches[:1]).peak_bytes <= least
