"""XLA's temporary memory of steps in JAX under plans and common policies, beside the prediction.

Prints one line of CSV for each step, policy and limit; needs JAX. `predicted_bytes` is from the
graph alone, `corrected_bytes` has the error for the plan that was compiled before. The options of
the compiler and the separators were chosen by the perceptron and the transformer, the other steps
came later. From the root of the repository, for all steps or those that are named::

    python -m benchmarks.jax_policies > benchmarks/jax_policies.csv
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jettison.instances.core.errors import InputError
from jettison.jax import checkpointed

LIMITS = ("70%", "50%", "30%", "20%")


def perceptron() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layers, width, inner, rows = 8, 128, 512, 1024
    keys = jax.random.split(jax.random.key(0), 2 * layers)
    weights = [
        (jax.random.normal(a, (width, inner)) / 12, jax.random.normal(b, (inner, width)) / 23)
        for a, b in zip(keys[:layers], keys[layers:], strict=True)
    ]

    def loss(weights: Any, x: Any) -> Any:
        for up, down in weights:
            x = x + jax.nn.gelu(x @ up) @ down
        return jnp.mean(x**2)

    return loss, (weights, jnp.ones((rows, width)))


def convolutions() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layers, channels = 3, 16
    keys = jax.random.split(jax.random.key(0), layers)
    kernels = [jax.random.normal(key, (3, 3, channels, channels)) / 12 for key in keys]

    def loss(kernels: Any, x: Any) -> Any:
        for kernel in kernels:
            found = jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            centred = found - found.mean((0, 1, 2))
            x = x + jax.nn.relu(centred * jax.lax.rsqrt((centred**2).mean((0, 1, 2)) + 1e-5))
        return jnp.mean(x**2)

    return loss, (kernels, jnp.ones((4, 16, 16, channels)))


def mixer() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layers, tokens, width, rows = 3, 32, 64, 16
    keys = iter(jax.random.split(jax.random.key(0), 4 * layers))
    shapes = ((tokens, 2 * tokens), (2 * tokens, tokens), (width, 4 * width), (4 * width, width))
    weights = [
        [jax.random.normal(next(keys), shape) / shape[0] ** 0.5 for shape in shapes]
        for _ in range(layers)
    ]

    def loss(weights: Any, x: Any) -> Any:
        for first, second, up, down in weights:
            mixed = jax.nn.gelu(x.swapaxes(1, 2) @ first) @ second
            x = x + mixed.swapaxes(1, 2)
            x = x + jax.nn.gelu(x @ up) @ down
        return jnp.mean(x**2)

    return loss, (weights, jnp.ones((rows, tokens, width)))


def recurrence() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    steps, width, rows = 32, 64, 32
    keys = jax.random.split(jax.random.key(0), 3)
    weights = {
        "inner": jax.random.normal(keys[0], (width, 4 * width)) / 8,
        "outer": jax.random.normal(keys[1], (width, 4 * width)) / 8,
        "head": jax.random.normal(keys[2], (width, width)) / 8,
    }

    def loss(weights: Any, x: Any) -> Any:
        def cell(state: Any, seen: Any) -> Any:
            hidden, memory = state
            gates = hidden @ weights["inner"] + seen @ weights["outer"]
            enter, forget, leave, new = jnp.split(gates, 4, -1)
            memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(enter) * jnp.tanh(new)
            hidden = jax.nn.sigmoid(leave) * jnp.tanh(memory)
            return (hidden, memory), hidden

        start = jnp.zeros((rows, width))
        _, hidden = jax.lax.scan(cell, (start, start), x)
        return jnp.mean((jnp.tanh(hidden @ weights["head"]) - x) ** 2)

    return loss, (weights, jnp.ones((steps, rows, width)))


def transformer() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    from examples import jax_in_half_the_memory as example

    key = jax.random.key(0)
    shape = (example.ROWS, example.TOKENS, example.WIDTH)
    x, y = jax.random.normal(key, (2, *shape))
    return example.loss, (example.draw(key), x, y)


STEPS = {
    "perceptron": perceptron,
    "mixer": mixer,
    "recurrence": recurrence,
    "convolutions": convolutions,
    "transformer": transformer,
}


def rows(name: str) -> Iterator[list[object]]:
    loss, sample = STEPS[name]()
    has_common_rows = False
    for limit in LIMITS:
        before = time.process_time()
        try:
            planned = checkpointed(loss, *sample, memory=limit, compilations=4)
        except InputError as error:
            print(f"{name} {limit}: {error}", file=sys.stderr)
            continue
        seconds = time.process_time() - before
        plan = planned.plan
        if not has_common_rows:
            has_common_rows = True
            for row in planned.report().rows[:-1]:
                yield [
                    name,
                    row.policy,
                    "",
                    row.compiled_bytes,
                    row.little_memory_bytes,
                    row.predicted_bytes,
                    "",
                    f"{row.overhead:.4f}",
                    "",
                    "",
                ]
        yield [
            name,
            "jettison",
            limit,
            plan.compiled_bytes,
            "",
            planned.uncorrected_bytes,
            plan.predicted_temporary_bytes,
            f"{plan.overhead:.4f}",
            f"{plan.least_overhead:.4f}",
            f"{seconds:.1f}",
        ]


def main() -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(
        [
            "step",
            "policy",
            "limit",
            "xla_bytes",
            "xla_little_memory_bytes",
            "predicted_bytes",
            "corrected_bytes",
            "overhead",
            "bound",
            "cpu_seconds",
        ]
    )
    for name in sys.argv[1:] or STEPS:
        for row in rows(name):
            out.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
