"""Conditions on a step of a graph, around it and during it, and what is refused."""

from __future__ import annotations

import copy
import io
import random
from collections.abc import Callable
from typing import Any

import pytest

from jettison import InputError, RematGraph
from jettison.remat_graph import GraphSchedule
from tests.each import each
from tests.executor_steps import same, twin

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402

pytestmark = pytest.mark.torch


class Calls(nn.Module):
    """Two layers, a parameter and a buffer as large as a batch, and a function of them."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 4).double(), nn.Linear(4, 4).double()
        self.gain = nn.Parameter(torch.ones(2, 4, dtype=torch.float64))
        self.register_buffer("scale", torch.full((2, 4), 2.0, dtype=torch.float64))
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def plain(self: Any, x: Any) -> Any:
    return (self.second((self.first(x) * self.gain).tanh()) * self.scale).tanh() * self.scale


def batch() -> Any:
    return torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(2, 4)


def squares(output: Any) -> Any:
    return (output * output).sum()


def program_of(model: Any, *inputs: Any, loss: Any = squares) -> Any:
    x, *others = inputs or (batch(),)
    return executor.trace_step_program(
        model, x, loss=loss, sample_loss_arguments=others, cost=Roofline()
    )


def step_of(program: Any, order: list[int] | None = None) -> Any:
    graph = program.graph
    schedule = GraphSchedule.from_computations(graph, order or list(range(len(graph))))
    return executor.CheckpointedStep(program, RematGraph(graph, 10**9), schedule)


def backward_order(program: Any, chance: random.Random) -> list[int]:
    """Return the forward operations in order, and the others in a random topological order."""
    graph = program.graph
    done = [node for node in range(len(graph)) if not graph.nodes[node].backward]
    left = set(range(len(graph))) - set(done)
    while left:
        ready = [node for node in sorted(left) if left.isdisjoint(graph.inputs[node])]
        done.append(chance.choice(ready))
        left.remove(done[-1])
    return done


def add_to_weight(model: Any, _: Any) -> None:
    with torch.no_grad():
        model.first.weight.add_(1)


def replace_weight(model: Any, _: Any) -> None:
    model.first.weight = nn.Parameter(2 * model.first.weight.detach())


@pytest.mark.parametrize(
    "change",
    [
        add_to_weight,
        replace_weight,
        lambda _, x: x.add_(1),
        lambda model, _: model.scale.mul_(3),
    ],
)
def test_what_a_step_reads_has_to_stay_as_it_is_until_the_backward_pass(change: Any) -> None:
    model, x = Calls(plain), batch()
    loss = step_of(program_of(model))(x)
    change(model, x)
    with pytest.raises(executor.ExecutionError, match="modified in place or replaced"):
        loss.backward()


def test_parameters_that_are_lent_for_a_call_are_refused_in_the_backward_pass() -> None:
    step = step_of(program_of(Calls(plain)))
    lent = {name: nn.Parameter(2 * item.detach()) for name, item in step.named_parameters()}
    loss = torch.func.functional_call(step, lent, (batch(),))
    with pytest.raises(executor.ExecutionError, match="modified in place or replaced"):
        loss.backward()


def append(model: Any) -> None:
    model.third = nn.Linear(4, 4)


def tie(model: Any) -> None:
    model.second.weight = model.first.weight


def replace(model: Any) -> None:
    model.second = nn.Linear(4, 4).double()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replace, "a module was replaced"),
        (append, "a module was replaced, added"),
        (tie, "is shared otherwise"),
        (lambda model: model.float(), "another size, stride, type"),
        (lambda model: model.eval(), "training and evaluation mode"),
    ],
)
def test_a_model_has_to_be_the_one_that_was_traced(change: Any, message: str) -> None:
    model = Calls(plain)
    step = step_of(program_of(model))
    change(model)
    with pytest.raises(executor.ExecutionError, match=message):
        step(batch())


def test_parameters_may_be_replaced_and_state_loaded_between_steps() -> None:
    model = Calls(plain)
    step = step_of(program_of(model))
    model.load_state_dict({name: 2 * item for name, item in model.state_dict().items()})
    model.first.weight = nn.Parameter(model.first.weight.detach() + 1)
    other = twin(model)
    step(batch()).backward()
    squares(other(batch())).backward()
    for mine, expected in zip(model.parameters(), other.parameters(), strict=True):
        assert same(mine.grad, expected.grad)


@each(seed=range(6))
def test_a_hook_may_step_an_optimizer_as_soon_as_a_gradient_is_there(seed: int) -> None:
    # The gradient of a weight and that of the layer's input are operations of their own, in any
    # order: the input's still needs the old weight.
    def descend(parameter: Any) -> None:
        with torch.no_grad():
            parameter.sub_(0.1 * parameter.grad)
        parameter.grad = None

    model = Calls(plain)
    other = twin(model)
    program = program_of(model)
    step = step_of(program, backward_order(program, random.Random(seed)))
    for item in (*model.parameters(), *other.parameters()):
        item.register_post_accumulate_grad_hook(descend)
    for _ in range(2):
        step(batch()).backward()
        squares(other(batch())).backward()
    for mine, expected in zip(model.parameters(), other.parameters(), strict=True):
        assert same(mine, expected)


class Swapped(torch.autograd.Function):
    """The gradient of the first factor is the second as it is: no copy, and no product."""

    @staticmethod
    def forward(ctx: Any, left: Any, right: Any) -> Any:
        ctx.save_for_backward(right)
        return left * right

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return ctx.saved_tensors[0], None


@pytest.mark.parametrize("other", [lambda _, x: x, lambda self, _: self.scale])
def test_a_gradient_that_is_resident_memory_is_copied(other: Any) -> None:
    def forward(self: Any, x: Any) -> Any:
        return self.first(Swapped.apply(self.gain, other(self, x)) * x)

    model, x = Calls(forward), batch()
    expected = twin(model)
    step = step_of(program_of(model))
    for _ in range(3):
        step(x).backward()
        squares(expected(batch())).backward()
    # A second gradient is added to the first in place.
    assert same(x, batch())
    assert same(model.scale, expected.scale)
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        assert same(mine, theirs)
        assert same(mine.grad, theirs.grad)


def test_the_gradient_that_a_caller_gives_stays_the_callers() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.offset = nn.Parameter(torch.zeros(()))

        def forward(self, x: Any) -> Any:
            return self.offset + x.sum()

    model = Sum()
    step = step_of(program_of(model, torch.ones(2), loss=None))
    given = torch.tensor(2.0)
    for _ in range(3):
        step(torch.ones(2)).backward(given)
    # Thrice the gradient of an offset, which is the one given.
    assert float(given) == 2
    assert float(model.offset.grad) == 6


def test_inputs_that_are_one_tensor_in_the_sample_may_be_two_in_a_step() -> None:
    mse = nn.functional.mse_loss
    model, x, y = Calls(plain), batch(), batch().flip(0)
    for sample, given in (((x, x), (x, y)), ((x, y), (x, x))):
        step = step_of(program_of(model, *sample, loss=mse))
        assert same(step(*given).detach(), mse(model(given[0]), given[1]).detach())


def test_a_schedule_that_makes_a_buffer_after_the_loss_is_an_error() -> None:
    def forward(self: Any, x: Any) -> Any:
        y = self.first(x)
        self.scale = 0.9 * self.scale + y.detach()
        return y.tanh()

    program = program_of(Calls(forward))
    graph = program.graph
    buffer = max(node for node in range(len(graph)) if graph.nodes[node].name == "copy")
    late = [node for node in range(len(graph)) if node != buffer]
    with pytest.raises(InputError, match=r"copy, of which .* model.scale is made, runs after"):
        step_of(program, [*late, buffer])
    step_of(program)(batch()).backward()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda item: torch.save(item, io.BytesIO())])
def test_a_scheduled_step_cannot_be_copied_and_says_so(copied: Any) -> None:
    with pytest.raises(executor.ExecutionError, match="copy or save its model"):
        copied(step_of(program_of(Calls(plain))))


def own_generator(self: Any, x: Any) -> Any:
    return self.first(x) * torch.rand(4, generator=torch.Generator(), dtype=torch.float64)


def no_gradient(self: Any, x: Any) -> Any:
    return Swapped.apply(self.gain, x)


class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4, sparse=True)

    def forward(self, x: Any) -> Any:
        return self.embedding(x.long().abs())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Calls(own_generator), "a generator of its own"),
        (Calls(no_gradient), "no gradient depends on that of the loss"),
        (Sparse(), "not a dense tensor"),
    ],
)
def test_what_no_trace_can_tell_is_an_error(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_of(model)


def test_an_inference_tensor_is_an_error() -> None:
    step = step_of(program_of(Calls(plain)))
    with torch.inference_mode():
        x = batch()
    with pytest.raises(InputError, match="an inference tensor"):
        step(x)


def test_a_module_that_a_model_holds_several_times_stays_as_it_was_and_trains() -> None:
    layer = nn.Linear(4, 4).double()
    model = nn.Sequential(layer, nn.Tanh(), nn.ModuleDict({"inner": layer})["inner"], layer)
    other = twin(model)
    step = step_of(program_of(model))
    # The trace puts other tensors into the module for a while.
    assert {type(item) for item in model.parameters()} == {nn.Parameter}
    assert model[0].weight is layer.weight
    step(batch()).backward()
    squares(other(batch())).backward()
    for mine, expected in zip(model.parameters(), other.parameters(), strict=True):
        assert same(mine.grad, expected.grad)


@pytest.mark.parametrize(
    "drop",
    [
        lambda y: nn.functional.dropout(y.t(), 0.5),
        lambda y: nn.functional.dropout(2 * y.t(), 0.5, inplace=True),
        lambda y: nn.functional.alpha_dropout(y.t(), 0.5, training=True),
        lambda y: nn.functional.dropout(y.unflatten(0, (3, 2)).permute(2, 0, 1), 0.5),
        lambda y: nn.functional.dropout(y[:, 1:3], 0.5),
        lambda y: y.t() * torch.empty_like(y.t()).bernoulli_(0.5),
        lambda y: y.t() * torch.empty_like(y.t()).normal_(),
        lambda y: y.t() * torch.rand_like(y.t()),
    ],
)
def test_numbers_are_drawn_in_the_order_of_memory_as_in_the_plain_step(drop: Any) -> None:
    # In the order of the indices another element of a transposed tensor would be dropped.
    model = Calls(lambda self, x: drop(self.first(x.repeat(3, 1))))
    other = twin(model)
    program = program_of(model)
    for run, parts in ((step_of(program), model), (lambda x: squares(other(x)), other)):
        torch.manual_seed(1)
        run(batch()).backward()
        assert parts.first.weight.grad is not None
    for mine, expected in zip(model.parameters(), other.parameters(), strict=True):
        assert same(mine.grad, expected.grad)


def test_normal_numbers_in_a_part_of_a_tensor_are_an_error() -> None:
    def forward(self: Any, x: Any) -> Any:
        noise = torch.ones(4, 6, dtype=torch.float64)
        noise[:, 1:5].normal_()
        return self.first(x) * noise.sum()

    with pytest.raises(InputError, match="fills a part of a tensor with normal numbers"):
        program_of(Calls(forward))
