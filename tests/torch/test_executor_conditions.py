"""Conditions on a model and its stages around and during a step, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jettison import InputError, Link, RematChain, RematOffloadChain, solve
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from tests.executor_steps import Step, same, squares, twin, unit_chain

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = pytest.mark.torch

EACH_SCHEDULE = pytest.mark.parametrize("method", ["store-all", "recompute-all", "offload-all"])


def scheduled(model: Any, method: str = "recompute-all") -> Any:
    chain = unit_chain(model)
    problem = (
        RematOffloadChain(chain, 100, Link(10**9))
        if method == "offload-all"
        else RematChain(chain, 100)
    )
    return executor.CheckpointedSequential(model, problem, solve(problem, method).schedule)


class Calls(nn.Module):
    """A linear layer, and a function of it and the input."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4).double()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def layers(function: Callable[[Any, Any], Any] = lambda self, x: self.linear(x).tanh()) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(*[Calls(function) for _ in range(3)])


def batch() -> Any:
    return torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(2, 4)


def add_to_weight(model: Any, _: Any) -> None:
    with torch.no_grad():
        model[1].linear.weight.add_(1)


def add_to_input(_: Any, x: Any) -> None:
    x.add_(1)


def replace_weight(model: Any, _: Any) -> None:
    model[1].linear.weight = nn.Parameter(2 * model[1].linear.weight.detach())


@EACH_SCHEDULE
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (add_to_weight, "modified in place or replaced"),
        (add_to_input, "modified in place or replaced"),
        (replace_weight, "modified in place or replaced"),
        (lambda model, _: model.eval(), "training and evaluation mode"),
        (lambda model, _: model[1].requires_grad_(requires_grad=False), "requires_grad"),
    ],
)
def test_what_runs_again_has_to_stay_as_it_is_until_the_backward_pass(
    change: Any, message: str, method: str
) -> None:
    model, x = layers(), batch()
    loss = squares(scheduled(model, method)(x))
    change(model, x)
    with pytest.raises(executor.ExecutionError, match=message):
        loss.backward()


def test_an_argument_of_the_loss_has_to_stay_as_it_is_until_the_backward_pass() -> None:
    model, labels = layers(), batch()
    problem = RematChain(unit_chain(model), 100)
    schedule = solve(problem, "recompute-all").schedule
    step = executor.CheckpointedSequential(model, problem, schedule, loss=nn.MSELoss())
    value = step(batch(), labels)
    labels.add_(1)
    with pytest.raises(executor.ExecutionError, match="modified in place or replaced"):
        value.backward()


def test_parameters_that_are_lent_for_a_call_are_refused_in_the_backward_pass() -> None:
    model = layers()
    step = scheduled(model)
    lent = {name: 2 * item.detach() for name, item in step.named_parameters()}
    lent = {name: item.requires_grad_() for name, item in lent.items()}
    loss = squares(torch.func.functional_call(step, lent, (batch(),)))
    with pytest.raises(executor.ExecutionError, match="modified in place or replaced"):
        loss.backward()


def test_an_optimizer_may_step_between_two_steps_and_state_may_be_loaded() -> None:
    model = layers()
    plain = twin(model)
    found = []
    for run, parts in ((scheduled(model), model), (plain, plain)):
        optimizer = torch.optim.Adam(parts.parameters(), lr=0.1)
        for _ in range(3):
            squares(run(batch())).backward()
            optimizer.step()
        parts.load_state_dict(twin(parts).requires_grad_(requires_grad=False).state_dict())
        squares(run(batch())).backward()
        found.append([item.grad for item in parts.parameters()])
    assert all(map(same, *found))


def test_what_stays_in_memory_has_to_stay_as_it_was_saved() -> None:
    from jettison.torch.saved_storages import SavedStorages

    buffer, x = torch.ones(4), torch.ones(4, requires_grad=True)
    saved = SavedStorages(x, frozenset({buffer.untyped_storage().data_ptr()}))
    # Autograd does not look at the versions of what it saves through hooks.
    with torch.autograd.graph.saved_tensors_hooks(saved.pack, saved.unpack):
        product = x * buffer
    buffer.mul_(2)
    with pytest.raises(executor.ExecutionError, match="a buffer was modified in place"):
        product.sum().backward()


