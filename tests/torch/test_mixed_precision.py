"""Chains under autocast: what runs again is cast as it was when it ran first."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jettison import Link, RematOffloadChain
from jettison.remat_offload import OffloadSchedule
from tests.each import each
from tests.executor_steps import MODELS, Residual, build, same, squares, twin, unit_chain
from tests.remat_chain.random_sequences import random_sequence

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = pytest.mark.torch

EACH_MODEL = pytest.mark.parametrize("name", MODELS)


def single(name: str) -> tuple[Any, Any]:
    model, x = build(name)
    return model.float(), x.float() if x.is_floating_point() else x


def scheduled(model: Any, seed: int, *, loss: Any = None) -> Any:
    """Run a model by a random sequence with recomputation and transfers."""
    chain = unit_chain(model)
    operations = random_sequence(len(chain), random.Random(seed), transfers=True)
    problem = RematOffloadChain(chain, 10**6, Link(10**8))
    return executor.CheckpointedSequential(
        model, problem, OffloadSchedule(tuple(operations)), loss=loss
    )


def train(run: Any, model: Any, x: Any, *, loss: Any = squares, steps: int = 2) -> list[Any]:
    """Take a few steps, the backward pass outside of autocast; return all that is left."""
    torch.manual_seed(3)
    outputs = []
    for _ in range(steps):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = run(x)
        outputs.append(output.detach())
        loss(output).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    return [*outputs, *gradients, *model.buffers(), torch.get_rng_state()]


def assert_all_equal(mine: list[Any], other: list[Any]) -> None:
    assert len(mine) == len(other)
    assert all(map(same, mine, other))


@EACH_MODEL
@each(seed=range(5))
def test_random_sequences_under_autocast_give_the_plain_step_under_it(name: str, seed: int) -> None:
    model, x = single(name)
    plain = twin(model)
    mine = train(scheduled(model, seed), model, x)
    assert_all_equal(mine, train(plain, plain, x))
    if name == "mlp":
        # A product of float32 matrices in bfloat16.
        assert mine[0].dtype == torch.bfloat16


@EACH_MODEL
def test_a_loss_under_autocast_is_a_stage_like_the_others(name: str) -> None:
    model, x = single(name)
    plain = twin(model)

    def loss(output: Any) -> Any:
        return nn.functional.linear(output, torch.ones(2, output.shape[-1])).float().pow(2).sum()

    mine = train(scheduled(model, 1, loss=loss), model, x, loss=torch.sum)
    assert_all_equal(mine, train(lambda given: loss(plain(given)), plain, x, loss=torch.sum))


def test_a_scheduled_stage_of_a_scheduled_model_is_cast_like_the_plain_one() -> None:
    torch.manual_seed(1)
    inner = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)])
    model = nn.Sequential(nn.Linear(4, 4), Residual(inner), nn.Linear(4, 4))
    plain = twin(model)
    nested = nn.Sequential(model[0], Residual(scheduled(inner, 2)), model[2])
    x = torch.linspace(-1, 1, 8).reshape(2, 4)
    assert_all_equal(train(scheduled(nested, 4), model, x), train(plain, plain, x))


def test_training_evaluation_and_training_again_give_the_plain_results() -> None:
    model, x = single("convolutions")
    plain = twin(model)
    runs = scheduled(model, 3), plain
    found: list[list[Any]] = []
    for run, parts in zip(runs, (model, plain), strict=True):
        left = train(run, parts, x, steps=1)
        parts.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            left.append(run(x))
        # Running statistics, and gradients all the same.
        left += train(run, parts, x, steps=1)
        parts.train()
        found.append(left + train(run, parts, x))
    assert_all_equal(*found)
