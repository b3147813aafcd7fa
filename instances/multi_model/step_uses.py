"""Uses of the values of a training step: its feature maps, and what computes them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class StepUses:
    """Uses of the values of a training step; nodes are given by position.

    Attributes
    ----------
    first_backward_node
        The number of forward nodes.
    last
        For each node the last one that reads its value, itself if none does.
    feature_maps
        Ascending.
    last_forward, first_backward
        For each feature map the last forward node that reads it, itself if none does, and the
        first backward one.
    """

    first_backward_node: int
    last: tuple[int, ...]
    feature_maps: tuple[int, ...]
    last_forward: Mapping[int, int]
    first_backward: Mapping[int, int]

    @classmethod
    def of(cls, graph: Graph) -> StepUses:
        """Return the uses in a graph.

        Raises
        ------
        InputError
            If a pass is missing, or a forward node comes after a backward one.
        """
        backward = [node.backward for node in graph.nodes]
        turn = backward.index(True) if True in backward else len(backward)
        if turn in {0, len(backward)}:
            raise InputError(
                f"the {'backward' if turn else 'forward'} pass is empty",
                field="graphs",
                expected="give the graph of a training step, its backward nodes marked",
            )
        if not all(backward[turn:]):
            late = backward.index(False, turn)
            raise InputError(
                f"{graph.nodes[late].name!r} comes after {graph.nodes[turn].name!r}",
                field=f"graphs: nodes[{late}]",
                expected="list the forward nodes first",
            )
        last = tuple(users[-1] if users else place for place, users in enumerate(graph.users))
        found = tuple(
            place for place in range(turn) if last[place] >= turn and not graph.nodes[place].keep
        )
        return cls(
            first_backward_node=turn,
            last=last,
            feature_maps=found,
            last_forward={
                place: max([user for user in graph.users[place] if user < turn], default=place)
                for place in found
            },
            first_backward={
                place: min(user for user in graph.users[place] if user >= turn) for place in found
            },
        )

    def recomputation(self, graph: Graph, result: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the sources of a feature map, and the nodes that are computed again, in order.

        The sources are the nearest feature maps above it, reached through transient values only.
        """
        sources: set[int] = set()
        again = {result}
        waiting = [result]
        while waiting:
            for above in graph.inputs[waiting.pop()]:
                if above in self.last_forward:
                    sources.add(above)
                elif above not in again and not graph.nodes[above].keep:
                    again.add(above)
                    waiting.append(above)
        return tuple(sorted(sources)), tuple(sorted(again))
