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
