"""Memory of compiled steps, by XLA's own analysis, and options of XLA that decide it.

``jax.checkpoint`` keeps XLA from merging what is computed again with what was computed before by
optimization barriers. XLA for CPUs takes them out early (pass ``cse_barrier_expander``), and then
merges products of matrices: a policy saves no more than elementwise operations there. An option of
the compiler leaves them in, which is the default here on CPUs. XLA's scheduler for CPUs looks for
concurrency, not for little memory: under one ``jax.checkpoint`` around everything, which the common
policies are used with, it computes all again at once. Another option chooses the scheduler for
little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jettison.jax.named_program import Policy
from jettison.jax.step_trace import Differentiation

Options = Mapping[str, Any]
BARRIERS_ON_CPU: Options = {"xla_disable_hlo_passes": "cse_barrier_expander"}
LITTLE_MEMORY_ON_CPU: Options = {
    **BARRIERS_ON_CPU,
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
}
# What is compiled for its analysis never runs: buffers are assigned before LLVM gets the kernels.
_UNOPTIMIZED_KERNELS_ON_CPU: Options = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}

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


def platform_options(platform: str) -> Options:
    """Return the options of the compiler under which policies work: none but on a CPU."""
    return BARRIERS_ON_CPU if platform == "cpu" else {}


def scheduler_options(platform: str) -> Options:
    """Return those, and what chooses the scheduler for little memory."""
    return LITTLE_MEMORY_ON_CPU if platform == "cpu" else {}


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
    kernels = _UNOPTIMIZED_KERNELS_ON_CPU if jax.default_backend() == "cpu" else {}
    analysis = lowered.compile(compiler_options={**kernels, **options} or None).memory_analysis()
    return CompiledMemory(
        temporary_bytes=int(analysis.temp_size_in_bytes),
        result_bytes=int(analysis.output_size_in_bytes),
        argument_bytes=int(analysis.argument_size_in_bytes),
    )