def test_a_stage_that_overwrites_what_its_backward_operation_needs_is_refused() -> None:
    # As in plain autograd, whose check does not see what was saved through hooks.
    model = layers(lambda self, x: self.linear(x).exp().mul_(2))
    with pytest.raises(executor.ExecutionError, match="its own backward operation needs"):
        squares(scheduled(model, "offload-all")(batch())).backward()
    for run in (model, scheduled(model, "store-all")):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            squares(run(batch())).backward()


def test_a_stage_that_writes_to_its_parameters_may_run_once_only() -> None:
    def clip(self: Any, x: Any) -> Any:
        with torch.no_grad():
            self.linear.weight.mul_(0.5)
        return self.linear(x)

    model = layers(clip)
    plain = twin(model)
    Step(scheduled(model, "store-all"), model, batch()).assert_equal(Step(plain, plain, batch()))
    with pytest.raises(InputError, match="s0: the stage writes to its parameters"):
        scheduled(model)(batch())


@EACH_SCHEDULE
@pytest.mark.parametrize(
    "draw",
    [
        lambda: float(torch.rand(())),
        random.random,
        np.random.rand,
    ],
)
def test_repeated_stages_draw_the_same_numbers_from_every_global_generator(
    draw: Any, method: str
) -> None:
    model = layers(lambda self, x: self.linear(x) * draw())
    plain = twin(model)
    found = []
    for run, parts in ((scheduled(model, method), model), (plain, plain)):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        found.append((Step(run, parts, batch()), draw()))
    found[0][0].assert_equal(found[1][0])
    assert found[0][1] == found[1][1]


@EACH_SCHEDULE
def test_buffers_that_share_memory_share_it_when_a_stage_runs_again(method: str) -> None:
    def write(self: Any, x: Any) -> Any:
        self.whole.add_(1)
        return self.linear(x) * self.part

    model = layers(write)
    plain = layers(write)
    for stage in (*model, *plain):
        stage.register_buffer("whole", torch.zeros(8, dtype=torch.float64))
        stage.register_buffer("part", stage.whole[2:6])
    Step(scheduled(model, method), model, batch()).assert_equal(Step(plain, plain, batch()))


@EACH_SCHEDULE
def test_conjugate_and_negative_views_come_back_from_the_host_as_they_were(method: str) -> None:
    class Conjugate(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.fft(x).conj()

    class Imaginary(nn.Module):
        # Of a conjugate view it is a negative view.
        def forward(self, x: Any) -> Any:
            return x.imag

    model = nn.Sequential(layers()[0], Conjugate(), Imaginary(), layers()[1])
    plain = twin(model)
    Step(scheduled(model, method), model, batch()).assert_equal(Step(plain, plain, batch()))


class Twice(nn.Sequential):
    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


def hooked(register: str) -> Any:
    model = layers()
    getattr(model, register)(lambda *_: None)
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Twice(*layers()), "Twice has a forward method of its own"),
        (hooked("register_forward_hook"), "hooks, which do not run"),
        (hooked("register_forward_pre_hook"), "hooks, which do not run"),
        (hooked("register_full_backward_hook"), "hooks, which do not run"),
        (hooked("register_full_backward_pre_hook"), "hooks, which do not run"),
        (layers()[0], r"a Calls is not an nn\.Sequential"),
    ],
)
def test_a_model_that_does_more_than_its_stages_is_no_chain(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        profile_chain(model, batch(), name="m-cpu", model_name="m")
    problem = RematChain(unit_chain(layers()), 100)
    with pytest.raises(InputError, match=message):
        executor.CheckpointedSequential(model, problem, solve(problem).schedule)


def test_a_hook_of_the_model_that_comes_later_is_refused_as_well() -> None:
    model = layers()
    step = scheduled(model)
    model.register_forward_hook(lambda *_: None)
    with pytest.raises(InputError, match="hooks, which do not run"):
        step(batch())
