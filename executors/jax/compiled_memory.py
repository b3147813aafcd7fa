"""Memory of compiled steps, by XLA's own analysis, beside those of the common policies.

XLA's scheduler for CPUs looks for concurrency by default, and not for little memory: then nearly
everything that is computed again is computed at once, and no policy saves much. Its scheduler for
little memory, which is the kind that it uses for GPUs and TPUs, is chosen by an option of the
compiler; it is the default here, and a report has both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from jettison.jax.named_program import Policy
from jettison.jax.step_trace import Differentiation

Options = Mapping[str, Any]
LITTLE_MEMORY_ON_CPU: Options = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}

COMMON_POLICIES: Mapping[str, Policy] = {
    name: getattr(jax.checkpoint_policies, name)
    for name in (
        "everything_saveable",
        "nothing_saveable",
        "dots_saveable",
        "dots_with_no_batch_dims_saveable",
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledMemory:
    """Memory of a compiled step.

    Attributes
    ----------
    temporary_bytes
        What the step allocates besides its arguments and results: ``temp_size_in_bytes``.
    result_bytes, argument_bytes
        Results and arguments.
    """

    temporary_bytes: int
    result_bytes: int
    argument_bytes: int


@cache
def little_memory_options(platform: str) -> Options:
    """Return the compiler's options for little memory on a platform: none but on a CPU."""
    if platform != "cpu":
        return {}
    try:
        jax.jit(jnp.negative).lower(1.0).compile(compiler_options=dict(LITTLE_MEMORY_ON_CPU))
    except jax.errors.JaxRuntimeError:
        # This jaxlib does not know the option; its figures are those of its only scheduler.
        return {}
    return LITTLE_MEMORY_ON_CPU


def compiled_memory(
    function: Callable[[Sequence[Any]], Sequence[Any]],
    differentiation: Differentiation,
    arguments: Sequence[Any],
    cotangents: Sequence[Any],
    options: Options,
) -> CompiledMemory:
    """Return the memory of a loss with its gradient, compiled for the default device.

    Parameters
    ----------
    function
        The loss, a function of a sequence of arrays.
    differentiation
        What gets a gradient.
    arguments, cotangents
        Shapes and types of the arguments, and of the gradients that are given; one of a single
        number is 1.
    options
        Options of the compiler.
    """
    step = differentiation.step(function)

    def of_given(given: Sequence[Any], gradients: Sequence[Any]) -> Any:
        left = iter(gradients)
        return step(
            given,
            [jnp.ones((), item.dtype) if item.shape == () else next(left) for item in cotangents],
        )

    shapes = [item for item in cotangents if item.shape != ()]
    lowered = jax.jit(of_given).lower(list(arguments), shapes)
    analysis = lowered.compile(compiler_options=dict(options) or None).memory_analysis()
    return CompiledMemory(
        temporary_bytes=int(analysis.temp_size_in_bytes),
        result_bytes=int(analysis.output_size_in_bytes),
        argument_bytes=int(analysis.argument_size_in_bytes),
    )
