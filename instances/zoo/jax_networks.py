r"""Networks in JAX whose training steps are traced: an MLP, and the transformers of the KIWI paper.

The paper takes encoder and decoder layers of Vaswani et al. with the sizes of GPT-13B, 5120 hidden
units and 40 heads, in batches of 16; it does not state the length of the sequences, for which 1024
is assumed. Layers normalise first and have GELU, as GPT's do. A decoder layer attends to what came
before and to the encoder: the memory that the paper reports for decoders is 4/3 of the encoders',
as is the number of weights with this second attention, :math:`16d^2` to :math:`12d^2`. `gpt` is a
decoder without it. The loss is the mean square of the difference to a target, so that no
vocabulary takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp

from jettison.instances.importers.jax_program import trace_training_step
from jettison.instances.tensor_programs.tensor_program import TensorProgram

Tree = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerSize:
    """Sizes of a transformer; the defaults are those of the paper.

    Attributes
    ----------
    layers, hidden, heads, batch, tokens
        `hidden` is a multiple of `heads`; the inner layers are four times as wide.
    """

    layers: int = 4
    hidden: int = 5120
    heads: int = 40
    batch: int = 16
    tokens: int = 1024


def trace_mlp(layers: int, batch: int, hidden: int, name: str) -> TensorProgram:
    """Return the training step of products with square matrices and ReLU between them."""

    def loss(weights: Tree, tensors: Tree) -> Any:
        x = tensors["x"]
        for k, weight in enumerate(weights.values()):
            with jax.named_scope(f"layer{k}"):
                x = x @ weight if k == layers - 1 else jax.nn.relu(x @ weight)
        with jax.named_scope("loss"):
            return jnp.mean((x - tensors["y"]) ** 2)

    weights = {f"w{k:02}": _tensor(hidden, hidden) for k in range(layers)}
    rows = _tensor(batch, hidden)
    return trace_training_step(
        loss,
        weights,
        ({"x": rows, "y": rows},),
        name=name,
        model_name="mlp",
        model_arguments={"layers": layers, "hidden": hidden},
    )


def trace_encoder(size: TransformerSize, name: str) -> TensorProgram:
    """Return the training step of encoder layers."""

    def layer(weights: Tree, x: Any, _: Any) -> Any:
        x = x + _attention(weights["attention"], _norm(weights["norm1"], x, "norm1"), size, None)
        return x + _perceptron(weights["mlp"], _norm(weights["norm2"], x, "norm2"))

    return _trace(size, layer, ("attention",), "encoder", name)


def trace_gpt(size: TransformerSize, name: str) -> TensorProgram:
    """Return the training step of decoder layers with causal self-attention only."""

    def layer(weights: Tree, x: Any, _: Any) -> Any:
        mask = jnp.tril(jnp.ones((size.tokens, size.tokens), bool))
        x = x + _attention(weights["attention"], _norm(weights["norm1"], x, "norm1"), size, mask)
        return x + _perceptron(weights["mlp"], _norm(weights["norm2"], x, "norm2"))

    return _trace(size, layer, ("attention",), "gpt", name)


def trace_decoder(size: TransformerSize, name: str) -> TensorProgram:
    """Return the training step of decoder layers that also attend to an encoder's output."""

    def layer(weights: Tree, x: Any, encoded: Any) -> Any:
        mask = jnp.tril(jnp.ones((size.tokens, size.tokens), bool))
        x = x + _attention(weights["attention"], _norm(weights["norm1"], x, "norm1"), size, mask)
        x = x + _attention(
            weights["cross"], _norm(weights["norm3"], x, "norm3"), size, None, encoded, "cross"
        )
        return x + _perceptron(weights["mlp"], _norm(weights["norm2"], x, "norm2"))

    return _trace(size, layer, ("attention", "cross"), "decoder", name)


def _trace(
    size: TransformerSize,
    layer: Callable[[Tree, Any, Any], Any],
    attentions: tuple[str, ...],
    model: str,
    name: str,
) -> TensorProgram:
    d = size.hidden

    def loss(weights: Tree, tensors: Tree) -> Any:
        x = tensors["x"]
        for k in range(size.layers):
            with jax.named_scope(f"layer{k}"):
                x = layer(weights[f"layer{k}"], x, tensors.get("encoded"))
        with jax.named_scope("loss"):
            return jnp.mean((x - tensors["y"]) ** 2)

    def linear(inner: int, outer: int) -> Tree:
        return {"weight": _tensor(inner, outer), "bias": _tensor(outer)}

    def attention() -> Tree:
        return {key: linear(d, d) for key in ("query", "key", "value", "output")}

    def norm() -> Tree:
        return {"scale": _tensor(d), "shift": _tensor(d)}

    weights = {
        f"layer{k}": {
            **{key: attention() for key in attentions},
            "norm1": norm(),
            "norm2": norm(),
            **({"norm3": norm()} if "cross" in attentions else {}),
            "mlp": {"up": linear(d, 4 * d), "down": linear(4 * d, d)},
        }
        for k in range(size.layers)
    }
    rows = _tensor(size.batch, size.tokens, d)
    return trace_training_step(
        loss,
        weights,
        (dict.fromkeys(("x", "y", "encoded") if "cross" in attentions else ("x", "y"), rows),),
        name=name,
        model_name=model,
        model_arguments={
            "layers": size.layers,
            "hidden": d,
            "heads": size.heads,
            "tokens": size.tokens,
        },
    )


def _tensor(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _linear(weights: Tree, x: Any) -> Any:
    return x @ weights["weight"] + weights["bias"]


def _norm(weights: Tree, x: Any, scope: str) -> Any:
    with jax.named_scope(scope):
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + 1e-5) * weights["scale"] + weights["shift"]


def _perceptron(weights: Tree, x: Any) -> Any:
    with jax.named_scope("mlp"):
        return _linear(weights["down"], jax.nn.gelu(_linear(weights["up"], x)))


def _attention(
    weights: Tree,
    x: Any,
    size: TransformerSize,
    mask: Any,
    encoded: Any = None,
    scope: str = "attention",
) -> Any:
    shape = (size.batch, size.tokens, size.heads, size.hidden // size.heads)
    with jax.named_scope(scope):
        source = x if encoded is None else encoded
        query = _linear(weights["query"], x).reshape(shape)
        key = _linear(weights["key"], source).reshape(shape)
        value = _linear(weights["value"], source).reshape(shape)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / shape[-1] ** 0.5
        if mask is not None:
            scores = jnp.where(mask, scores, -1e9)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
        return _linear(weights["output"], mixed.reshape(x.shape))


TRACERS: Mapping[str, Callable[[TransformerSize, str], TensorProgram]] = MappingProxyType(
    {"encoder": trace_encoder, "decoder": trace_decoder, "gpt": trace_gpt}
)
"""The transformers by name."""
