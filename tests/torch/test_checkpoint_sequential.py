from __future__ import annotations

import copy
from typing import Any

import pytest

from jettison import Chain, InputError, RematChain
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.zoo.catalogue import build
from tests.remat_chain.sequences import sequence

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = pytest.mark.torch


def wide_model() -> Any:
    torch.manual_seed(0)
    block = [
        nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Dropout(0.1), nn.Linear(128, 32))
        for _ in range(6)
    ]
    return nn.Sequential(*block, nn.Linear(32, 8))


def profiled(
    model: Any,
    x: Any,
    loss: Any = None,
    gradients: ParameterGradients = ParameterGradients.ACCUMULATED,
) -> Chain:
    return profile_chain(
        model,
        x,
        name="wide-cpu",
        model_name="wide",
        loss=loss,
        warmup=0,
        repeats=1,
        gradients=gradients,
    )


def fill_gradients(model: Any) -> None:
    """Allocate gradients, which the chain model counts as there from the start."""
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)


def peak_bytes(step: Any, input_bytes: int) -> int:
    # It imports PyTorch, without which these tests are skipped.
    from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter

    with CpuMemoryMeter() as meter, meter.window() as window:
        step()
    return window.rise_bytes + input_bytes


@pytest.mark.parametrize("memory", ["30%", "50%", "75%", "100%"])
@pytest.mark.parametrize("bandwidth", [None, "1GB/s"])
@pytest.mark.parametrize("gradients", ParameterGradients)
def test_the_measured_peak_stays_within_the_predicted_one(
    memory: str, bandwidth: str | None, gradients: ParameterGradients
) -> None:
    model, x, labels = wide_model(), torch.randn(64, 32), torch.randint(8, (64,))
    loss = nn.CrossEntropyLoss()
    chain = profiled(model, x, lambda output: loss(output, labels), gradients)
    scheduled = executor.checkpoint_sequential_optimal(
        model, chain=chain, memory=memory, bandwidth=bandwidth, loss=loss
    )
    if gradients is ParameterGradients.ACCUMULATED:
        fill_gradients(model)
        new_bytes = 0
    else:
        # Their place is reserved beside the memory of the chain.
        new_bytes = sum(stage.weight_bytes for stage in chain)
    if bandwidth is not None:
        # On a CPU the host is the same memory: the copies there are counted, and not a part of it.
        moved = {op.tensor for op in scheduled.schedule.operations if str(op).startswith("O")}
        host_bytes = sum(tensor.size_bytes(chain) for tensor in moved)
        # What has left is held until the limit is reached (`ExecutionPlan.releases`).
        held_bytes = scheduled.problem.memory_bytes
    else:
        host_bytes = 0
        held_bytes = scheduled.predicted.peak_bytes

    def step() -> None:
        scheduled(x, labels).backward()

    # Generators' states and the scalar loss are not a part of the model: a few thousand bytes for
    # each stage that runs again.
    slack_bytes = 6000 * len(chain)
    measured = peak_bytes(step, chain.input_bytes)
    limit_bytes = held_bytes + new_bytes + host_bytes + slack_bytes
    assert measured <= limit_bytes
    assert scheduled.predicted.peak_bytes <= scheduled.problem.memory_bytes


def test_a_dropped_input_is_out_of_memory_until_it_is_made_again() -> None:
    torch.manual_seed(0)
    # Inputs of 64 KiB, of which the stages save besides a sixteenth only.
    block = [nn.Sequential(nn.Linear(256, 16), nn.Tanh(), nn.Linear(16, 256)) for _ in range(6)]
    model, x = nn.Sequential(*block), torch.randn(64, 256)
    chain = profiled(model, x)
    fill_gradients(model)
    # All is saved but the outputs of stages 2 and 4, which are dropped under what the next stage
    # has saved, and made again.
    with_drops = "F_all 1, F_ck 2, F_all 3, D 2, F_ck 4, F_all 5, D 4, F_all 6, F_all 7, B 7, B 6, "
    with_drops += "F_all 4, B 5, B 4, F_all 2, B 3, B 2, B 1"
    peaks, predicted = [], []
    for text in (with_drops, with_drops.replace("D 2, ", "").replace("D 4, ", "")):
        schedule = sequence(text)
        problem = RematChain(chain, schedule.replay(chain).peak_bytes)
        scheduled = executor.CheckpointedSequential(model, problem, schedule)
        predicted.append(scheduled.predicted.peak_bytes)
        peaks.append(peak_bytes(lambda run=scheduled: run(x).mean().backward(), chain.input_bytes))
    # Two inputs less at the turn, by the replay and in fact.
    input_bytes = 64 * 256 * 4
    assert predicted[1] - predicted[0] == 2 * input_bytes
    slack_bytes = 6000 * len(chain)
    for measured, replayed in zip(peaks, predicted, strict=True):
        assert measured <= replayed + slack_bytes
    assert peaks[1] - peaks[0] == pytest.approx(2 * input_bytes, abs=slack_bytes)


