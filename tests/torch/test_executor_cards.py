"""Cards as memory limits of training steps: less what is resident on them."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import Card, InputError
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch

PARAMETER_BYTES = 4 * 4 * (16 * 16 + 16)


def layers() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(4)])


def batch() -> Any:
    return torch.linspace(-1, 1, 1024).reshape(64, 16)


def profiled(model: Any) -> Any:
    return profile_chain(
        model,
        batch(),
        name="small-cpu",
        model_name="small",
        warmup=0,
        repeats=1,
        check=CostCheck.TRUST,
    )


@pytest.mark.parametrize("bandwidth", [None, "10GB/s"])
def test_a_chain_has_what_a_card_leaves_beside_weights_and_gradients(bandwidth: Any) -> None:
    model = layers()
    chain = profiled(model)
    limit_bytes = chain.store_all_peak_bytes
    for card in (
        Card(limit_bytes + 2 * PARAMETER_BYTES),
        Card(limit_bytes + 7, resident=7),
        f"card={limit_bytes + 7}B:resident=7B",
    ):
        step = executor.checkpoint_sequential_optimal(
            model, chain=chain, memory=card, bandwidth=bandwidth, time_limit=5
        )
        assert step.problem.memory_bytes == limit_bytes
        assert step.predicted.peak_bytes <= limit_bytes
    step(batch()).sum().backward()


def test_a_card_that_is_too_small_is_an_error_with_one_that_is_not() -> None:
    model = layers()
    chain = profiled(model)
    with pytest.raises(InputError, match=r"for which a card of \d+ bytes would do") as refused:
        executor.checkpoint_sequential_optimal(model, chain=chain, memory=Card(5000, resident=1000))
    least = int(str(refused.value).split("a card of ")[1].split()[0])
    fits = executor.checkpoint_sequential_optimal(
        model, chain=chain, memory=Card(least, resident=1000)
    )
    assert fits.problem.memory_bytes == least - 1000


def test_a_graph_has_what_a_card_leaves_beside_parameters_and_the_batch() -> None:
    model, x = layers(), batch()

    def squares(output: Any) -> Any:
        return output.pow(2).sum()

    program = executor.trace_step_program(
        model, x, loss=squares, cost=Roofline(), memory=TracedMemory()
    )
    limit_bytes = program.graph.store_all_peak_bytes
    for card in (Card(limit_bytes + PARAMETER_BYTES + x.nbytes), Card(limit_bytes, resident=0)):
        step = executor.checkpoint_step_optimal(
            model, memory=card, loss=squares, program=program, method="store-all"
        )
        assert step.problem.memory_bytes == limit_bytes
    step(x).backward()


@pytest.mark.parametrize("resident", [None, 1000])
def test_a_compiled_step_has_what_a_card_leaves_beside_what_it_is_given(resident: Any) -> None:
    model, x = layers(), batch()
    given_bytes = PARAMETER_BYTES + x.nbytes if resident is None else resident
    limit_bytes = 2**20
    run = executor.compiled(
        model, memory=Card(limit_bytes + given_bytes, resident=resident), backend="aot_eager"
    )
    run(x).sum().backward()
    assert run.report.limit_bytes == limit_bytes


def test_a_card_is_no_memory_of_a_compiled_step_if_its_parameters_do_not_fit() -> None:
    run = executor.compiled(layers(), memory=Card(PARAMETER_BYTES), backend="aot_eager")
    with pytest.raises(InputError, match="resident"):
        run(batch())


def test_a_trainer_in_one_budget_has_the_whole_card() -> None:
    x, whole = batch(), 2**20
    for card in (Card(whole), Card(whole + 5000, resident=5000)):
        trainer = executor.train_in_one_budget(
            layers(),
            optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1),
            loss=nn.functional.mse_loss,
            memory=card,
            bandwidth="10GB/s",
            sample_input=x,
            sample_loss_arguments=(torch.zeros(64, 16),),
            time_limit=2,
            warmup=0,
            repeats=1,
            check=CostCheck.TRUST,
        )
        assert trainer.problem.memory_bytes == whole
        trainer.close()
