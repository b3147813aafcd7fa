"""Training steps of transformer encoders on a mesh: 36 operators for each layer, and 5 more.

A layer has six weights, twelve forward operators and eighteen backward ones: q, k, v, their scores,
the softmax, the context, the projection, two additions, and a perceptron of two products with an
activation between them. Norms are part of the additions, and the gradient that flows back through
the weights of q, k and v is one operation, whose strategies are those of an aligned one. Around
the layers stand the input, a first product with its weight, the gradient of the loss, and the
gradient of that weight. Costs are those of `sharded_step`.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.generators.sharded_step import (
    DATA_LAYOUTS,
    PARAMETER_LAYOUTS,
    Product,
    ShardedStep,
)
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph


def sharded_transformer(
    layers: int = 1,
    *,
    batch: int = 8,
    sequence: int = 512,
    width: int = 1024,
    strategies: int = 3,
) -> ShardedGraph:
    """Return a transformer encoder of :math:`36 n + 5` operators for `n` layers.

    Parameters
    ----------
    layers
        At least 1.
    batch, sequence, width
        Sequences, tokens in each, and columns of an activation; there are ``width // 64`` heads,
        and the perceptron is four times as wide.
    strategies
        Of each operator, 1 to 4.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    for field, size, least in (
        ("layers", layers, 1),
        ("batch", batch, 1),
        ("sequence", sequence, 1),
        ("width", width, 64),
    ):
        if size < least:
            raise InputError(f"{size}", field=field, expected=f"write at least {least}")
    writer = _Writer(
        ShardedStep(f"sharded-transformer-{layers}-k{strategies}", strategies),
        batch * sequence,
        sequence,
        width,
    )
    return writer.graph(layers)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The names that the backward pass of a layer reads."""

    scope: str
    value: str
    weights: dict[str, str]
    made: dict[str, str]


class _Writer:
    """Adds layer after layer, and their backward passes the other way round."""

    def __init__(self, step: ShardedStep, tokens: int, sequence: int, width: int) -> None:
        self._step = step
        self._tokens, self._sequence, self._width = tokens, sequence, width
        self._heads = width // 64

    def graph(self, layers: int) -> ShardedGraph:
        step, width = self._step, self._width
        x = step.tensor("x", Role.INPUT, self._tokens, width, DATA_LAYOUTS)
        weight = step.tensor("w", Role.PARAMETER, width, width, PARAMETER_LAYOUTS)
        value = step.product("first", Role.FORWARD, x, weight)
        done = []
        for place in range(layers):
            done.append(self._forward(f"l{place}", value))
            value = done[-1].made["out"]
        gradient = step.aligned("loss_gradient", Role.BACKWARD, [value])
        for layer in reversed(done):
            gradient = self._backward(layer, gradient)
        step.product("grad_w", Role.BACKWARD, x, gradient, Product.LEFT_TRANSPOSED, keep=True)
        return step.graph(
            f"transformer encoder of {layers} layers, {self._tokens} tokens, width {width}; costs "
            "computed from shapes"
        )

    def _forward(self, scope: str, value: str) -> _Layer:
        step, width, forward = self._step, self._width, Role.FORWARD
        shapes = {
            "wq": (width, width),
            "wk": (width, width),
            "wv": (width, width),
            "wo": (width, width),
            "w1": (width, 4 * width),
            "w2": (4 * width, width),
        }
        w = {
            name: step.tensor(f"{scope}_{name}", Role.PARAMETER, *shape, PARAMETER_LAYOUTS)
            for name, shape in shapes.items()
        }
        made = {
            name: step.product(f"{scope}_{name}", forward, value, w[f"w{name}"]) for name in "qkv"
        }

        def aligned(name: str, *inputs: str) -> None:
            made[name] = step.aligned(f"{scope}_{name}", forward, [made[item] for item in inputs])

        made["scores"] = step.aligned_shape(
            f"{scope}_scores", forward, [made["q"], made["k"]], self._score_columns, self._flops
        )
        aligned("softmax", "scores")
        made["context"] = step.aligned_shape(
            f"{scope}_context", forward, [made["softmax"], made["v"]], width, self._flops
        )
        made["proj"] = step.product(f"{scope}_proj", forward, made["context"], w["wo"])
        made["add1"] = step.aligned(f"{scope}_add1", forward, [made["proj"], value])
        made["ff1"] = step.product(f"{scope}_ff1", forward, made["add1"], w["w1"])
        aligned("gelu", "ff1")
        made["ff2"] = step.product(f"{scope}_ff2", forward, made["gelu"], w["w2"])
        aligned("out", "ff2", "add1")
        return _Layer(scope, value, w, made)

    @property
    def _score_columns(self) -> int:
        return self._heads * self._sequence

    @property
    def _flops(self) -> int:
        return 2 * self._tokens * self._sequence * self._width

    def _backward(self, layer: _Layer, gradient: str) -> str:
        """Add the eighteen backward operators; return the gradient of the layer's input."""
        step, made, w, back = self._step, layer.made, layer.weights, Role.BACKWARD
        flops = 2 * self._flops

        def grad_weight(name: str, value: str, of_output: str) -> None:
            step.product(
                f"{layer.scope}_grad_{name}",
                back,
                value,
                of_output,
                Product.LEFT_TRANSPOSED,
                keep=True,
            )

        def grad_value(name: str, of_output: str, weight: str) -> str:
            return step.product(
                f"{layer.scope}_grad_{name}", back, of_output, w[weight], Product.RIGHT_TRANSPOSED
            )

        def aligned(name: str, inputs: list[str], columns: int, spent: int = 0) -> str:
            return step.aligned_shape(f"{layer.scope}_grad_{name}", back, inputs, columns, spent)

        width = self._width
        grad_weight("w2", made["gelu"], gradient)
        of_gelu = grad_value("gelu", gradient, "w2")
        of_ff1 = aligned("ff1", [of_gelu, made["ff1"]], 4 * width)
        grad_weight("w1", made["add1"], of_ff1)
        through = grad_value("through", of_ff1, "w1")
        of_add1 = aligned("add1", [through, gradient], width)
        grad_weight("wo", made["context"], of_add1)
        of_context = grad_value("context", of_add1, "wo")
        of_v = aligned("v", [of_context, made["softmax"]], width, flops // 2)
        of_softmax = aligned("softmax", [of_context, made["v"]], self._score_columns, flops // 2)
        of_scores = aligned("scores", [of_softmax, made["softmax"]], self._score_columns)
        of_q = aligned("q", [of_scores, made["k"]], width, flops // 2)
        of_k = aligned("k", [of_scores, made["q"]], width, flops // 2)
        for name, of_output in (("wq", of_q), ("wk", of_k), ("wv", of_v)):
            grad_weight(name, layer.value, of_output)
        joined = aligned("qkv", [of_q, of_k, of_v], width, 6 * self._tokens * width * width)
        return aligned("in", [joined, of_add1], width)
