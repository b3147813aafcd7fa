"""Graph schedules with transfers: computations, deletions, offloads and prefetches."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)
from jettison.schedules.remat_offload_graph.linked_replay import LinkedReplay
from jettison.schedules.remat_offload_graph.linked_step import LinkedStep
from jettison.schedules.remat_offload_graph.value_transfer import ValueTransfer


@dataclass(frozen=True, slots=True)
class OffloadGraphSchedule:
    """Graph schedule with transfers to the host: operations in the order of issue.

    Raises
    ------
    InputError
        If something is no operation of a graph and no transfer.
    """

    kind = "offload-graph-schedule"

    operations: tuple[GraphOperation | ValueTransfer, ...]

    def __repr__(self) -> str:
        return short_repr(self, "operations", self.operations)

    def __post_init__(self) -> None:
        checked = checked_operations(self.operations, (GraphOperation, ValueTransfer))
        object.__setattr__(self, "operations", checked)

    @classmethod
    def without_transfers(cls, schedule: GraphSchedule) -> OffloadGraphSchedule:
        """Return a graph schedule as one that may have transfers, of which it has none."""
        return cls(schedule.operations)

    @property
    def computations(self) -> tuple[int, ...]:
        """The nodes computed, in order."""
        return tuple(
            item.node
            for item in self.operations
            if isinstance(item, GraphOperation) and item.kind is GraphOperationKind.COMPUTE
        )

    @property
    def transfers(self) -> tuple[ValueTransfer, ...]:
        """The transfers, in order."""
        return tuple(item for item in self.operations if isinstance(item, ValueTransfer))

    def replay(
        self, graph: Graph, link: Link | None = None, memory_bytes: int | None = None
    ) -> LinkedReplay:
        r"""Execute the schedule in exact integers and name every broken rule.

        The rules are those of `LinkedStep`. Without transfers they are those of
        `GraphSchedule.replay`, and so are time and peak.

        Parameters
        ----------
        graph
            The instance.
        link
            The link to the host; None where there is none: each transfer breaks a rule then.
        memory_bytes
            The limit; None to measure only.

        Notes
        -----
        Time :math:`O(n (d + r))` for n operations of d inputs while r deletions are pending.
        """
        return LinkedStep(graph, link, memory_bytes).run(self.operations)
