"""Training in one budget on a CPU: losses, weights and peaks beside those of plain training."""

from __future__ import annotations

import copy
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import JointPlan, StageChoice, UpdatePlace, Way
from tests.executor_steps import MODELS, build

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
from jettison.instances.profilers.torch_chains.stagewise_profile import (  # noqa: E402
    profile_stage_by_stage,
)

nn = torch.nn

pytestmark = pytest.mark.torch

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    "momentum": lambda parameters: torch.optim.SGD(
        parameters, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01
    ),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01, amsgrad=True),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, fused=True),
}


def squares(output: Any, target: Any) -> Any:
    return ((output - target) ** 2).mean()


def unit_training_chain(model: Any) -> Chain:
    """Return a chain with one byte for each tensor, so that every plan of moves is one that fits.

    Times of transfers are those of a byte: one nanosecond on the link below.
    """
    stages = [
        Stage(
            name=f"s{number}",
            forward_ns=4,
            backward_ns=8,
            output_bytes=1,
            saved_bytes=2,
            weight_bytes=1,
            optimizer_state_bytes=2,
            update_ns=2,
            host_update_ns=3,
        )
        for number in range(len(model))
    ]
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=1)
    return Chain(name="unit", input_bytes=1, stages=(*stages, loss))


def planned(
    model: Any, choice: StageChoice, *, optimizer: str = "adamw", most_norm: float | None = None
) -> Any:
    """Return the trainer of a plan in which all stages have one choice."""
    chain = unit_training_chain(model)
    problem = TrainingChain(chain, 10**6, "1GB/s")
    step = PlanTimer(problem).of_plan(JointPlan((choice,) * len(chain)))
    assert step is not None
    return executor.OneBudgetTrainer(
        model,
        problem,
        step.schedule,
        optimizer=OPTIMIZERS[optimizer],
        loss=squares,
        max_gradient_norm=most_norm,
    )


