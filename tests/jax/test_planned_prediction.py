"""Predicted temporary memory of planned steps, before anything is compiled, beside XLA's."""

from __future__ import annotations

from typing import Any

import pytest

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402

from jettison.jax import checkpointed  # noqa: E402

pytestmark = pytest.mark.jax


def recurrence() -> tuple[Any, tuple[Any, ...]]:
    # What enters the head in one part is copied in the next one, behind a barrier.
    # Drawn by NumPy: JAX would compile each of its operations.
    draw = np.random.default_rng(0)
    weights = {
        name: jnp.asarray(draw.standard_normal((32, 32), np.float32) / 6)
        for name in ("inner", "head")
    }

    def loss(weights: Any, x: Any) -> Any:
        def cell(state: Any, seen: Any) -> Any:
            state = jnp.tanh(state @ weights["inner"] + seen)
            return state, state

        _, hidden = jax.lax.scan(cell, jnp.zeros((16, 32)), x)
        return jnp.mean((jnp.tanh(hidden @ weights["head"]) - x) ** 2)

    return loss, (weights, jnp.ones((16, 16, 32)))


def convolutions() -> tuple[Any, tuple[Any, ...]]:
    # The gradient of a kernel needs the input and the gradient of the output in other orders.
    draw = np.random.default_rng(0)
    kernels = [jnp.asarray(draw.standard_normal((3, 3, 16, 16), np.float32) / 12) for _ in range(2)]

    def loss(kernels: Any, x: Any) -> Any:
        for kernel in kernels:
            found = jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            centred = found - found.mean((0, 1, 2))
            x = x + jax.nn.relu(centred * jax.lax.rsqrt((centred**2).mean((0, 1, 2)) + 1e-5))
        return jnp.mean(x**2)

    return loss, (kernels, jnp.ones((4, 16, 16, 16)))


@pytest.mark.parametrize(("step", "memory"), [(recurrence, "75%"), (convolutions, "80%")])
def test_xla_needs_what_the_traced_step_of_the_plan_says(step: Any, memory: str) -> None:
    loss, sample = step()
    planned = checkpointed(loss, *sample, memory=memory, compilations=3)
    assert not planned.plan.is_plain
    assert planned.plan.holds
    assert planned.uncorrected_bytes == pytest.approx(planned.plan.compiled_bytes, rel=0.01)
    assert planned.plan.predicted_temporary_bytes == pytest.approx(
        planned.plan.compiled_bytes, rel=0.03
    )
