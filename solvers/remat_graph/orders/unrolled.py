"""Schedule as a graph of its computations, and the same computations in another sequence.

Every computation of a schedule becomes a node of its own, which reads those computations whose
values it read. Any topological order of this *unrolled* graph is a sequence of the same
computations, and takes as long; what changes is the memory. In the sequence, as a schedule of the
original graph, each computation reads the last value of an input: of two copies that would be in
memory at once only one is, and one that nobody reads is left out (`from_computations`). So the
schedule takes no more memory than the order of the unrolled graph, and no more time.

A sequence of a smaller peak leaves room in which a recomputation can be spared. `Resequencing`
takes one out, lets its readers read the copy before, and anneals the sequence (`excess`) until it
fits again; what fits is faster.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.orders.excess import OrderExcess, anneal_order


def unrolled(graph: Graph, computations: Sequence[int]) -> Graph:
    """Return the graph of the computations of a valid schedule.

    Parameters
    ----------
    graph
        A graph in which no operator makes results and nothing else.
    computations
        Its nodes, as they are computed, each after one computation at least of its inputs.
    """
    place_of: dict[int, int] = {}
    last = {node: place for place, node in enumerate(computations)}
    nodes = []
    for place, node in enumerate(computations):
        item = graph.nodes[node]
        nodes.append(
            replace(
                item,
                name=f"{place}",
                inputs=tuple(f"{place_of[source]}" for source in graph.inputs[node]),
                keep=item.keep and last[node] == place,
                result_of=None,
            )
        )
        place_of[node] = place
    return Graph(f"{graph.name}, unrolled", tuple(nodes))


class Resequencing:
    """Search that spares recomputations of a schedule by computing in another sequence.

    Parameters
    ----------
    problem
        Its graph has no operator that makes results and nothing else.
    schedule
        One that fits.
    seed
        Seed of the search.

    Attributes
    ----------
    computations
        The computations of the best schedule.
    """

    def __init__(self, problem: RematGraph, schedule: GraphSchedule, seed: int) -> None:
        self._problem = problem
        self._chance = random.Random(seed)
        self.computations = list(schedule.computations)
        # Recomputations that were tried, since the last one that could be spared.
        self._tried: set[int] = set()

    def step(self, moves: int, most_places: int, clock: Clock) -> GraphSchedule | None:
        """Try to spare one recomputation; return the faster schedule, if that fits.

        Parameters
        ----------
        moves, most_places
            Of annealing the sequence, as `anneal_order` takes them.
        clock
            When it runs out, what has been annealed by then counts.
        """
        graph = self._problem.instance
        place = self._draw()
        if place is None:
            return None
        rest = [*self.computations[:place], *self.computations[place + 1 :]]
        spared = GraphSchedule.from_computations(graph, rest).computations
        state = OrderExcess(unrolled(graph, spared), self._problem.memory_bytes, range(len(spared)))
        order = anneal_order(state, self._chance, moves, clock, most_places)
        found = GraphSchedule.from_computations(graph, [spared[i] for i in order])
        if not found.replay(graph, self._problem.memory_bytes).valid:
            return None
        self.computations = list(found.computations)
        self._tried = set()
        return found

    def _draw(self) -> int | None:
        """Draw a recomputation, the longer ones first, until all have been tried; then any."""
        seen: set[int] = set()
        again = []
        for place, node in enumerate(self.computations):
            if node in seen:
                again.append(place)
            seen.add(node)
        if not again:
            return None
        fresh = [place for place in again if place not in self._tried]
        if not fresh:
            self._tried = set()
            fresh = again
        durations = [self._problem.instance.nodes[self.computations[i]].duration_ns for i in fresh]
        place = self._chance.choices(fresh, [1 + duration for duration in durations])[0]
        self._tried.add(place)
        return place
