"""Durations of operations that are remembered, for the provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jettison.instances.profilers.device.timing import Spread
    from jettison.instances.profilers.torch_graphs.operation_reader import (
        TracedOperation,
    )
    from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost


@dataclass
class SpreadLog:
    """Source of durations that asks another one and remembers its answers.

    Attributes
    ----------
    cost
        The source that is asked.
    steps
        For each step that was traced with it, the spread of every operation by its name.
    """

    cost: OperatorCost
    steps: list[dict[str, Spread]] = field(default_factory=lambda: [{}])

    @property
    def source(self) -> str:
        """Name of the source that is asked."""
        return self.cost.source

    @property
    def note(self) -> str:
        """Remark of the source that is asked."""
        return self.cost.note

    @property
    def assumed_device(self) -> str | None:
        """Assumed GPU of the source that is asked, or None."""
        return self.cost.assumed_device

    @property
    def threads(self) -> int:
        """Threads that the source measures with."""
        return self.cost.threads

    def measured_again(self, operation: TracedOperation) -> Spread:
        """Ask for a new measurement, which is not remembered."""
        return self.cost.measured_again(operation)

    def spread_ns(self, operation: TracedOperation) -> Spread:
        """Ask for the durations of an operation, remember and return them."""
        found = self.cost.spread_ns(operation)
        # Names are unique within a step: one that comes again begins another step.
        if operation.name in self.steps[-1]:
            self.steps.append({})
        self.steps[-1][operation.name] = found
        return found

    def of_operations(self) -> Mapping[str, Spread]:
        """Return the spread of each operation of the only step, named as in a provenance."""
        return {f"{name} duration_ns": spread for name, spread in self.steps[-1].items()}

    def of_steps(self) -> Mapping[str, Spread]:
        """Return for each step the sums of the least, counted and longest durations."""
        return {f"{number} fused step_ns": _sums(step) for number, step in enumerate(self.steps, 1)}


def _sums(step: Mapping[str, Spread]) -> Spread:
    least, counted, most = (sum(column) for column in zip(*step.values(), strict=True))
    return least, counted, most
