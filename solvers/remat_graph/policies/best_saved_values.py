"""Best saved values of a joint graph: what runs again once, as late as it can, in a memory."""

from __future__ import annotations

import random
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.lazy_schedule import is_late, lazy_schedule, operators_again
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.solve import solve


@dataclass(frozen=True, kw_only=True)
class SavedValuesParams(Params):
    """Parameters of the search for what runs again.

    Attributes
    ----------
    replays
        Replays of changed sets after the first descents.
    replays_to_repair
        Replays of random changes for each start that does not fit.
    share_for_starts
        Share of the time limit that the methods get whose schedules the search begins from.
    """

    replays: int = 600
    replays_to_repair: int = 150
    share_for_starts: float = 0.7


SAVED_VALUES = SavedValuesParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedValues:
    """Choice of what of a joint graph runs again, with the replay of the step.

    Attributes
    ----------
    graph, memory_bytes
        The instance and the memory.
    again
        Positions of the forward operators that run again; what else the backward pass reads is
        saved.
    schedule, replay
        What happens in the step.
    bounds
        Lower bounds; each says for which schedules it holds.
    is_settled
        Whether the search came to its end, and not to the time limit.
    """

    graph: Graph
    memory_bytes: int
    again: frozenset[int]
    schedule: GraphSchedule
    replay: Replay
    bounds: tuple[Bound, ...]
    is_settled: bool = True

    @classmethod
    def of(
        cls,
        problem: RematGraph,
        again: frozenset[int],
        bounds: tuple[Bound, ...],
        *,
        is_settled: bool = True,
    ) -> SavedValues:
        """Return a set with the replay of its step."""
        graph = problem.instance
        schedule = lazy_schedule(graph, again)
        return cls(
            graph=graph,
            memory_bytes=problem.memory_bytes,
            again=operators_again(graph, schedule.computations),
            schedule=schedule,
            replay=schedule.replay(graph, problem.memory_bytes),
            bounds=bounds,
            is_settled=is_settled,
        )

    @property
    def class_bound_ns(self) -> int:
        """Largest bound that holds for the class of the schedule."""
        covering = [
            bound.time_ns
            for bound in self.bounds
            if bound.valid_for.covers(self.replay.schedule_class)
        ]
        return max([self.graph.base_time_ns, *covering])


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSavedValues:
    """Result where no set of operators to run again was found within a memory.

    Attributes
    ----------
    is_proved
        Whether none fits.
    enough_bytes
        The least peak of a set that was looked at.
    """

    is_proved: bool
    enough_bytes: int


def candidates(graph: Graph) -> frozenset[int]:
    """Return the forward operators that may run again: those that something reads.

    None that is computed once (`Graph.computed_once`) is among them.
    """
    read = {graph.operators[source] for inputs in graph.inputs for source in inputs}
    return frozenset(
        node
        for node in range(len(graph))
        if graph.operators[node] == node
        and not is_late(graph, node)
        and node in read
        and node not in graph.computed_once
    )


def least_peak_again(graph: Graph, allowed: AbstractSet[int]) -> tuple[frozenset[int], int]:
    """Return a set of operators with a small peak, and the peak, by a descent from all of them."""
    search = _Search(graph, 0)
    best = frozenset(allowed)
    least = search.replay(best).peak_bytes
    for node in sorted(allowed, key=lambda node: (-graph.nodes[node].duration_ns, node)):
        fewer = best - {node}
        peak = search.replay(fewer).peak_bytes
        if peak <= least:
            best, least = fewer, peak
    return best, least


