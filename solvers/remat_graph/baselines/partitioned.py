r"""Baseline by parts: each part of the forward pass is solved alone, in several memories.

Source: HiRemate (Gusak et al., ICML 2025), which partitions a graph, solves the parts with any
solver for several budgets, and combines these options above. Here

1. the forward pass is cut into consecutive parts of about so many operators, each at the place of
   its window at which least bytes are read across. A backward operator belongs to the first part
   of those that it reads, directly or through backward operators before it;
2. a part, forward and backward, is a graph of its own: what it reads of others is there and takes
   nothing, and backward values that others read stay. `exact` solves it in several memories, from
   the least to that without recomputation. Parts that are alike are solved once;
3. a solved part is an *option*: its forward computations, those from its first backward operator
   on, its time, and the bytes that it saves between. A plan has an option for each part; it
   computes the forward computations in order, then the others, the last part first. The options
   come from a price for each byte saved, for every price at which a choice changes;
4. the fastest plan that fits is improved, one part at a time: an option that takes less time comes
   in, and where that does not fit, another part saves less.

Differences: HiRemate's partition comes from merging operators by a score and has as many levels as
it needs, and the options of a level are combined by an integer program. Here there are two levels.
Graphs need marks of their backward operators, which come last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit
from jettison.solvers.remat_graph.baselines.plan_measure import PlanMeasure
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits
from jettison.solvers.remat_graph.cuts.exact_method import solve_graph_exact
from jettison.solvers.remat_graph.operators import on_held_values


@dataclass(frozen=True, kw_only=True)
class PartitionedParams(Params):
    """Parameters of the baseline by parts.

    Attributes
    ----------
    part_nodes
        Forward operators of a part, about.
    memories
        Memories in which each part is solved.
    share_of_the_parts
        Share of the time limit for solving parts.
    most_moves
        Work of `exact` on one part in one memory, in moves of annealing.
    changes
        Changes of options that are tried at the end, for each part.
    """

    part_nodes: int = 20
    memories: int = 6
    share_of_the_parts: float = 0.7
    most_moves: int = 200_000
    changes: int = 40


PARTITIONED = PartitionedParams()


@dataclass(frozen=True, slots=True)
class Option:
    """Solved part: computations by their places in the part, time, and what is saved.

    Attributes
    ----------
    forward, backward
        The computations up to the last first one of the forward pass, and those after it.
    time_ns
        The time of both.
    saved_bytes
        The bytes in memory between the two.
    """

    forward: tuple[int, ...]
    backward: tuple[int, ...]
    time_ns: int
    saved_bytes: int


def parts_of(graph: Graph, last_forward: int, part_nodes: int) -> list[list[int]]:
    """Return the nodes of each part, ascending; forward nodes up to `last_forward`."""
    ends = [
        max((user for user in users if user <= last_forward), default=node)
        for node, users in enumerate(graph.users)
    ]
    across = [0] * (last_forward + 1)
    for i in range(last_forward + 1):
        for place in range(i, ends[i]):
            across[place] += graph.nodes[i].output_bytes
    part_of = [0] * len(graph)
    first, number = 0, 0
    while first <= last_forward:
        window = range(
            min(first + part_nodes // 2, last_forward),
            min(first + 3 * part_nodes // 2, last_forward),
        )
        middle = first + part_nodes - 1
        cut = min(
            window,
            key=lambda place: (across[place], abs(place - middle), place),
            default=last_forward,
        )
        if last_forward - first < part_nodes:
            cut = last_forward
        for node in range(first, cut + 1):
            part_of[node] = number
        first, number = cut + 1, number + 1
    parts: list[list[int]] = [[] for _ in range(number)]
    for node in range(len(graph)):
        if node > last_forward:
            part_of[node] = min((part_of[i] for i in graph.inputs[node]), default=number - 1)
        parts[part_of[node]].append(node)
    return parts


def graph_of_part(graph: Graph, nodes: Sequence[int]) -> Graph:
    """Return the graph of a part, whose backward values that others read are kept."""
    inside = set(nodes)
    names = {node: f"{place}" for place, node in enumerate(nodes)}
    made = []
    for node in nodes:
        item = graph.nodes[node]
        is_read = any(user not in inside for user in graph.users[node])
        made.append(
            replace(
                item,
                name=names[node],
                inputs=tuple(names[i] for i in graph.inputs[node] if i in inside),
                keep=item.keep or (item.backward and is_read),
                result_of=None,
                operator_name=None,
            )
        )
    return Graph("part", tuple(made))


def options_of_part(
    graph: Graph, forward_nodes: int, options: SolveOptions, params: PartitionedParams
) -> list[Option]:
    """Return what `exact` finds for a part in several memories, the fastest one first."""
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    found: dict[tuple[int, ...], Option] = {}
    for number in range(params.memories):
        memory_bytes = most - number * (most - least) // max(1, params.memories - 1)
        outcome = solve_graph_exact(RematGraph(graph, memory_bytes), options)
        pass_interrupt_on(outcome.termination)
        if not isinstance(outcome.schedule, GraphSchedule):
            break
        option = _option(graph, outcome.schedule.computations, forward_nodes)
        found[option.forward + option.backward] = option
    return sorted(found.values(), key=lambda option: (option.time_ns, option.saved_bytes))


def _option(graph: Graph, computations: Sequence[int], forward_nodes: int) -> Option:
    split = 1 + max((computations.index(node) for node in range(forward_nodes)), default=-1)
    forward, backward = tuple(computations[:split]), tuple(computations[split:])
    read: set[int] = set()
    made: set[int] = set()
    for node in backward:
        read |= {i for i in graph.inputs[node] if i not in made}
        made.add(node)
    kept = {i for i in set(forward) if graph.nodes[i].keep}
    saved = sum(graph.nodes[i].output_bytes for i in (read & set(forward)) | kept)
    time_ns = sum(graph.nodes[node].duration_ns for node in computations)
    return Option(forward, backward, time_ns, saved)


class PartitionedPlans:
    """Parts of a graph with their options, and the plans that these make.

    Parameters
    ----------
    problem
        Its graph has marks of backward operators.
    last_forward
        The last forward node.
    options, params
        As for the method.
    """

    def __init__(
        self,
        problem: RematGraph,
        last_forward: int,
        options: SolveOptions,
        params: PartitionedParams,
        clock: Clock,
    ) -> None:
        graph = problem.instance
        self.parts = parts_of(graph, last_forward, params.part_nodes)
        self.options: list[list[Option]] = []
        self._measure = PlanMeasure(graph)
        self._graph = graph
        self._memory_bytes = problem.memory_bytes
        known: dict[str, list[Option]] = {}
        for number, nodes in enumerate(self.parts):
            part = graph_of_part(graph, nodes)
            if part.sha256 not in known:
                left_s = clock.left_s * params.share_of_the_parts
                rest = (len(self.parts) - number) * params.memories
                asked = replace(options.quiet(), most_moves=params.most_moves)
                if options.time_limit_s is not None:
                    asked = replace(asked, time_limit_s=max(left_s / rest, 1e-3))
                forward = sum(node <= last_forward for node in nodes)
                known[part.sha256] = options_of_part(part, forward, asked, params)
            self.options.append(known[part.sha256])

    def by_prices(self) -> Iterator[tuple[int, ...]]:
        """Yield choices of an option for each part, from no price of a byte to any price."""
        prices = {0.0, float("inf")}
        for options in self.options:
            for one in options:
                for other in options:
                    if one.saved_bytes > other.saved_bytes and one.time_ns < other.time_ns:
                        saved = one.saved_bytes - other.saved_bytes
                        prices.add((other.time_ns - one.time_ns) / saved)
        seen: set[tuple[int, ...]] = set()
        for price in sorted(prices):
            choice = tuple(self._at(options, price) for options in self.options)
            if choice not in seen:
                seen.add(choice)
                yield choice

    def _at(self, options: Sequence[Option], price: float) -> int:
        def cost(place: int) -> tuple[float, float]:
            option = options[place]
            if price == float("inf"):
                return option.saved_bytes, option.time_ns
            return option.time_ns + price * option.saved_bytes, option.saved_bytes

        return min(range(len(options)), key=cost)

    def computations(self, choice: Sequence[int]) -> tuple[int, ...]:
        """Return the computations of a plan."""
        chosen = [options[place] for options, place in zip(self.options, choice, strict=True)]
        found: list[int] = []
        for nodes, option in zip(self.parts, chosen, strict=True):
            found += [nodes[place] for place in option.forward]
        for nodes, option in reversed(list(zip(self.parts, chosen, strict=True))):
            found += [nodes[place] for place in option.backward]
        return GraphSchedule.from_computations(self._graph, found).computations

    def improved(self, choice: tuple[int, ...], changes: int, clock: Clock) -> tuple[int, ...]:
        """Return a choice that fits, after taking faster options as far as they fit."""
        best_ns = self._measure.time_ns(self.computations(choice))
        left = changes * len(self.parts)
        is_better = True
        while is_better:
            is_better = False
            for tried in self._neighbours(choice):
                if not left or not clock.left_s:
                    return choice
                left -= 1
                computations = self.computations(tried)
                time_ns = self._measure.time_ns(computations)
                fits = self._measure.peak_bytes(computations) <= self._memory_bytes
                if time_ns < best_ns and fits:
                    choice, best_ns, is_better = tried, time_ns, True
                    break
        return choice

    def _neighbours(self, choice: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield faster choices: one part faster, then one faster and another slower."""

        def changed(*changes: tuple[int, int]) -> tuple[int, ...]:
            found = list(choice)
            for part, place in changes:
                found[part] = place
            return tuple(found)

        def gain(part: int, place: int) -> int:
            options = self.options[part]
            return options[choice[part]].time_ns - options[place].time_ns

        faster = [(part, place) for part, now in enumerate(choice) for place in range(now)]
        faster.sort(key=lambda change: -gain(*change))
        yield from (changed(change) for change in faster)
        slower = [
            (part, place)
            for part, now in enumerate(choice)
            for place in range(now + 1, len(self.options[part]))
        ]
        for up in faster:
            for down in slower:
                if up[0] != down[0] and gain(*up) + gain(*down) > 0:
                    yield changed(up, down)


