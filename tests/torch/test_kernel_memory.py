"""Memory that kernels take for themselves: measured, and a part of what is predicted."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jettison import InputError, RematGraph, solve
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn, functional = torch.nn, torch.nn.functional

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: Any) -> Any:
        shape = (*x.shape[:2], 3, 4, 8)
        q, k, v = self.into(x).view(shape).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(found.transpose(1, 2).reshape(x.shape))


class Norm2d(nn.LayerNorm):
    """Layer norm of the channels, as in ConvNeXt."""

    def forward(self, x: Any) -> Any:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Folded(nn.Module):
    """A composite: a padding, windows, a product, and the sum of the windows."""

    def forward(self, x: Any) -> Any:
        windows = functional.unfold(x, 3, padding=1)
        return functional.fold(windows.cumsum(-1) / 100, x.shape[2:], 3, padding=1)


def image(rows: int = 4) -> Any:
    return torch.randn(rows, 16, 24, 24)


def convolution(**options: Any) -> Any:
    return nn.Conv2d(16, 16, 3, padding=1, **options)


# Each repeats one kind of kernel, between others that it is used with.
KERNELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "layer norm": lambda: (
        nn.Sequential(*[m for _ in range(4) for m in (Norm2d(16), nn.GELU(), convolution())]),
        image(),
    ),
    "group norm": lambda: (
        nn.Sequential(*[m for _ in range(4) for m in (nn.GroupNorm(4, 16), convolution())]),
        image(),
    ),
    "group norm, channels last": lambda: (
        nn.Sequential(
            convolution(), *[m for _ in range(4) for m in (nn.GroupNorm(4, 16), nn.SiLU())]
        ),
        image().to(memory_format=torch.channels_last),
    ),
    "depthwise convolution": lambda: (
        nn.Sequential(*[m for _ in range(4) for m in (convolution(groups=16), nn.GELU())]),
        image(),
    ),
    "strided convolution": lambda: (
        nn.Sequential(convolution(), nn.Conv2d(16, 32, 2, 2), nn.GELU(), nn.Conv2d(32, 64, 2, 2)),
        image(8),
    ),
    "transposed convolution": lambda: (
        nn.Sequential(nn.ConvTranspose2d(16, 16, 2, 2), nn.Tanh(), convolution()),
        image(),
    ),
    "attention": lambda: (nn.Sequential(*[Attention() for _ in range(4)]), torch.randn(4, 96, 32)),
    "batch norm": lambda: (
        nn.Sequential(
            *[m for _ in range(4) for m in (convolution(), nn.BatchNorm2d(16), nn.ReLU())]
        ),
        image(),
    ),
    "composite": lambda: (nn.Sequential(convolution(), Folded(), convolution(), Folded()), image()),
    "embedding and softmax": lambda: (
        nn.Sequential(nn.Embedding(512, 32), nn.Linear(32, 512), nn.LogSoftmax(-1)),
        torch.randint(512, (8, 32)),
    ),
}


def squares(output: Any) -> Any:
    return output.square().mean()


def measured_peak(step: Any, x: Any) -> int:
    for parameter in step.step.parameters():
        parameter.grad = None
    with CpuMemoryMeter() as meter, meter.window() as window:
        step(x).backward()
    return int(window.rise_bytes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_measured_peak_is_the_predicted_one_whatever_a_kernel_allocates(kernel: str) -> None:
    torch.manual_seed(0)
    model, x = KERNELS[kernel]()
    program = executor.trace_step_program(model, x, loss=squares, cost=Roofline())
    for memory in ("100%", "80%"):
        problem = RematGraph(program.graph, memory)
        schedule = solve(problem, "exact", time_limit=1).schedule
        if schedule is None:
            assert memory != "100%"
            continue
        step = executor.CheckpointedStep(program, problem, schedule)
        peak_bytes = measured_peak(step, x)
        assert peak_bytes == pytest.approx(step.predicted.peak_bytes, rel=0.03)
        assert peak_bytes <= 1.01 * problem.memory_bytes


@pytest.mark.parametrize("kernel", ["strided convolution", "transposed convolution", "composite"])
def test_without_the_memory_of_kernels_the_prediction_would_be_too_low(kernel: str) -> None:
    torch.manual_seed(0)
    model, x = KERNELS[kernel]()
    program = executor.trace_step_program(
        model, x, loss=squares, cost=Roofline(), memory=TracedMemory()
    )
    problem = RematGraph(program.graph, "100%")
    step = executor.CheckpointedStep(program, problem, solve(problem, "store-all").schedule)
    assert measured_peak(step, x) > 1.2 * step.predicted.peak_bytes


def test_a_sequential_model_keeps_the_limit_with_kernels_that_allocate() -> None:
    torch.manual_seed(0)
    model, x = KERNELS["layer norm"]()
    measured = profile_chain(
        model,
        x,
        name="norms",
        model_name="norms",
        loss=squares,
        warmup=0,
        repeats=1,
        gradients=ParameterGradients.ACCUMULATED,
    )
    # Durations decide which of many schedules it is, and memory is what is tested.
    stages = tuple(replace(stage, forward_ns=1000, backward_ns=2000) for stage in measured)
    chain = replace(measured, stages=stages)
    for memory in ("100%", "70%"):
        scheduled = executor.checkpoint_sequential_optimal(
            model, memory=memory, chain=chain, loss=squares
        )
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        with CpuMemoryMeter() as meter, meter.window() as window:
            scheduled(x).backward()
        peak_bytes = window.rise_bytes + scheduled.chain.input_bytes
        assert peak_bytes == pytest.approx(scheduled.predicted.peak_bytes, rel=0.03)
        assert peak_bytes <= 1.01 * scheduled.problem.memory_bytes


def dropouts() -> tuple[Any, Any]:
    layer = [m for _ in range(4) for m in (convolution(), nn.Dropout(0.2), nn.GELU())]
    return nn.Sequential(*layer), image(8).to(memory_format=torch.channels_last)


CHAINS = ("layer norm", "group norm, channels last", "attention", "batch norm")


@pytest.mark.parametrize("losses", [squares, torch.mean])
@pytest.mark.parametrize("kernel", [*CHAINS, "dropout"])
def test_random_schedules_of_a_sequential_model_keep_their_limit(kernel: str, losses: Any) -> None:
    torch.manual_seed(0)
    model, x = dropouts() if kernel == "dropout" else KERNELS[kernel]()
    measured = profile_chain(
        model,
        x,
        name="random",
        model_name="random",
        loss=losses,
        warmup=0,
        repeats=1,
        gradients=ParameterGradients.ACCUMULATED,
        check=executor.CostCheck.TRUST,
    )
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    runs = 0
    for seed in range(10):
        draw = random.Random(seed)
        stages = tuple(
            replace(stage, forward_ns=draw.randint(1, 1000), backward_ns=draw.randint(1, 1000))
            for stage in measured
        )
        chain = replace(measured, stages=stages)
        try:
            scheduled = executor.checkpoint_sequential_optimal(
                model, memory=f"{draw.randint(35, 100)}%", chain=chain, loss=losses
            )
        except InputError:
            # Too little memory for any schedule.
            continue
        runs += 1
        with CpuMemoryMeter() as meter, meter.window() as window:
            scheduled(x).backward()
        peak_bytes = window.rise_bytes + chain.input_bytes
        # A state of the random number generator has 5 kB, and each dropout that runs again two.
        states_bytes = 5064 * (10 if kernel == "dropout" else 2)
        # Operations that run again have copies of the buffers that they change, two like states.
        copies_bytes = 2 * sum(buffer.nbytes for buffer in model.buffers())
        assert peak_bytes <= scheduled.predicted.peak_bytes + states_bytes + copies_bytes, seed
        assert window.rise_bytes == pytest.approx(scheduled.predicted.rise_bytes, rel=1e-3), seed
    assert runs >= 5
