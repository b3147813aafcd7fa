r"""The training step of a perceptron as a tensor program: the KIWI paper's smallest instance.

All layers are products of a batch with a square matrix, without activations; the loss is the mean
square of what is left of the target, whose gradient is the difference itself but for a factor. The
paper says that its 7-layer MLP has 26 operators, and no more. Two readings have 26:

- `perceptron` with 6 matrices: x, y, 6 weights, 6 products, the difference, 6 gradients of weights
  and 5 of layers. With the two ends there are 7 layers of values.
- `perceptron_without_parameters` with 7 matrices that are no operators: x, y, 7 products, the
  difference, its square and their mean, the scaled gradient, 7 gradients of weights, 6 of layers.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram

LARGEST_SIZE = 2**16


def perceptron(layers: int = 6, batch: int = 1024, hidden: int = 1024) -> TensorProgram:
    """Return :math:`4L + 2` operations: each weight is an operation of its own.

    Raises
    ------
    InputError
        If a size is out of range.
    """
    _check(layers=layers, batch=batch, hidden=hidden)
    rows, square = (batch, hidden), (hidden, hidden)
    flops = 2 * batch * hidden * hidden
    found = [_given("x", Role.INPUT, rows), _given("y", Role.INPUT, rows)]
    found += [_given(f"w{k}", Role.PARAMETER, square) for k in range(1, layers + 1)]
    found += [
        _product(f"dot{k}", Role.FORWARD, (_value(k - 1), f"w{k}"), "mk,kn->mn", rows, flops)
        for k in range(1, layers + 1)
    ]
    found.append(_difference(layers, rows))
    gradient = "subtract"
    for k in range(layers, 0, -1):
        found.append(_weight_gradient(k, gradient, square, flops))
        if k > 1:
            reads = (gradient, f"w{k}")
            gradient = f"grad_h{k - 1}"
            found.append(_product(gradient, Role.BACKWARD, reads, "mn,kn->mk", rows, flops))
    return TensorProgram(
        f"mlp-{len(found)}", tuple(found), _provenance("mlp", layers, batch, hidden)
    )


def perceptron_without_parameters(
    layers: int = 7, batch: int = 1024, hidden: int = 1024
) -> TensorProgram:
    """Return :math:`3L + 5` operations: a weight is where its product needs it.

    Raises
    ------
    InputError
        If a size is out of range.
    """
    _check(layers=layers, batch=batch, hidden=hidden)
    rows, square = (batch, hidden), (hidden, hidden)
    size, flops = batch * hidden, 2 * batch * hidden * hidden
    found = [_given("x", Role.INPUT, rows), _given("y", Role.INPUT, rows)]
    found += [
        # The weight is no operand; its axes are the product's all the same.
        _product(f"dot{k}", Role.FORWARD, (_value(k - 1),), "mk->mn", rows, flops)
        for k in range(1, layers + 1)
    ]
    found.append(_difference(layers, rows))
    found.append(
        TensorOperation(
            name="square",
            role=Role.FORWARD,
            primitive="mul",
            operands=("subtract", "subtract"),
            subscripts="mn,mn->mn",
            shape=rows,
            flops=size,
        )
    )
    found.append(
        TensorOperation(
            name="mean",
            role=Role.FORWARD,
            primitive="reduce_sum",
            operands=("square",),
            subscripts="mn->",
            shape=(),
            flops=size,
            keep=True,
        )
    )
    found.append(
        TensorOperation(
            name="scaled",
            role=Role.BACKWARD,
            primitive="mul",
            operands=("subtract",),
            subscripts="mn->mn",
            shape=rows,
            flops=size,
        )
    )
    gradient = "scaled"
    for k in range(layers, 0, -1):
        found.append(_weight_gradient(k, gradient, square, flops))
        if k > 1:
            before, gradient = gradient, f"grad_h{k - 1}"
            found.append(_product(gradient, Role.BACKWARD, (before,), "mn->mk", rows, flops))
    return TensorProgram(
        f"mlp-{len(found)}-no-parameters",
        tuple(found),
        _provenance("mlp without parameters", layers, batch, hidden),
    )


def _given(name: str, role: Role, shape: tuple[int, int]) -> TensorOperation:
    return TensorOperation(
        name=name, role=role, primitive=str(role), subscripts="->mn", shape=shape
    )


def _difference(layers: int, shape: tuple[int, int]) -> TensorOperation:
    return TensorOperation(
        name="subtract",
        role=Role.FORWARD,
        primitive="sub",
        operands=(f"dot{layers}", "y"),
        subscripts="mn,mn->mn",
        shape=shape,
        flops=shape[0] * shape[1],
    )


def _weight_gradient(k: int, gradient: str, shape: tuple[int, int], flops: int) -> TensorOperation:
    reads = (_value(k - 1), gradient)
    return _product(f"grad_w{k}", Role.BACKWARD, reads, "mk,mn->kn", shape, flops, keep=True)


def _value(layer: int) -> str:
    """Return the name of what a layer makes; layer 0 is the input."""
    return f"dot{layer}" if layer else "x"


def _product(
    name: str,
    role: Role,
    operands: tuple[str, ...],
    subscripts: str,
    shape: tuple[int, int],
    flops: int,
    *,
    keep: bool = False,
) -> TensorOperation:
    return TensorOperation(
        name=name,
        role=role,
        primitive="dot_general",
        operands=operands,
        subscripts=subscripts,
        shape=shape,
        flops=flops,
        keep=keep,
    )


def _provenance(model: str, layers: int, batch: int, hidden: int) -> Provenance:
    return Provenance(
        source="synthetic",
        model=model,
        model_arguments={"layers": layers, "hidden": hidden},
        batch=batch,
        input_shape=(batch, hidden),
        dtype="float32",
    )


def _check(**sizes: int) -> None:
    for name, size in sizes.items():
        if not 1 <= size <= LARGEST_SIZE:
            raise InputError(f"{size}", field=name, expected=f"write 1 to {LARGEST_SIZE}")
