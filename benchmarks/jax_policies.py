"""XLA's temporary memory of steps in JAX under plans and common policies, beside the prediction.

Prints one line of CSV for each step, policy and limit; needs JAX.
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

LIMITS = ("70%", "50%", "30%")


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
    layers, channels = 4, 16
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

    return loss, (kernels, jnp.ones((4, 32, 32, channels)))


STEPS = {"perceptron": perceptron, "convolutions": convolutions}


def rows(name: str) -> Iterator[list[object]]:
    loss, sample = STEPS[name]()
    for place, limit in enumerate(LIMITS):
        before = time.process_time()
        try:
            planned = checkpointed(loss, *sample, memory=limit)
        except InputError as error:
            print(f"{name} {limit}: {error}", file=sys.stderr)
            continue
        seconds = time.process_time() - before
        plan = planned.plan
        if place == 0:
            for row in planned.report().rows[:-1]:
                yield [
                    name,
                    row.policy,
                    "",
                    row.compiled_bytes,
                    row.little_memory_bytes,
                    row.predicted_bytes,
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
            plan.predicted_peak_bytes,
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
            "overhead",
            "bound",
            "cpu_seconds",
        ]
    )
    for name in STEPS:
        for row in rows(name):
            out.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
