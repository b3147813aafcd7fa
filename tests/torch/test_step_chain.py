"""Chains of steps as the executor runs them: views, and gradients of parameters as they come."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from jettison import Chain, InputError, RematChain
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Stage
from jettison.remat_chain import ChainSchedule
from tests.remat_chain.random_sequences import random_sequence

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.torch.chain_steps.step_chain import step_chain  # noqa: E402
from tests.torch.test_predicted_rises import (  # noqa: E402
    attention,
    convolutions,
    measured_rise_bytes,
    profiled,
    squares,
    views,
)

pytestmark = pytest.mark.torch


def stage(name: str, output: int, saved: int, gradient: int) -> Stage:
    return Stage(
        name=name,
        forward_ns=1,
        backward_ns=2,
        output_bytes=output,
        saved_bytes=saved,
        output_gradient_bytes=gradient,
    )


def chain_of_views() -> Chain:
    # A view of the input, a stage of its own with a view of its output, a last one, the loss.
    stages = (
        stage("shape", 10, 10, 0),
        stage("wide", 40, 60, 40),
        stage("flat", 40, 43, 40),
        stage("narrow", 8, 8, 8),
        stage("loss", 0, 0, 0),
    )
    # With and without saving, backward, gradient of parameters, state of the generator, output.
    rises = {
        "shape": (0, 0, 0, 0, 0, 0),
        "wide": (65, 50, 30, 100, 0, 40),
        "flat": (5, 7, 2, 0, 0, 0),
        "narrow": (9, 9, 45, 20, 0, 8),
        "loss": (4, 4, 8, 0, 0, 0),
    }
    return Chain("views", 10, stages, provenance=Provenance(rises=rises))


def test_a_view_is_joined_with_the_stage_whose_storage_it_has() -> None:
    step = step_chain(chain_of_views())
    assert step is not None
    assert step.counts == (3, 1, 1)
    assert [item.name for item in step.chain] == ["shape + wide + flat", "narrow", "loss"]
    first = step.chain.stages[0]
    assert (first.forward_ns, first.backward_ns) == (3, 6)
    # One storage of 40, of which nothing is a copy; 20 and 3 more are saved.
    assert (first.output_bytes, first.saved_bytes) == (40, 63)
    # Without saving: 50 while the storage is made, and then 40 + 7; with: 65, or 60 + 5.
    assert first.passing_bytes == 50
    assert first.saving_bytes == 65
    # Backward: 2 for the view, which lets go of 3; then 30 beside what is left.
    assert first.backward_overhead_bytes == 30 - 3


def test_gradients_of_parameters_stay_from_when_they_are_made() -> None:
    step = step_chain(chain_of_views())
    assert step is not None
    assert step.gradient_bytes == 120
    # Beside the gradient of 40 that goes down from the narrow stage is that of its parameters.
    assert [item.gradient_bytes for item in step.chain] == [40 + 20, 8, 0]
    assert step.chain.backward_overhead_holds_gradient
    # At the turn 10 + 63 + 8 are there; then B of the loss takes 8, that of the narrow stage 45
    # beside 8 of its output's gradient, and the first one 27 beside 60, without the saved 8.
    assert step.chain.store_all_peak_bytes == max(81 + 8, 81 + 8 + 45, 73 + 60 + 27)


def test_a_chain_without_rises_has_no_step_chain() -> None:
    chain = chain_of_views()
    assert step_chain(replace(chain, provenance=Provenance())) is None
    # Nothing but views before the loss: the caller may compute it.
    only = replace(chain, stages=(chain.stages[0], chain.stages[-1]))
    assert step_chain(only) is None


@pytest.mark.parametrize("gradients", ParameterGradients)
@pytest.mark.parametrize("kind", [attention, convolutions, views])
def test_random_schedules_take_what_the_replay_of_the_step_chain_says(
    kind: Any, gradients: ParameterGradients
) -> None:
    torch.manual_seed(0)
    model, batch = kind()
    chain = profiled(model, batch, gradients)
    step = step_chain(chain)
    assert step is not None
    assert len(step.chain) == len(chain) - {views: 2, convolutions: 1}.get(kind, 0)
    draw = random.Random(0)
    for turn in range(4):
        operations = tuple(random_sequence(len(step.chain), draw, transfers=False))
        schedule = ChainSchedule(operations)
        limit_bytes = schedule.replay(step.chain).peak_bytes - step.gradient_bytes
        problem = RematChain(chain, limit_bytes)
        scheduled = executor.CheckpointedSequential(
            model, problem, schedule, loss=squares, step=step
        )
        assert scheduled.predicted.peak_bytes == limit_bytes
        measured = measured_rise_bytes(scheduled, batch, gradients)
        predicted = limit_bytes + step.gradient_bytes - chain.input_bytes
        # States of the generator are beside the chain, for each stage that runs again.
        states_bytes = len(chain) * torch.get_rng_state().nbytes if kind is attention else 0
        copies_bytes = sum(buffer.nbytes for buffer in model.buffers())
        assert measured <= predicted + 64 + states_bytes + copies_bytes, turn
        assert measured >= 0.97 * predicted, turn
        assert scheduled.predicted.rise_bytes == pytest.approx(measured, rel=0.002), turn


@pytest.mark.parametrize("kind", [convolutions, views])
def test_joined_stages_give_the_gradients_of_the_plain_model(kind: Any) -> None:
    torch.manual_seed(0)
    model, batch = kind()
    model, batch = model.double(), batch.double()
    chain = profiled(model, batch, ParameterGradients.NEW)
    memory = chain.recompute_all_peak_bytes
    planned = executor.checkpoint_sequential_optimal(
        model, memory=memory, chain=chain, loss=squares
    )
    assert len(planned.chain) < len(chain)
    squares(model(batch)).backward()
    plain = [parameter.grad for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    planned(batch).backward()
    for parameter, gradient in zip(model.parameters(), plain, strict=True):
        assert torch.equal(parameter.grad, gradient)
    assert [name for name, _ in planned.named_parameters()] == [
        f"model.{name}" for name, _ in model.named_parameters()
    ]


def test_views_and_gradients_to_come_leave_memory_for_what_is_saved() -> None:
    torch.manual_seed(0)
    model, batch = views()
    chain = profiled(model, batch, ParameterGradients.NEW)
    step = step_chain(chain)
    assert step is not None
    memory = step.chain.store_all_peak_bytes - step.gradient_bytes
    # With copies and all gradients reserved something would have to be computed again.
    assert memory < 0.8 * chain.store_all_peak_bytes
    planned = executor.checkpoint_sequential_optimal(
        model, memory=memory, chain=chain, loss=squares
    )
    assert planned.predicted.time_ns == chain.base_time_ns
    measured = measured_rise_bytes(planned, batch, ParameterGradients.NEW)
    limit_bytes = memory + step.gradient_bytes - chain.input_bytes
    assert 0.97 * limit_bytes <= measured <= 1.01 * limit_bytes


def test_the_least_memory_of_an_error_is_without_gradients() -> None:
    torch.manual_seed(0)
    model, batch = views()
    chain = profiled(model, batch, ParameterGradients.NEW)
    with pytest.raises(InputError, match="give at least") as caught:
        executor.checkpoint_sequential_optimal(model, memory=1000, chain=chain, loss=squares)
    least = int(str(caught.value).split("give at least ")[1].split(" bytes")[0])
    planned = executor.checkpoint_sequential_optimal(model, memory=least, chain=chain, loss=squares)
    assert planned.predicted.peak_bytes == least
    with pytest.raises(InputError):
        executor.checkpoint_sequential_optimal(model, memory=least - 1, chain=chain, loss=squares)


def test_a_step_chain_of_another_model_is_refused() -> None:
    torch.manual_seed(0)
    model, batch = views()
    chain = profiled(model, batch, ParameterGradients.NEW)
    schedule = ChainSchedule(tuple(random_sequence(3, random.Random(0), transfers=False)))
    with pytest.raises(InputError, match="5 stages, and 7 in the chain"):
        executor.CheckpointedSequential(
            model, RematChain(chain, "100%"), schedule, step=step_chain(chain_of_views())
        )
