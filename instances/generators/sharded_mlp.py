"""Training steps of multi-layer perceptrons on a mesh, as KIWI (Table 1) has them.

With six weights the 26 operators of the paper's 7-layer perceptron: the input x, the labels y, the
weights w1 to w6, their products dot1 to dot6, the difference from y, six gradients of weights and
five of activations. Weights are parameters, gradients of weights are kept, and the difference is
the first backward operator. Costs are those of `sharded_step`, not the paper's, which it does not
state.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from jettison.instances.core.errors import InputError
from jettison.instances.generators.sharded_step import (
    DATA_LAYOUTS,
    PARAMETER_LAYOUTS,
    Product,
    ShardedStep,
)
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def sharded_mlp(
    layers: int = 6, *, batch: int = 8192, width: int = 2048, strategies: int = 4
) -> ShardedGraph:
    """Return a perceptron of equal widths: :math:`4 n + 2` operators for `n` weights.

    Parameters
    ----------
    layers
        Weights, at least 1.
    batch, width
        Rows and columns of the activations.
    strategies
        Of each operator, 1 to 4.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    return _perceptron(
        f"sharded-mlp-{layers}-k{strategies}", [width] * (layers + 1), batch, strategies
    )


def sharded_mixed(
    layers: int = 6, *, batch: int = 4096, width: int = 1024, strategies: int = 4
) -> ShardedGraph:
    """Return a perceptron whose layers are by turns `width` and eight times as wide.

    Weights are as large as activations here: the fastest plan copies them to every device, and in
    little memory they are cut instead.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    widths = [width * (8 if place % 2 else 1) for place in range(layers + 1)]
    return _perceptron(f"sharded-mixed-{layers}-k{strategies}", widths, batch, strategies)


def _perceptron(name: str, widths: Sequence[int], batch: int, strategies: int) -> ShardedGraph:
    if len(widths) < 2:
        raise InputError(f"{len(widths) - 1}", field="layers", expected="write at least 1")
    for field, size in (("batch", batch), ("width", widths[0])):
        if size < 1:
            raise InputError(f"{size}", field=field, expected="write a positive number")
    step = ShardedStep(name, strategies)
    x = step.tensor("x", Role.INPUT, batch, widths[0], DATA_LAYOUTS)
    y = step.tensor("y", Role.INPUT, batch, widths[-1], DATA_LAYOUTS)
    weights = [
        step.tensor(f"w{place}", Role.PARAMETER, rows, columns, PARAMETER_LAYOUTS)
        for place, (rows, columns) in enumerate(pairwise(widths), start=1)
    ]
    values = [x]
    for place, weight in enumerate(weights, start=1):
        values.append(step.product(f"dot{place}", Role.FORWARD, values[-1], weight))
    gradient = step.aligned("subtract", Role.BACKWARD, [values[-1], y])
    for place in range(len(weights), 0, -1):
        step.product(
            f"grad_w{place}",
            Role.BACKWARD,
            values[place - 1],
            gradient,
            Product.LEFT_TRANSPOSED,
            keep=True,
        )
        if place > 1:
            gradient = step.product(
                f"grad_h{place - 1}",
                Role.BACKWARD,
                gradient,
                weights[place - 1],
                Product.RIGHT_TRANSPOSED,
            )
    return step.graph(
        f"perceptron of {len(weights)} weights, batch {batch}; costs computed from shapes"
    )