def test_the_measured_peak_falls_with_the_memory() -> None:
    model, x = wide_model(), torch.randn(256, 32)
    chain = profiled(model, x)
    peaks = []
    for memory in ("30%", "60%", "100%"):
        scheduled = executor.checkpoint_sequential_optimal(model, chain=chain, memory=memory)
        fill_gradients(model)
        peaks.append(peak_bytes(lambda run=scheduled: run(x).mean().backward(), chain.input_bytes))
    assert peaks[0] < 0.7 * peaks[1] < 0.7 * peaks[2]


def test_a_model_of_the_zoo_trains_in_half_of_its_memory_with_equal_losses() -> None:
    work = build("gpt2", batch=8, input_size=32, depth=6, hidden=32, heads=4, vocabulary=50)
    plain = copy.deepcopy(work.model)
    scheduled = executor.checkpoint_sequential_optimal(
        work.model,
        memory="50%",
        sample_input=work.sample_input,
        loss=work.loss,
        warmup=0,
        repeats=1,
    )
    assert scheduled.predicted.peak_bytes <= scheduled.chain.store_all_peak_bytes // 2
    losses: list[list[float]] = []
    for run in (scheduled, lambda x: work.loss(plain(x))):
        model = work.model if run is scheduled else plain
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        losses.append([])
        # The model has dropout.
        torch.manual_seed(5)
        for _ in range(3):
            optimizer.zero_grad()
            loss = run(work.sample_input)
            loss.backward()
            optimizer.step()
            losses[-1].append(float(loss.detach()))
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


def test_a_list_of_stages_and_a_sample_are_enough() -> None:
    scheduled = executor.checkpoint_sequential_optimal(
        list(wide_model()), memory="60%", sample_input=torch.randn(8, 32), warmup=0, repeats=1
    )
    assert scheduled(torch.randn(8, 32)).shape == (8, 8)
    assert scheduled.chain.name == "sequential-7-stages-cpu"
    assert scheduled.chain.provenance.device_kind == "cpu"


def test_too_little_memory_says_how_much_is_needed() -> None:
    model, x = wide_model(), torch.randn(8, 32)
    with pytest.raises(InputError, match=r"memory: .* no schedule .* give at least \d+ bytes"):
        executor.checkpoint_sequential_optimal(model, chain=profiled(model, x), memory=1000)


def test_neither_a_sample_nor_a_chain_is_an_error() -> None:
    with pytest.raises(InputError, match="give one batch, or the chain of a profile"):
        executor.checkpoint_sequential_optimal(wide_model(), memory="60%")


@pytest.mark.parametrize("model", [nn.Bilinear(2, 2, 2), [nn.ReLU(), "relu"], 3])
def test_a_model_without_an_order_of_stages_is_an_error(model: Any) -> None:
    with pytest.raises(InputError, match=r"^model: an? .*give an nn\.Sequential, or a list"):
        executor.checkpoint_sequential_optimal(model, memory="80%", sample_input=torch.zeros(2, 2))


def test_arguments_of_the_loss_are_measured_and_passed_on() -> None:
    model, x, labels = wide_model(), torch.randn(8, 32), torch.randint(8, (8,))
    scheduled = executor.checkpoint_sequential_optimal(
        model,
        memory="60%",
        sample_input=x,
        loss=nn.functional.cross_entropy,
        sample_loss_arguments=(labels,),
        warmup=0,
        repeats=1,
    )
    assert scheduled(x, labels).shape == ()
    # Log-probabilities of 8 x 8 float32 are saved for the backward pass.
    assert scheduled.chain.stages[-1].saved_bytes >= 256


@pytest.mark.parametrize("memory", ["60%", "75%"])
def test_an_input_that_the_caller_holds_is_never_sent_away(memory: str) -> None:
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(6)])
    x = torch.randn(512, 64)
    chain = profile_chain(model, x, name="wide", model_name="wide", warmup=0, repeats=1)
    # A link so fast that whatever is sent costs nothing, and an input worth sending.
    scheduled = executor.checkpoint_sequential_optimal(
        model, chain=chain, memory=memory, bandwidth="1000GB/s"
    )
    operations = [str(item) for item in scheduled.schedule.operations]
    assert any(item.startswith("O") for item in operations)
    assert not {"O 0", "D 0", "P 0", "F_none 1"} & set(operations)
    assert scheduled.predicted.peak_bytes <= scheduled.problem.memory_bytes
    assert scheduled.problem.instance == chain
