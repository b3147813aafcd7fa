"""Durations of kernels: by a roofline, or measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median_low
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.device.processor_name import processor_name
from jettison.instances.profilers.device.rates import DeviceRates
from jettison.jax.equation_cost import equation_flops
from jettison.jax.step_values import Kernel


class KernelCosts(Protocol):
    """Durations of the kernels of a step."""

    def duration_ns(self, kernel: Kernel, size_bytes: Callable[[int], int]) -> int:
        """Return the duration of a kernel, given the sizes of values."""
        ...

    def provenance(self) -> Provenance:
        """Return where the durations are from."""
        ...


class RooflineCosts:
    """Roofline of a device: all arithmetic of a kernel, and what it reads from memory and writes.

    Parameters
    ----------
    rates
        Rates of the device; each kernel is one launch.
    """

    def __init__(self, rates: DeviceRates) -> None:
        self._rates = rates

    def duration_ns(self, kernel: Kernel, size_bytes: Callable[[int], int]) -> int:
        """Return the duration of a kernel."""
        flops = sum(equation_flops(equation.source) for equation in kernel.equations)
        moved = sum(map(size_bytes, (*kernel.reads, *kernel.root.outputs)))
        return self._rates.duration_ns(flops, moved)

    def provenance(self) -> Provenance:
        """Return the rates."""
        return Provenance(
            source="jax",
            libraries={"jax": jax.__version__},
            device=self._rates.assumed_device,
            note=self._rates.note,
        )


class MeasuredCosts:
    """Kernels that are compiled and run one by one, on the default device of JAX.

    Integers are zeros, since they may be indices, and all other numbers are ones. Equal kernels are
    measured once.

    Parameters
    ----------
    repeats
        Runs of each kernel, of which the median counts; one more comes before them.
    """

    def __init__(self, repeats: int = 5) -> None:
        self._repeats = repeats
        self._known: dict[str, int] = {}

    def duration_ns(self, kernel: Kernel, size_bytes: Callable[[int], int]) -> int:
        """Return the duration of a kernel."""
        key = _described(kernel)
        if key not in self._known:
            self._known[key] = self._measured(kernel)
        return self._known[key]

    def provenance(self) -> Provenance:
        """Return the device."""
        device = jax.devices()[0]
        name = processor_name() if device.platform == "cpu" else str(device.device_kind)
        return Provenance(
            source="jax",
            libraries={"jax": jax.__version__},
            device=name,
            repeats=self._repeats,
            note="each kernel, an equation with what is fused into it, was compiled by itself",
        )

    def _measured(self, kernel: Kernel) -> int:
        made = {value for equation in kernel.equations for value in equation.outputs}
        avals: dict[int, Any] = {}
        for equation in kernel.equations:
            for atom, value in zip(equation.source.invars, equation.inputs, strict=True):
                if isinstance(value, int) and value not in made:
                    avals[value] = atom.aval

        def run(arrays: list[Any]) -> list[Any]:
            known = dict(zip(avals, arrays, strict=True))
            for equation in kernel.equations:
                # Between equations of one kernel there may be changes of shape, which take no time.
                results = equation.run(lambda value: known[value])
                known.update(zip(equation.outputs, results, strict=True))
            return [known[value] for value in kernel.root.outputs]

        compiled = jax.jit(run)
        arrays = [_filled(aval) for aval in avals.values()]
        jax.block_until_ready(compiled(arrays))
        durations = []
        for _ in range(self._repeats):
            before = time.perf_counter_ns()
            jax.block_until_ready(compiled(arrays))
            durations.append(time.perf_counter_ns() - before)
        return median_low(durations)


def _filled(aval: Any) -> Any:
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jnp.broadcast_to(jax.random.key(0), aval.shape)
    if jnp.issubdtype(aval.dtype, jnp.integer):
        return jnp.zeros(aval.shape, aval.dtype)
    return jnp.ones(aval.shape, aval.dtype)


def _described(kernel: Kernel) -> str:
    lines = []
    for equation in kernel.equations:
        shapes = " ".join(str(atom.aval) for atom in equation.source.invars)
        lines.append(
            f"{equation.primitive} {shapes} {sorted(map(str, equation.source.params.items()))}"
        )
    return "\n".join(lines)
