"""Steps in recorded segments; on a CPU the same program runs and nothing is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import InputError, RematGraph, solve
from tests.executor_steps import same, twin

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    ),
]
EACH_DEVICE = pytest.mark.parametrize("device", DEVICES)


def squares(output: Any) -> Any:
    return output.square().mean()


def model_on(device: str) -> Any:
    torch.manual_seed(0)
    layers = [
        nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()) for _ in range(4)
    ]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * 8 * 8, 3)).double().to(device)


def batch(device: str, seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.randn(2, 4, 8, 8, dtype=torch.float64).to(device)


def captured(model: Any, device: str, memory: str = "75%") -> Any:
    # Schedules are compared, and no memory is measured.
    program = executor.trace_step_program(
        model, batch(device, 0), loss=squares, cost=Roofline(), memory=TracedMemory()
    )
    problem = RematGraph(program.graph, memory)
    schedule = solve(problem, "exact", time_limit=5).schedule
    return executor.CapturedStep(program, problem, schedule)


@EACH_DEVICE
def test_steps_are_those_of_the_plain_model_from_the_first_to_the_recorded_ones(
    device: str,
) -> None:
    model = model_on(device)
    plain = twin(model)
    step = captured(model, device)
    assert len(step.schedule.computations) > len(step.graph)
    mine = torch.optim.SGD(model.parameters(), lr=0.1)
    other = torch.optim.SGD(plain.parameters(), lr=0.1)
    for number in range(5):
        for run, optimizer in ((step, mine), (lambda x: squares(plain(x)), other)):
            optimizer.zero_grad()
            # A factor before the backward pass reaches the gradients.
            (run(batch(device, number)) * (number + 1)).backward()
        for one, two in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(one.grad, two.grad, rtol=1e-10, atol=1e-9)
        mine.step()
        other.step()
    for one, two in zip(model.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(one, two)


@EACH_DEVICE
def test_gradients_that_are_kept_are_added_to(device: str) -> None:
    model = model_on(device)
    plain = twin(model)
    step = captured(model, device)
    for number in range(4):
        loss = step(batch(device, number))
        expected = squares(plain(batch(device, number)))
        torch.testing.assert_close(loss, expected)
        loss.backward()
        expected.backward()
    for one, two in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-10, atol=1e-9)


@EACH_DEVICE
def test_one_step_at_a_time_is_under_way(device: str) -> None:
    step = captured(model_on(device), device)
    first = step(batch(device, 0))
    second = step(batch(device, 1))
    with pytest.raises(executor.ExecutionError, match="run each backward before the next"):
        first.backward()
    second.backward(retain_graph=True)
    with pytest.raises(executor.ExecutionError, match="has run backward already"):
        second.backward()


@EACH_DEVICE
def test_parameters_in_other_memory_are_recorded_anew(device: str) -> None:
    model = model_on(device)
    step = captured(model, device)
    for number in range(3):
        step(batch(device, number)).backward()
    plain = twin(model)
    for parameter in model.parameters():
        parameter.data = 2 * parameter.data
    for parameter in plain.parameters():
        parameter.data = 2 * parameter.data
    for number in range(3):
        model.zero_grad()
        plain.zero_grad()
        step(batch(device, number)).backward()
        squares(plain(batch(device, number))).backward()
        for one, two in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(one.grad, two.grad, rtol=1e-10, atol=1e-9)


def test_a_change_before_the_backward_pass_and_random_numbers_are_refused() -> None:
    model = model_on("cpu")
    step = captured(model, "cpu")
    loss = step(batch("cpu", 0))
    with torch.no_grad():
        model[0][0].weight.add_(1)
    with pytest.raises(executor.ExecutionError, match="modified in place"):
        loss.backward()
    noisy = nn.Sequential(model_on("cpu"), nn.Dropout(0.5))
    with pytest.raises(InputError, match="draws random numbers; set the dropout"):
        captured(noisy, "cpu", "100%")


def test_a_hook_of_a_parameter_sees_its_gradient() -> None:
    model = model_on("cpu")
    step = captured(model, "cpu")
    seen: list[Any] = []
    model[0][0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    for number in range(3):
        model.zero_grad()
        step(batch("cpu", number)).backward()
        assert same(seen[-1], model[0][0].weight.grad)
    assert len(seen) == 3
