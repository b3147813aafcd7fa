"""A way to know durations that remembers what it has said, for the provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost, Spread
    from jettison.instances.profilers.torch_graphs.traced_step import TracedOperation


@dataclass
class SpreadLog:
    """Passes everything on to another cost; it is one itself.

    Attributes
    ----------
    cost
        Which.
    steps
        For each step that was traced with it, the spread of every operation by its name.
    """

    cost: OperatorCost
    steps: list[dict[str, Spread]] = field(default_factory=lambda: [{}])

    @property
    def source(self) -> str:
        """As of the other."""
        return self.cost.source

    @property
    def note(self) -> str:
        """As of the other."""
        return self.cost.note

    @property
    def assumed_device(self) -> str | None:
        """As of the other."""
        return self.cost.assumed_device

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Return what the other returns."""
        found = self.cost.spread_ns(operation)
        # Names are unique within a step: one that comes again begins another step.
        if operation.name in self.steps[-1]:
            self.steps.append({})
        self.steps[-1][operation.name] = found
        return found

    def of_operations(self) -> Mapping[str, Spread]:
        """Return the spreads of the only step, as a provenance names them."""
        return {f"{name} duration_ns": spread for name, spread in self.steps[-1].items()}

    def of_steps(self) -> Mapping[str, Spread]:
        """Return for each step the sums of the minima, medians and maxima of its operations."""
        return {f"{number} fused step_ns": _sums(step) for number, step in enumerate(self.steps, 1)}


def _sums(step: Mapping[str, Spread]) -> Spread:
    least, median, most = (sum(column) for column in zip(*step.values(), strict=True))
    return least, median, most
