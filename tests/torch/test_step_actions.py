"""Functions that run a step: the operators of the trace, and no other, with its arguments."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from jettison.instances.profilers.torch_graphs.graph_calls import (  # noqa: E402
    Call,
    Constant,
    Read,
    ReadEach,
)
from jettison.torch.actions.call_functions import CallFunctions  # noqa: E402
from jettison.torch.actions.generator_state import GeneratorState  # noqa: E402
from jettison.torch.actions.native_calls import NativeCalls  # noqa: E402

pytestmark = pytest.mark.torch
aten = torch.ops.aten


class Dispatched(TorchDispatchMode):
    """Operators that run on real tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


CALLS = (
    (aten.mm.default, ((2, 3), (3, 2)), ()),
    (aten.add.Tensor, ((2, 3), (3,)), ()),
    (aten.mul.Tensor, ((2, 3),), (2.5,)),
    (aten.mul.Scalar, ((2, 3),), (2.5,)),
    (aten.sum.dim_IntList, ((2, 3),), ([0], True)),
    (aten.view.default, ((2, 3),), ([6],)),
    (aten.t.default, ((2, 3),), ()),
    (aten.transpose.int, ((2, 3),), (0, 1)),
    (aten.split.Tensor, ((4, 3),), (2,)),
    (aten.silu_backward.default, ((2, 3), (2, 3)), ()),
    (aten._softmax.default, ((2, 3),), (1, False)),
    (aten.native_layer_norm.default, ((2, 3),), ([3], None, None, 1e-5)),
    (aten.max_pool2d_with_indices.default, ((1, 1, 4, 4),), ([2, 2], [2, 2])),
)


def example(sizes: Any) -> list[Any]:
    return [torch.randn(size) for size in sizes]


@pytest.mark.parametrize(("target", "sizes", "others"), CALLS, ids=str)
def test_a_function_dispatches_the_operator_alone_and_returns_its_result(
    target: Any, sizes: Any, others: Any
) -> None:
    with FakeTensorMode():
        fake = example(sizes)
    function = NativeCalls().of(target, [*fake, *others], {})
    given = [*example(sizes), *others]
    with torch.no_grad(), Dispatched() as seen:
        found = function(*given)
    assert seen.names == [str(target)]
    expected = target(*given)
    pairs = (
        zip(found, expected, strict=True)
        if isinstance(found, tuple | list)
        else [(found, expected)]
    )
    assert all(torch.equal(one, other) for one, other in pairs)


def test_common_operators_are_called_without_a_schema() -> None:
    with FakeTensorMode():
        left, right = torch.randn(2, 3), torch.randn(3, 2)
    known = NativeCalls()
    assert known.of(aten.mm.default, [left, right], {}) is torch.mm
    assert known.of(aten.t.default, [left], {}) is torch.t
    # torch.mul of a number is another operator, mul.Tensor.
    assert known.of(aten.mul.Scalar, [left, 2.0], {}) is aten.mul.Scalar._op
    # No function of that name takes these arguments.
    assert known.of(aten.sum.dim_IntList, [left, [0], True], {"dtype": torch.float64}) is not None


def test_nothing_is_drawn_while_functions_are_tried() -> None:
    state = torch.get_rng_state()
    with FakeTensorMode():
        fake = torch.empty(2, 3)
    known = NativeCalls()
    known.of(aten.rand.default, [[3]], {"device": torch.device("cpu"), "pin_memory": False})
    known.of(aten.native_dropout.default, [fake, 0.5, True], {})
    assert torch.equal(torch.get_rng_state(), state)


def test_what_is_no_operator_of_pytorch_is_called_as_it_is() -> None:
    def own(tensor: Any) -> Any:
        return tensor

    assert NativeCalls().of(own, [1], {}) is own


def test_arguments_are_read_from_registers_in_each_call() -> None:
    functions = CallFunctions([None, None])
    cat = Call(aten.cat.default, (None, 1), ((0, ReadEach((Read(0), Read(1)))),), {})
    joined = functions.of(cat)
    scaled = functions.of(
        Call(aten.add.Tensor, (None, None), ((0, Read(0)), (1, Read(1))), {"alpha": Constant(3)})
    )
    power = functions.of(Call(aten.pow.Tensor_Scalar, (None, 2), ((0, Read(0)),), {}))
    for start in (1.0, 5.0):
        values = list(functions.values)
        values[:2] = torch.full((2, 2), start), torch.ones(2, 2)
        assert joined(values).shape == (2, 4)
        assert torch.equal(scaled(values), torch.full((2, 2), start + 3))
        assert torch.equal(power(values), torch.full((2, 2), start**2))


def test_a_generator_continues_from_its_state() -> None:
    with torch.random.fork_rng():
        state = GeneratorState(torch.device("cpu"))
        first = torch.rand(3)
        state.put_back()
        assert torch.equal(torch.rand(3), first)