class Plain:
    """Plain training of a copy of a model with one optimizer."""

    def __init__(self, model: Any, optimizer: str) -> None:
        self.model = copy.deepcopy(model)
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())

    def step(self, x: Any, target: Any) -> Any:
        self.optimizer.zero_grad()
        loss = squares(self.model(x), target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def assert_same_training(trainer: Any, plain: Plain, x: Any, *, steps: int = 3) -> None:
    """Train both on batches that differ; losses, weights, buffers and generators are equal."""
    with torch.no_grad():
        target = torch.randn_like(copy.deepcopy(plain.model)(x))
    torch.manual_seed(3)
    mine = [trainer.step(x, target * turn) for turn in range(steps)]
    state = trainer.state_dict()
    generator = torch.get_rng_state()
    torch.manual_seed(3)
    expected = [plain.step(x, target * turn) for turn in range(steps)]
    assert all(torch.equal(*pair) for pair in zip(mine, expected, strict=True))
    assert torch.equal(generator, torch.get_rng_state())
    found = plain.model.state_dict()
    assert state.keys() == found.keys()
    for name, value in found.items():
        assert torch.equal(state[name], value), name


CHOICES = {
    "all stays": StageChoice(),
    "late updates of weights and states that are away": StageChoice(
        update=UpdatePlace.LATE, away_between=True, away_after=True, states_away=True
    ),
    "updates at once of weights and states that are away": StageChoice(
        saved=Way.SENT, away_between=True, away_after=True, states_away=True
    ),
    "updates of the host, all computed again": StageChoice(
        saved=Way.AGAIN, output=Way.AGAIN, away_between=True, update=UpdatePlace.HOST
    ),
    "updates of the host, outputs sent": StageChoice(
        saved=Way.AGAIN, output=Way.SENT, update=UpdatePlace.HOST
    ),
}


@pytest.mark.parametrize("model_name", MODELS)
@pytest.mark.parametrize("choice", CHOICES)
def test_training_is_that_of_one_plain_optimizer_bit_for_bit(choice: str, model_name: str) -> None:
    model, x = build(model_name)
    plain = Plain(model, "adamw")
    assert_same_training(planned(model, CHOICES[choice]), plain, x)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_updates_on_device_and_host_as_in_plain_training(optimizer: str) -> None:
    for place in UpdatePlace:
        model, x = build("convolutions")
        plain = Plain(model, optimizer)
        choice = StageChoice(saved=Way.AGAIN, away_after=True, update=place, states_away=True)
        assert_same_training(planned(model, choice, optimizer=optimizer), plain, x)


def test_training_goes_on_after_updates_were_finished() -> None:
    for place in UpdatePlace:
        model, x = build("mlp")
        plain = Plain(model, "momentum")
        choice = StageChoice(away_between=True, away_after=True, update=place, states_away=True)
        trainer = planned(model, choice, optimizer="momentum")
        for _ in range(2):
            trainer.finish()
            assert_same_training(trainer, plain, x, steps=2)


def test_a_closed_trainer_gives_the_model_back_with_the_newest_weights() -> None:
    model, x = build("residual")
    plain = Plain(model, "adamw")
    trainer = planned(model, CHOICES["updates at once of weights and states that are away"])
    assert any(
        event.kind is TrainingEventKind.DROP and event.tensor is StageTensor.WEIGHTS
        for event in trainer.schedule.events
    )
    with torch.no_grad():
        target = torch.ones_like(copy.deepcopy(plain.model)(x))
    trainer.step(x, target)
    plain.step(x, target)
    trainer.close()
    for mine, other in zip(model.parameters(), plain.model.parameters(), strict=True):
        assert torch.equal(mine, other)
    with pytest.raises(executor.ExecutionError, match="closed"):
        trainer.step(x, target)


def test_a_changed_learning_rate_holds_for_the_gradients_that_come_after() -> None:
    for place in UpdatePlace:
        model, x = build("mlp")
        plain = Plain(model, "momentum")
        trainer = planned(model, StageChoice(update=place), optimizer="momentum")
        target = torch.zeros_like(plain.model(x))
        for rate in (0.1, 0.02, 0.3):
            # An update of the step before may still be to come, with the rate of that step.
            for group in (*trainer.settings, *plain.optimizer.param_groups):
                group["lr"] = rate
            trainer.step(x, target)
            plain.step(x, target)
        state = trainer.state_dict()
        for name, value in plain.model.state_dict().items():
            assert torch.equal(state[name], value)


def test_frozen_weights_move_and_stay_as_they_are() -> None:
    model, x = build("mlp")
    for parameter in model[1].parameters():
        parameter.requires_grad_(False)
    plain = Plain(model, "adamw")
    assert_same_training(planned(model, CHOICES["updates of the host, outputs sent"]), plain, x)


def test_tied_weights_are_refused_by_name() -> None:
    model, _ = build("mlp")
    model[3][0].weight = model[1][0].weight
    with pytest.raises(InputError, match=r"0\.weight of s3 is 0\.weight of s1: tied weights"):
        planned(model, StageChoice())


def test_an_optimizer_that_computes_the_loss_again_is_refused() -> None:
    model, _ = build("mlp")
    OPTIMIZERS["lbfgs"] = torch.optim.LBFGS
    try:
        with pytest.raises(InputError, match="LBFGS computes the loss again"):
            planned(model, StageChoice(), optimizer="lbfgs")
    finally:
        del OPTIMIZERS["lbfgs"]


def test_a_model_and_a_chain_of_different_stages_are_refused() -> None:
    model, _ = build("mlp")
    problem = TrainingChain(unit_training_chain(model), 10**6, "1GB/s")
    step = PlanTimer(problem).of_plan(JointPlan((StageChoice(),) * len(problem.instance)))
    assert step is not None
    with pytest.raises(InputError, match="4 stages, and 6 in the chain"):
        executor.OneBudgetTrainer(
            model[:4], problem, step.schedule, optimizer=OPTIMIZERS["sgd"], loss=squares
        )


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    model, _ = build("mlp")
    problem = TrainingChain(unit_training_chain(model), 10**6, "1GB/s")
    step = PlanTimer(problem).of_plan(JointPlan((StageChoice(),) * len(problem.instance)))
    assert step is not None
    small = replace(
        problem, memory=step.schedule.replay(problem.instance, problem.link).peak_bytes - 1
    )
    with pytest.raises(InputError, match="schedule"):
        executor.OneBudgetTrainer(
            model, small, step.schedule, optimizer=OPTIMIZERS["sgd"], loss=squares
        )


def test_a_step_that_fails_ends_the_training() -> None:
    model, x = build("mlp")
    trainer = planned(model, CHOICES["updates of the host, all computed again"])
    with pytest.raises(RuntimeError, match="size"):
        trainer.step(x, torch.ones(5, 9, dtype=torch.float64))
    with pytest.raises(executor.ExecutionError, match="ended with an error"):
        trainer.step(x, torch.ones(4, 6, dtype=torch.float64))


@pytest.mark.parametrize("model_name", ["residual", "attention"])
def test_a_profile_stage_by_stage_has_the_sizes_of_one_of_the_whole_model(model_name: str) -> None:
    model, x = build(model_name)
    settings: dict[str, Any] = {
        "name": "by-stages",
        "model_name": model_name,
        "loss": None,
        "warmup": 0,
        "repeats": 1,
        "threads": 1,
    }
    before = {name: item.clone() for name, item in model.state_dict().items()}
    generator = torch.get_rng_state()
    found = profile_stage_by_stage(model, x, **settings)
    assert torch.equal(generator, torch.get_rng_state())
    assert all(torch.equal(item, before[name]) for name, item in model.state_dict().items())
    expected = profile_chain(model, x, check=CostCheck.TRUST, **settings)
    fields = ("name", "output_bytes", "saved_bytes", "weight_bytes", "forward_overhead_bytes")
    for one, two in zip(found, expected, strict=True):
        for field in fields:
            assert getattr(one, field) == getattr(two, field), field
    assert found.provenance.rises.keys() == expected.provenance.rises.keys()
    assert found.provenance.spread.keys() == expected.provenance.spread.keys()


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: Any) -> Any:
        return x + self.body(self.norm(x))


