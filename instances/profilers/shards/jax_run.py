"""Profiling run of a training step in JAX: operations measured one by one, or a roofline.

Changes of shape, transpositions and broadcasts are folded into what reads them (`fold_views`), and
take no time. Every other operation is compiled and run by itself: what a compiler would win by
fusing elementwise operations is not seen.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median_low
from typing import Any

import jax
import jax.numpy as jnp

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Scalar
from jettison.instances.importers.jax_program import trace_equations
from jettison.instances.profilers.device.processor_name import processor_name, short_device_name
from jettison.instances.profilers.settings import ProfileSettings
from jettison.instances.profilers.shards.jax_step import JaxStep
from jettison.instances.profilers.target import code_sha256
from jettison.instances.profilers.torch_chains.partial_profile import PartialProfile
from jettison.instances.profilers.torch_graphs.operation_log import OPERATIONS, OperationLog, Spread
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.tensor_programs.fold_views import fold_views
from jettison.instances.tensor_programs.program_graph import graph_with_durations, program_graph

_PATIENCE_S = 1.0


class JaxRun:
    """Profiling run of a training step in JAX.

    Parameters
    ----------
    target
        The target as the user named it.
    step
        The step of the target.
    settings
        Where and how often operations run; JAX chooses the number of threads itself.

    Attributes
    ----------
    name
        Target, batch, input and device: the name of the instance.

    Raises
    ------
    InputError
        If JAX sees no such device, or the step cannot be traced.
    """

    def __init__(self, target: str, step: JaxStep, settings: ProfileSettings) -> None:
        self._target = target
        self._settings = settings
        self._device = _device(settings.device)
        program, self._equations = trace_equations(
            step.loss,
            step.parameters,
            step.inputs,
            name=target.replace(":", "-"),
            model_name=step.model_name,
            model_arguments=step.model_arguments,
        )
        self.program = fold_views(program)
        known = program.provenance
        sizes = "x".join(map(str, known.input_shape[1:])) or "1"
        self._stem = f"{program.name}-b{known.batch or 1}-{sizes}"
        self._device_name = (
            processor_name() if settings.device == "cpu" else str(self._device.device_kind)
        )
        self.name = f"{self._stem}-{short_device_name(self._device_name, settings.device)}"

    def operations(self, path: Path) -> PartialProfile[Spread]:
        """Return the operations that an earlier run like this one has left in a file.

        Raises
        ------
        InputError
            If the file is something else.
        """
        text = json.dumps(self.program.to_json(), sort_keys=True)
        key: dict[str, Scalar] = {
            "kind": "jax graph",
            "target": self._target,
            "program": hashlib.sha256(text.encode()).hexdigest(),
            "code": code_sha256(self._target),
            "device": self._device_name,
            "version of jax": jax.__version__,
            "version of jettison": metadata.version("jettison"),
            "warmup": self._settings.warmup,
            "repeats": self._settings.repeats,
        }
        return PartialProfile(path, key, OPERATIONS, patience_s=_PATIENCE_S)

    def graph(
        self,
        costs: str,
        partial: PartialProfile[Spread],
        announce: Callable[[str], None] = lambda name: None,
    ) -> Graph:
        """Return the graph of the step; `costs` is ``measured`` or ``roofline``."""
        if costs == "roofline":
            rates = self._settings.rates
            found = program_graph(
                self.program,
                flops_per_ns=rates.flops_per_ns,
                bytes_per_ns=rates.bytes_per_ns,
                launch_ns=rates.launch_ns,
            )
            provenance = replace(found.provenance, device=rates.assumed_device, device_kind="cuda")
            label = f"{rates.label}-" if rates.label else ""
            return replace(found, name=f"{self._stem}-{label}roofline", provenance=provenance)
        with ExitStack() as after:
            after.callback(partial.flush)
            spreads = self._measured(OperationLog(partial), announce)
        provenance = replace(
            self.program.provenance,
            source="jax-profile",
            device=self._device_name,
            device_kind=self._settings.device,
            date=datetime.now(UTC).date().isoformat(),
            exporter=f"jettison {metadata.version('jettison')}",
            warmup=self._settings.warmup,
            repeats=self._settings.repeats,
            spread={f"{name} duration_ns": spread for name, spread in spreads.items()},
            note="each operation was compiled and run by itself; views take no time",
        )
        return graph_with_durations(
            self.program, lambda item: spreads[item.name][1], provenance, self.name
        )

    def _measured(self, known: OperationLog, announce: Callable[[str], None]) -> dict[str, Spread]:
        found: dict[str, Spread] = {}
        for operation in self.program.operations:
            if operation.role.is_computed_once:
                continue
            equation = self._equations[operation.name]
            key = _described(equation)
            if key not in known:
                announce(operation.name)
                known[key] = self._run(equation)
            found[operation.name] = known[key]
        return found

    def _run(self, equation: Any) -> Spread:
        arguments = [jax.device_put(_filled(atom.aval), self._device) for atom in equation.invars]

        def operation(*values: Any) -> Any:
            return equation.primitive.bind(*values, **equation.params)

        compiled = jax.jit(operation)
        # Compiling is no part of any run, and the first one may wait for the device.
        jax.block_until_ready(compiled(*arguments))
        durations = []
        for _ in range(self._settings.warmup + self._settings.repeats):
            before = time.perf_counter_ns()
            jax.block_until_ready(compiled(*arguments))
            durations.append(time.perf_counter_ns() - before)
        counted = durations[self._settings.warmup :]
        return min(counted), median_low(counted), max(counted)


def _filled(aval: Any) -> Any:
    """Return an array of ones, or of zeros where the values may be indices."""
    if jnp.issubdtype(aval.dtype, jnp.integer):
        return jnp.zeros(aval.shape, aval.dtype)
    return jnp.ones(aval.shape, aval.dtype)


def _described(equation: Any) -> str:
    shapes = " ".join(str(atom.aval) for atom in equation.invars)
    settings = {name: str(value) for name, value in sorted(equation.params.items())}
    return f"{equation.primitive.name} {shapes} {settings}"


def _device(kind: str) -> Any:
    try:
        return jax.devices("cpu" if kind == "cpu" else "gpu")[0]
    except RuntimeError:
        raise InputError(
            "JAX sees no GPU here",
            field="device",
            expected="write cpu, or install a JAX that fits the driver: pip install 'jax[cuda12]'",
        ) from None
