"""Report of the memory of a step under several policies, by XLA and by the model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import jax

from jettison.instances.core.units import format_bytes
from jettison.jax.compiled_memory import COMMON_POLICIES, Options, scheduler_options
from jettison.jax.named_program import LoopBodies
from jettison.jax.policy_plan import PolicyPlan
from jettison.jax.policy_search import PolicySearch
from jettison.jax.step_graph import StepGraph
from jettison.schedules.remat_graph.lazy_schedule import lazy_computations
from jettison.schedules.remat_graph.saved_set import measure_saved_set


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """Memory and predicted time of a step under one policy.

    Attributes
    ----------
    policy
        Name of the policy.
    compiled_bytes
        XLA's temporary memory with the options of the plan.
    little_memory_bytes
        The same with XLA's scheduler for little memory.
    default_bytes
        The same with XLA's defaults.
    predicted_bytes, overhead
        Peak and share of what is computed again, by the model; of the plain step those of a step
        that saves everything.
    """

    policy: str
    compiled_bytes: int
    little_memory_bytes: int
    default_bytes: int
    predicted_bytes: int
    overhead: float

    def __str__(self) -> str:
        return (
            f"{self.policy:34} {format_bytes(self.compiled_bytes):>11} "
            f"{format_bytes(self.little_memory_bytes):>11} "
            f"{format_bytes(self.default_bytes):>11} {format_bytes(self.predicted_bytes):>11} "
            f"{self.overhead:>9.2%}"
        )


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Report of the memory of a step under several policies.

    Attributes
    ----------
    rows
        One for each policy.
    limit_bytes
        The limit of XLA's temporary memory.
    """

    rows: tuple[MemoryRow, ...]
    limit_bytes: int

    def __str__(self) -> str:
        lines = [
            f"{'policy':34} {'XLA':>11} {'scheduler':>11} {'default':>11} {'predicted':>11} "
            f"{'overhead':>9}",
            *map(str, self.rows),
        ]
        lines.append(f"limit: {format_bytes(self.limit_bytes)} of XLA's temporary memory")
        return "\n".join(lines)


def memory_report(search: PolicySearch, plan: PolicyPlan) -> MemoryReport:
    """Return the memory of a step with a plan, without one, and with the common policies."""
    step = search.graph(LoopBodies.SAVED)
    settings: tuple[Options, ...] = (search.options, scheduler_options(jax.default_backend()), {})
    searches = [replace(search, options=options) for options in settings]
    rows = []
    for name, policy in (("plain", None), *COMMON_POLICIES.items()):
        found = [item.measure(policy).temporary_bytes for item in searches]
        again = frozenset(range(step.num_forward)).difference(_saved_by(name, step))
        run = measure_saved_set(step.graph, lazy_computations(step.graph, again))
        overhead = run.time_ns / step.graph.base_time_ns - 1
        rows.append(_row(name, found, run.peak_bytes, overhead))
    names = (*plan.saved, *plan.offloaded)
    found = [item.measure(plan.policy(), names, plan.loops).temporary_bytes for item in searches]
    rows.append(_row("jettison", found, plan.predicted_peak_bytes, plan.overhead))
    return MemoryReport(tuple(rows), plan.limit_bytes)


def _saved_by(policy: str, step: StepGraph) -> Collection[int]:
    """Return the forward nodes that a common policy saves; all of them in the plain step."""
    forward = range(step.num_forward)
    if policy in {"plain", "everything_saveable"}:
        return forward
    if policy == "nothing_saveable":
        return step.entering
    found = set(step.entering)
    for place in forward:
        root = step.kernels[place].root
        is_batched = root.primitive == "dot_general" and any(
            root.source.params["dimension_numbers"][1]
        )
        if root.primitive == "dot_general" and not (
            policy == "dots_with_no_batch_dims_saveable" and is_batched
        ):
            found.add(place)
        if root.primitive == "conv_general_dilated" and policy == "dots_saveable":
            found.add(place)
    return found


def _row(policy: str, found: Sequence[int], predicted_bytes: int, overhead: float) -> MemoryRow:
    compiled_bytes, little_memory_bytes, default_bytes = found
    return MemoryRow(
        policy=policy,
        compiled_bytes=compiled_bytes,
        little_memory_bytes=little_memory_bytes,
        default_bytes=default_bytes,
        predicted_bytes=predicted_bytes,
        overhead=overhead,
    )
