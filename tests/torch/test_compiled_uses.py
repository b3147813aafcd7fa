"""Compiled models as people use them: parts frozen, modes and shapes changed, passes repeated."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from jettison import InputError
from jettison.instances.core.units import format_bytes

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._functorch import config as functorch_config  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

pytestmark = pytest.mark.torch
nn = torch.nn


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def layers(count: int = 4) -> Any:
    return nn.Sequential(
        *[nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(count)]
    ).double()


def batch(rows: int = 256) -> Any:
    return torch.linspace(-1, 1, 8 * rows, dtype=torch.float64).view(rows, 8)


def planned(model: Any, memory: str = "75%") -> Any:
    return executor.compiled(model, memory=memory, backend="aot_eager", most_moves=100_000)


def assert_same_gradients(model: Any, plain: Any) -> None:
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        if theirs.grad is None:
            # Ahead-of-time autograd gives zeros for an output that nobody uses.
            assert mine.grad is None or not mine.grad.any()
        else:
            assert torch.equal(mine.grad, theirs.grad)


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = layers(3), layers(3)

    def forward(self, x: Any) -> Any:
        return self.left(x).sum(), self.right(x)


class Checkpointed(TwoHeads):
    def forward(self, x: Any) -> Any:
        return self.right(checkpoint(self.left, x, use_reentrant=False)).sum(), x


class Written(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = layers()
        self.register_buffer("mean", torch.zeros(8, dtype=torch.float64))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x: Any) -> Any:
        y = self.layers(x) * 1
        y.mul_(2).add_(self.mean)
        y[:, 0] = 1
        self.mean += y.detach().mean(0)
        self.calls += 1
        return y.relu_().sum(), x


def frozen() -> Any:
    model = TwoHeads()
    model.left[0].requires_grad_(False)
    return model


@pytest.mark.parametrize("make", [TwoHeads, frozen, Checkpointed, Written])
def test_gradients_add_up_over_steps_as_in_the_plain_model(make: Callable[[], Any]) -> None:
    model = make()
    plain, run = copy.deepcopy(model), planned(model)
    for scale in (1, 2):
        for step in (run, plain):
            step(batch() * scale)[0].backward()
    assert_same_gradients(model, plain)
    assert all(map(torch.equal, model.buffers(), plain.buffers()))
    assert run.plan.time_ns > run.plan.base_time_ns


def test_evaluation_and_training_take_turns() -> None:
    model = nn.Sequential(layers(), nn.Dropout(0.3))
    plain, run = copy.deepcopy(model), planned(model)
    for _ in range(2):
        for step in (run, plain):
            step.eval()
        with torch.no_grad():
            assert torch.equal(run(batch()), plain(batch()))
        for step in (run, plain):
            torch.manual_seed(3)
            step.train()(batch()).sum().backward()
    assert_same_gradients(model, plain)
    assert len(run.reports) == 1


def test_a_part_that_is_frozen_later_has_a_graph_of_its_own() -> None:
    model = layers()
    plain, run = copy.deepcopy(model), planned(model)
    for frozen in (False, True):
        for step, module in ((run, model), (plain, plain)):
            module[0].requires_grad_(not frozen)
            step(batch()).sum().backward()
    assert_same_gradients(model, plain)
    assert len(run.reports) == 2


def test_gradients_of_inputs_are_counted_and_given() -> None:
    model = layers()
    plain, run = copy.deepcopy(model), planned(model)
    mine, theirs = batch().requires_grad_(), batch().requires_grad_()
    run(mine).sum().backward()
    plain(theirs).sum().backward()
    assert torch.equal(mine.grad, theirs.grad)
    assert run.measured_peak_bytes == run.predicted_peak_bytes


def test_the_types_of_autocast_are_those_of_the_plain_model() -> None:
    model = layers().float()
    plain, run = copy.deepcopy(model), planned(model, "85%")
    x = batch(2048).float()
    for step in (run, plain):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = step(x)
        output.float().sum().backward()
    assert_same_gradients(model, plain)


def test_a_second_backward_pass_needs_the_setting_of_pytorch_and_a_derivative_is_refused() -> None:
    model = layers()
    plain, run = copy.deepcopy(model), planned(model)
    with pytest.raises(RuntimeError, match="donated_buffer=False"):
        run(batch()).sum().backward(retain_graph=True)
    torch._dynamo.reset()
    model.zero_grad()
    with functorch_config.patch(donated_buffer=False):
        for step in (planned(model), plain):
            loss = step(batch()).sum()
            loss.backward(retain_graph=True)
            loss.backward()
        assert_same_gradients(model, plain)
        x = batch().requires_grad_()
        (gradient,) = torch.autograd.grad(run(x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="does not currently support double backward"):
            gradient.sum().backward()


def test_more_shapes_than_pytorch_compiles_are_one_error() -> None:
    run = planned(layers(1), "1GiB")
    with torch._dynamo.config.patch(recompile_limit=2):
        for rows in (4, 5):
            run(batch(rows)).sum().backward()
        with pytest.raises(InputError, match="more than 2 graphs: each shape"):
            run(batch(6))


def test_a_share_below_all_plans_is_one_error_with_what_is_known() -> None:
    run = planned(layers(), "20%")
    with pytest.raises(InputError) as raised:
        run(batch())
    # The search for what would do is limited by its work: one message on every machine.
    (report,) = run.reports
    assert raised.value.expected.startswith(
        f"give at least {format_bytes(report.reference_peak_bytes)}"
        f" ({report.reference_peak_bytes} bytes), the least that the one compiled plan met;"
        " no plan is predicted"
    )
    with pytest.raises(InputError, match="memory: '0' has no unit"):
        planned(layers(), "0")


def test_sparse_gradients_are_refused_by_name() -> None:
    model = nn.Embedding(4, 8, sparse=True)
    with pytest.raises(InputError, match=r"not a dense tensor; give dense gradients"):
        planned(model)(torch.tensor([1, 2, 3])).square().sum().backward()