@on_held_values
def solve_partitioned(
    problem: RematGraph, options: SolveOptions, params: PartitionedParams = PARTITIONED
) -> Outcome:
    """Return the fastest plan of options of parts that fits."""
    graph = problem.instance
    if graph.last_forward is None:
        return Outcome.not_applicable(
            "no node is marked as backward, or not all of the last ones; use another method"
        )
    clock = Clock(options.time_limit_s)
    with Ending() as ending:
        plans = PartitionedPlans(problem, graph.last_forward, options, params, clock)
        candidates = list(plans.by_prices())
    if not ending.termination.is_regular or not all(plans.options):
        return Outcome(
            termination=ending.termination,
            note="partitioned has a part without a schedule in the memories that were tried",
        )

    def made(choice: tuple[int, ...], limit: PlanLimit) -> Sequence[int]:
        computations = plans.computations(choice)
        limit.require_time(len(computations))
        return computations

    ranked = [Plan(rank, partial(made, choice)) for rank, choice in enumerate(candidates)]
    outcome = fastest_that_fits(problem, "partitioned", ranked, replace(options, time_limit_s=None))
    if not isinstance(outcome.schedule, GraphSchedule):
        return outcome
    best = outcome.schedule.computations
    start = next(choice for choice in candidates if plans.computations(choice) == best)
    improved = plans.improved(start, params.changes, clock)
    schedule = GraphSchedule.from_computations(graph, plans.computations(improved))
    return replace(outcome, schedule=schedule)