def best_saved_values(
    problem: RematGraph,
    options: SolveOptions,
    *,
    allowed: AbstractSet[int] | None = None,
    starts: Iterable[AbstractSet[int]] = (),
    params: SavedValuesParams = SAVED_VALUES,
) -> SavedValues | NoSavedValues:
    """Return operators to run again so that a step within the memory takes the least time.

    The search looks at sets of operators, and at nothing else: each is replayed as it would happen
    (`lazy_schedule`). It begins from what the schedule of `saved-or-once` runs again, which is the
    optimum where all operators may, from nothing, from everything, and from `starts`; each is
    repaired until it fits, then operators leave while it does, the dearest first. Unless the bound
    of `saved-or-once` is met, random changes of the best follow, of a fixed number and a fixed
    seed. The bound holds for the class; operators that may not run again only make it wider.

    Parameters
    ----------
    problem
        A graph whose backward operators are marked, and the memory.
    options
        As for a method.
    allowed
        Operators that may run again; by default all that something reads.
    starts
        Sets to begin from as well.
    params
        Length of the search.

    Raises
    ------
    InputError
        If no node is marked as backward.
    """
    graph, memory_bytes = problem.instance, problem.memory_bytes
    if not any(node.backward for node in graph.nodes):
        raise InputError(
            "no node has the mark of the backward pass",
            field="instance",
            expected="give the graph of a training step, with its forward and backward operators",
        )
    free = candidates(graph) if allowed is None else frozenset(allowed)
    limit = options.time_limit_s
    solved = solve(
        problem,
        "saved-or-once",
        time_limit=None if limit is None else max(0.1, limit * params.share_for_starts),
        seed=options.seed,
        threads=options.threads,
    )
    first = [frozenset[int](), free, *(frozenset(start) & free for start in starts)]
    if isinstance(solved.schedule, GraphSchedule):
        first.append(operators_again(graph, solved.schedule.computations) & free)
    search = _Search(graph, memory_bytes)
    draw = random.Random(options.seed)
    found = [
        kept
        for start in first
        if (kept := search.repaired(start, free, draw, params.replays_to_repair)) is not None
    ]
    if not found:
        _, least = least_peak_again(graph, free)
        is_proved = solved.infeasibility is not None and solved.infeasibility.valid_for.covers(
            ScheduleClass.SAVED_OR_ONCE
        )
        return NoSavedValues(is_proved=is_proved, enough_bytes=least)
    best = min((search.descended(start) for start in found), key=search.cost)
    least_ns = max([graph.base_time_ns, *(bound.time_ns for bound in solved.bounds)])
    if search.cost(best)[0] > least_ns:
        best = search.improved(best, free, draw, params.replays)
    is_settled = solved.termination.is_regular or search.cost(best)[0] <= least_ns
    return SavedValues.of(problem, best, solved.bounds, is_settled=is_settled)


# `saved_sets.search.SavedSetSearch` is a search of its own: it refuses graphs whose forward nodes
# do not come first, and nodes that are results of others, since its model has a row for each node.
# A joint graph may have both.
class _Search:
    """Replays of sets of operators that run again, and changes that make them fit or faster."""

    def __init__(self, graph: Graph, memory_bytes: int) -> None:
        self._graph = graph
        self._memory_bytes = memory_bytes
        self._known: dict[frozenset[int], Replay] = {}

    def replay(self, again: frozenset[int]) -> Replay:
        if again not in self._known:
            self._known[again] = lazy_schedule(self._graph, again).replay(self._graph)
        return self._known[again]

    def fits(self, again: frozenset[int]) -> bool:
        return self.replay(again).peak_bytes <= self._memory_bytes

    def cost(self, again: frozenset[int]) -> tuple[int, int]:
        """Return the time, and then the peak."""
        replay = self.replay(again)
        return replay.time_ns, replay.peak_bytes

    def repaired(
        self, start: frozenset[int], free: frozenset[int], draw: random.Random, replays: int
    ) -> frozenset[int] | None:
        """Return a set that fits: one operator more or fewer lowers the peak, or a few at a time.

        The cheapest operators for their bytes join first. Where no single one helps, changes of two
        or three at random are tried, a fixed number in all.
        """
        kept = start
        tried = 0
        while not self.fits(kept):
            peak = self.replay(kept).peak_bytes
            single = [*self._worth_adding(free - kept), *sorted(kept)]
            better = next(
                (other for node in single if self.replay(other := kept ^ {node}).peak_bytes < peak),
                None,
            )
            while better is None and tried < replays and len(free) > 1:
                tried += 1
                few = draw.sample(sorted(free), min(len(free), draw.randint(2, 3)))
                if self.replay(kept.symmetric_difference(few)).peak_bytes < peak:
                    better = kept.symmetric_difference(few)
            if better is None:
                return None
            kept = better
        return kept

    def descended(self, start: frozenset[int]) -> frozenset[int]:
        """Return the set without what it does not need, the dearest operators first."""
        nodes = self._graph.nodes
        kept = start
        for node in sorted(start, key=lambda node: (-nodes[node].duration_ns, node)):
            if self.fits(kept - {node}):
                kept = kept - {node}
        return kept

    def improved(
        self, start: frozenset[int], free: frozenset[int], draw: random.Random, replays: int
    ) -> frozenset[int]:
        """Return a faster set, by exchanges that end in a descent."""
        best = start
        order = sorted(free)
        before = len(self._known)
        tried = 0
        while order and tried < replays and len(self._known) - before < replays:
            tried += 1
            changed = set(best)
            for node in draw.sample(order, min(len(order), draw.randint(1, 4))):
                changed.symmetric_difference_update({node})
            other = frozenset(changed)
            if self.replay(other).time_ns > self.replay(best).time_ns * 1.05:
                continue
            if self.fits(other):
                other = self.descended(other)
                best = min(best, other, key=self.cost)
        return best

    def _worth_adding(self, nodes: AbstractSet[int]) -> list[int]:
        def price(node: int) -> tuple[float, int]:
            facts = self._graph.nodes[node]
            results = self._graph.results_after.get(node, range(0))
            size = facts.output_bytes + sum(
                self._graph.nodes[each].output_bytes for each in results
            )
            return facts.duration_ns / max(1, size), node

        return sorted(nodes, key=price)
