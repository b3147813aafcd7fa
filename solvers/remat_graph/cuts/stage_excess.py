"""Excess of a graph's schedule over the memory, stage by stage, and the cuts and slots for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphOperationKind, GraphSchedule

Slot = tuple[int, int]


def cuts_beside(slots: Collection[Slot]) -> set[int]:
    """Return the cuts on both sides of the stages of slots."""
    return {cut for stage, _ in slots for cut in (stage - 1, stage)}


def worst_of_neighbours(excess: Mapping[int, float], reach: int) -> list[int]:
    """Return the places whose excess is the largest within `reach` places, the worst first."""
    return [
        place
        for place in sorted(excess, key=lambda place: (-excess[place], place))
        if all(
            other not in excess or (excess[other], -other) <= (excess[place], -place)
            for other in range(place - reach, place + reach + 1)
        )
    ]


class StageExcess:
    """Excess over the memory in the replay of a sequence of computations.

    Stage t ends with the first computation of node t, in the order of the graph.

    Parameters
    ----------
    graph, memory_bytes
        The instance and the limit.
    computations
        As `GraphSchedule.from_computations` takes them; first ones in the order of the graph.

    Attributes
    ----------
    first_bytes
        Excess of the first computation of a node, by node, where positive.
    again_bytes
        Excess of recomputations, by stage and node, where positive.
    """

    def __init__(self, graph: Graph, memory_bytes: int, computations: Sequence[int]) -> None:
        schedule = GraphSchedule.from_computations(graph, computations)
        steps = schedule.replay(graph).steps
        self._num_nodes = len(graph)
        self.first_bytes: dict[int, int] = {}
        self.again_bytes: dict[Slot, int] = {}
        stage = 0
        for operation, step in zip(schedule.operations, steps, strict=True):
            if operation.kind is GraphOperationKind.FREE:
                continue
            above = step.during_bytes - memory_bytes
            if above > 0 and step.repeated:
                slot = (stage, operation.node)
                self.again_bytes[slot] = max(above, self.again_bytes.get(slot, 0))
            elif above > 0:
                self.first_bytes[operation.node] = above
            stage += not step.repeated

    @property
    def is_none(self) -> bool:
        """Whether the schedule fits."""
        return not self.first_bytes and not self.again_bytes

    def worst_stages(self) -> list[int]:
        """Return the nodes whose first computation exceeds the limit, the worst first."""
        return sorted(self.first_bytes, key=lambda node: (-self.first_bytes[node], node))

    def worst_slots(self) -> list[Slot]:
        """Return the slots (stage and node) of recomputations above the limit, the worst first.

        Recomputations after the last first computation have no stage and are left out.
        """
        slots = (slot for slot in self.again_bytes if slot[0] < self._num_nodes)
        return sorted(slots, key=lambda slot: (-self.again_bytes[slot], slot))

    def new_cuts(
        self,
        cuts: Collection[int],
        count: int,
        reach: int,
        ns_per_byte: Mapping[int, float] | None = None,
    ) -> list[int]:
        """Return up to `count` cuts to add, of stages whose first computation exceeds the limit.

        Of stages close to each other only the worst becomes a cut, which removes most of the excess
        of the others.

        Parameters
        ----------
        cuts
            The cuts that exist.
        count
            Most cuts to add.
        reach
            Stages so close to a worse one do not become cuts as well.
        ns_per_byte
            Cost of a byte at a stage (`StageCost`); a stage without one has the mean cost. By
            default every byte counts the same.
        """
        prices = ns_per_byte or {}
        usual = sum(prices.values()) / len(prices) if prices else 1.0
        excess = {
            node: above * prices.get(node, usual)
            for node, above in self.first_bytes.items()
            if node not in cuts
        }
        return worst_of_neighbours(excess, reach)[:count]

    def new_slots(self, slots: Collection[Slot], count: int) -> list[Slot]:
        """Return up to `count` slots to add, the worst first."""
        return [slot for slot in self.worst_slots() if slot not in slots][:count]
