r"""Plan of a training step from what is saved at the boundary between its two passes.

This is how torch runs what its partitioner decides, and what checkpointing by blocks or operators
does under a compiler: the forward pass computes what its outputs and the saved values need, and
drops all else after its last use. The backward pass goes in its order, and computes what is missing
right before it is needed for the first time, once; it stays to its last use
(``reordering_to_mimic_autograd_engine`` in PyTorch).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from jettison.instances.remat_graph.graph import Graph


class PlanBoundary:
    """Boundary between the passes of a graph whose backward nodes are marked.

    Parameters
    ----------
    graph
        The instance.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._backward = [node.backward for node in graph.nodes]

    @cached_property
    def late(self) -> frozenset[int]:
        """Forward nodes that no kept forward node depends on, where any forward node is kept.

        They are computed in the backward pass alone, unless they are saved. Results that are taken
        from an operator of the forward pass in no time are not among them.
        """
        graph = self._graph
        kept = {i for i, node in enumerate(graph.nodes) if node.keep and not node.backward}
        if not kept:
            return frozenset()
        needed = self._with_ancestors(kept)
        return frozenset(
            i
            for i, node in enumerate(graph.nodes)
            if not node.backward and i not in needed and graph.operators[i] not in needed
        )

    def computations(self, saved: Collection[int]) -> list[int]:
        r"""Return the computations of the plan, which `GraphSchedule.from_computations` takes.

        Values of kept nodes stay in any case, and those of nodes that are computed once.
        :math:`O(n + |E|)`.

        Parameters
        ----------
        saved
            Forward nodes whose values stay to their last use in the backward pass.
        """
        graph = self._graph
        first = self._with_ancestors({i for i in saved if i in self.late})
        forward = [
            i
            for i in range(len(graph))
            if not self._backward[i] and (i not in self.late or i in first)
        ]
        present = bytearray(len(graph))
        for i in forward:
            # An operator with several results has no value that could be saved: they have.
            stays = i in saved or graph.nodes[i].keep or i in graph.computed_once
            present[i] = graph.nodes[i].has_value and stays
        sequence = forward
        for i in range(len(graph)):
            if self._backward[i]:
                for missing in self._missing(i, present):
                    sequence.append(missing)
                    present[missing] = True
                sequence.append(i)
                present[i] = True
        # What neither pass reads is computed all the same.
        done = set(sequence)
        sequence.extend(i for i in range(len(graph)) if i not in done)
        return sequence

    def saved_by(self, computations: Sequence[int]) -> frozenset[int]:
        """Return the forward nodes whose first value the backward pass reads, :math:`O(k d)`.

        Parameters
        ----------
        computations
            Those of any schedule, `k` of `d` inputs.
        """
        found: set[int] = set()
        times = [0] * len(self._graph)
        for node in computations:
            if self._backward[node]:
                found.update(
                    source
                    for source in self._graph.inputs[node]
                    if times[source] == 1 and not self._backward[source]
                )
            times[node] += 1
            if times[node] > 1:
                # A recomputation in the backward pass may read what was saved as well.
                found.update(source for source in self._graph.inputs[node] if times[source] == 1)
        return frozenset(node for node in found if not self._backward[node])

    def _missing(self, node: int, present: bytearray) -> list[int]:
        """Return what must be computed before a node, ascending.

        With an operator that has no value of its own come all of its results that are missing, for
        whoever reads them later; what nothing reads the schedule leaves out.
        """
        found: set[int] = set()
        open_nodes = [node]
        while open_nodes:
            for source in self._graph.inputs[open_nodes.pop()]:
                if not present[source] and source not in found:
                    found.add(source)
                    open_nodes.append(source)
        for operator in found & self._graph.results_after.keys():
            results = self._graph.results_after[operator]
            found.update(result for result in results if not present[result])
        return sorted(found)

    def _with_ancestors(self, nodes: Collection[int]) -> set[int]:
        found = set(nodes)
        open_nodes = list(nodes)
        while open_nodes:
            for source in self._graph.inputs[open_nodes.pop()]:
                if source not in found:
                    found.add(source)
                    open_nodes.append(source)
        return found
