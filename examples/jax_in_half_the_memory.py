"""Differentiate a transformer in JAX in half of its memory: what to save, and what XLA says of it.

Needs JAX (``pip install 'jettison[jax]'``); less than a minute on a CPU.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jettison.jax import checkpointed

LAYERS, ROWS, TOKENS, WIDTH, HEADS = 3, 4, 64, 96, 4


def draw(key: Any) -> list[dict[str, Any]]:
    """Return the weights of the layers."""

    def layer(key: Any) -> dict[str, Any]:
        shapes = {
            "qkv": (WIDTH, 3 * WIDTH),
            "out": (WIDTH, WIDTH),
            "up": (WIDTH, 4 * WIDTH),
            "down": (4 * WIDTH, WIDTH),
        }
        keys = jax.random.split(key, len(shapes))
        return {
            name: jax.random.normal(own, shape) / shape[0] ** 0.5
            for own, (name, shape) in zip(keys, shapes.items(), strict=True)
        }

    return [layer(own) for own in jax.random.split(key, LAYERS)]


def normalised(x: Any) -> Any:
    """Return rows of mean 0 and variance 1."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def attention(x: Any, weights: dict[str, Any]) -> Any:
    """Return what each token sees of those before it."""
    parts = (x @ weights["qkv"]).reshape(ROWS, TOKENS, 3, HEADS, WIDTH // HEADS)
    query, key, value = (parts[:, :, place].swapaxes(1, 2) for place in range(3))
    scores = query @ key.swapaxes(2, 3) / (WIDTH // HEADS) ** 0.5
    seen = jnp.tril(jnp.ones((TOKENS, TOKENS), bool))
    shares = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    mixed = (shares @ value).swapaxes(1, 2).reshape(ROWS, TOKENS, WIDTH)
    return mixed @ weights["out"]


def loss(layers: list[dict[str, Any]], x: Any, y: Any) -> Any:
    """Return the mean squared error of the last layer."""
    for weights in layers:
        x = x + attention(normalised(x), weights)
        x = x + jax.nn.gelu(normalised(x) @ weights["up"]) @ weights["down"]
    return jnp.mean((x - y) ** 2)


def main() -> None:
    """Plan, differentiate both, and print what came of it."""
    key = jax.random.key(0)
    layers = draw(key)
    x, y = jax.random.normal(key, (2, ROWS, TOKENS, WIDTH))
    planned = checkpointed(loss, layers, x, y, memory="50%", compilations=4)
    plan = planned.plan
    # On a CPU the barriers of jax.checkpoint are an option of the compiler.
    options = dict(planned.compiler_options)
    value, gradients = jax.jit(jax.value_and_grad(planned), compiler_options=options)(layers, x, y)
    plain, others = jax.jit(jax.value_and_grad(loss), compiler_options=options)(layers, x, y)
    pairs = zip(jax.tree.leaves(gradients), jax.tree.leaves(others), strict=True)
    print(f"plain:     loss {plain:.6f}, {plan.plain_compiled_bytes / 2**20:.2f} MiB by XLA")
    print(f"planned:   loss {value:.6f}, {plan.compiled_bytes / 2**20:.2f} MiB by XLA")
    print(
        f"predicted: {plan.predicted_peak_bytes / 2**20:.2f} MiB, {plan.overhead:.2%} of the step "
        f"again; no saved set takes less than {plan.least_overhead:.2%}"
    )
    print(f"saved:     {len(plan.saved)} values, {', '.join(plan.saved[:3])}, ...")
    print(f"largest difference of gradients: {max(float(abs(a - b).max()) for a, b in pairs):.1e}")


if __name__ == "__main__":
    main()