@pytest.mark.filterwarnings("ignore::jettison.torch.ProfileWarning")
def test_a_measured_model_trains_in_the_memory_that_is_given_and_predicted() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*[Block(32) for _ in range(6)], nn.Linear(32, 8)).double()
    plain = Plain(model, "adamw")
    x, target = torch.randn(64, 32).double(), torch.randn(64, 8).double()
    profile = None
    for memory in ("60%", "25%"):
        copied = copy.deepcopy(model)
        trainer = executor.train_in_one_budget(
            copied,
            optimizer=OPTIMIZERS["adamw"],
            loss=squares,
            memory=memory,
            bandwidth="1GB/s",
            sample_input=x,
            sample_loss_arguments=(target,),
            chain=profile,
            warmup=0,
            repeats=1,
            time_limit=1,
        )
        profile = trainer.chain
        moved = {event.tensor for event in trainer.schedule.events if event.kind.is_transfer}
        assert StageTensor.WEIGHTS in moved
        for _ in range(2):
            trainer.step(x, target)
        peak_bytes = trainer.measure_peak(x, target).measured
        limit_bytes = TrainingChain(profile, memory, "1GB/s").memory_bytes
        assert peak_bytes <= limit_bytes
        # Beside what the replay counts: a state of 5 kB for each stage that is repeated.
        assert 0.9 * trainer.predicted.peak_bytes < peak_bytes
        assert peak_bytes <= trainer.predicted.peak_bytes + 7 * torch.get_rng_state().nbytes
    sizes = {stage.optimizer_state_bytes / stage.weight_bytes for stage in profile.stages[:-1]}
    # Two moments, and a count of steps that stays where it is.
    assert sizes == {2.0}
    assert plain.model is not model


@pytest.mark.filterwarnings("ignore::jettison.torch.ProfileWarning")
def test_the_example_says_that_all_is_equal(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "examples/train_in_one_budget.py"
    spec = util.spec_from_file_location("train_in_one_budget", path)
    assert spec is not None
    assert spec.loader is not None
    example = util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main()
    assert "equal losses      True, equal weights True" in capsys.readouterr().out
