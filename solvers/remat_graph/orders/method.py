r"""orders: search over the orders of a graph's first computations.

Most methods keep the order in which the graph lists its nodes. Where another one needs less memory,
less or nothing must be recomputed. The method

1. anneals orders, from the one given and from a greedy one, for the least memory above the limit
   in a step without recomputation (`excess`). An order without any is as fast as a schedule
   can be, and the search ends;
2. anneals the recomputations of the given order, as `anneal` does with the same seed, so that the
   result is no worse than that of `anneal`;
3. anneals the recomputations of each order of 1., in few rounds;
4. anneals orders by the times of their schedules: a neighbour of an order has one to four nodes in
   other places, and its time is that of the schedule that few rounds find. An order for which no
   schedule is found that fits counts as the time of the slowest order of 2. and 3. plus that of a
   step without recomputation, plus half a step for each multiple of the given order's excess;
5. anneals the recomputations of the best order in all rounds.

Each order is a graph of its own (`ReorderedGraph`), of which the schedules are staged; numbered
as the graph was given they are schedules of any order, judged by the same replay.

A kept value may have to be computed again after the last first computation, where staged schedules
have no stage. So all orders except that of 2. are those of the graph with one more node, without
bytes and time, that reads all kept values.

Shares of the time limit are counted in moves (`jettison.solvers.core.work`), so the result is the
same for a seed, on a busy machine too, if no time limit ends the search. Without one a step of 4.
takes about a millisecond for ten nodes and some tenths of a second for hundreds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_graph.reordered_graph import ReorderedGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import moves_of_a_limit
from jettison.solvers.remat_graph.annealing.method import ANNEAL, annealing_of, run_annealing
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.remat_graph.operators import on_held_values
from jettison.solvers.remat_graph.orders.excess import (
    OrderExcess,
    anneal_order,
    greedy_order,
    random_move,
)


@dataclass(frozen=True, kw_only=True)
class OrdersParams(Params):
    """Parameters of the search over orders.

    Attributes
    ----------
    share_of_the_given
        Share of the time limit, in the work of a usual machine, for the given order.
    share_of_a_start
        Share of the time limit for each order of little excess: to find it, and then to anneal it.
    share_of_a_step
        Share of the time limit for each order that is tried by the time of its schedule.
    rounds
        Rounds of annealing for the order given and, at the end, for the best one.
    rounds_of_a_step
        Rounds of annealing for an order that is tried.
    starts
        Orders of little excess from which the search starts.
    moves_per_node
        Moves of annealing orders by their excess, for each node.
    most_moves
        Most moves of annealing orders by their excess.
    most_places
        Most places of nodes that are simulated from one start, in annealing orders by their excess.
    places_per_second
        Places that a usual machine simulates in a second of the time limit.
    steps
        Number of orders that are tried by the time of their schedules.
    most_shifts
        Most nodes in which a neighbour of an order differs from it.
    """

    share_of_the_given: float = 0.3
    share_of_a_start: float = 0.05
    share_of_a_step: float = 0.02
    rounds: int = ANNEAL.rounds
    rounds_of_a_step: int = 2
    starts: int = 4
    moves_per_node: int = 200
    most_moves: int = 100_000
    most_places: int = 2_000_000
    places_per_second: int = 300_000
    steps: int = 150
    most_shifts: int = 4


ORDERS = OrdersParams()


@on_held_values
def solve_orders(
    problem: RematGraph, options: SolveOptions, params: OrdersParams = ORDERS
) -> Outcome:
    """Return the fastest schedule found in any order, or a note that none was.

    Only sizes prove that nothing fits; a search in vain proves nothing. At the time limit and on
    Ctrl-C the best schedule so far is returned.
    """
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    search = OrderSearch(problem, options, params)
    termination = run_to_its_end(search.run)
    note = "no schedule was found that fits; that does not prove that there is none"
    is_found = search.incumbent.schedule is not None
    return search.incumbent.outcome(termination, work=search.work, note=None if is_found else note)


class OrderSearch:
    """The orders tried, and the best schedule so far.

    Parameters
    ----------
    problem, options, params
        As for the method.

    Attributes
    ----------
    incumbent
        The best schedule, in nodes of the graph.
    ended
        The problem with a node at its end that reads all kept values.
    order
        Its order of first computations, or that of the graph; of `ended`.
    """

    def __init__(self, problem: RematGraph, options: SolveOptions, params: OrdersParams) -> None:
        self.problem = problem
        self.ended = RematGraph(_with_end(problem.instance), problem.memory_bytes)
        self.options = options
        self.params = params
        self.clock = Clock(options.time_limit_s)
        self.floor_ns = problem.instance.base_time_ns
        self.incumbent: Incumbent[GraphSchedule] = Incumbent(
            lambda schedule: schedule.replay(problem.instance, problem.memory_bytes),
            self.floor_ns,
            options,
            self.clock,
        )
        self.chance = random.Random(options.seed)
        self.order: tuple[int, ...] = tuple(range(len(self.ended.instance)))
        self.work = {"orders": 0, "moves": 0}

    def run(self) -> Termination:
        """Search; see the module.

        Raises
        ------
        TimeoutError
            If the time is up.
        KeyboardInterrupt
            On Ctrl-C.
        """
        self.incumbent.begin_from(self.options.start, GraphSchedule, ScheduleClass.ALL)
        given = self.order
        starts = self._starts()
        if not starts[0].excess_bytes:
            self._evaluate(self.ended, tuple(starts[0].order), 1, 1.0)
            return Termination.COMPLETED
        nodes = tuple(range(len(self.problem.instance)))
        time_ns = self._evaluate(
            self.problem, nodes, self.params.rounds, self.params.share_of_the_given
        )
        tried: dict[tuple[int, ...], int | None] = {}
        if self.ended.instance is self.problem.instance:
            tried[given] = time_ns
        else:
            starts.append(OrderExcess(self.ended.instance, self.ended.memory_bytes, given))
        for start in starts:
            if self._is_over:
                return Termination.GAP_REACHED
            order = tuple(start.order)
            if order not in tried:
                tried[order] = self._evaluate(
                    self.ended,
                    order,
                    self.params.rounds_of_a_step + 1,
                    self.params.share_of_a_start,
                )
        self._anneal(tried)
        if not self._is_over and self.order != given:
            self._evaluate(self.ended, self.order, self.params.rounds, 1.0)
        return Termination.GAP_REACHED if self._is_over else Termination.COMPLETED

    @property
    def _is_over(self) -> bool:
        """Whether no schedule can be faster by more than the gap that was asked for."""
        return self.incumbent.is_settled

    def _starts(self) -> list[OrderExcess]:
        """Return orders of little excess, the least one first."""
        graph, memory_bytes = self.ended.instance, self.ended.memory_bytes
        params = self.params
        moves = min(params.most_moves, params.moves_per_node * len(graph))
        limit_s = math.inf if self.options.time_limit_s is None else self.options.time_limit_s
        in_time = params.share_of_a_start * limit_s * params.places_per_second
        places = min(params.most_places, in_time)
        found: list[OrderExcess] = []
        for start in range(params.starts):
            if found and not self.clock.left_s:
                break
            order: Sequence[int] = greedy_order(graph) if start % 2 else range(len(graph))
            state = OrderExcess(graph, memory_bytes, order)
            best = anneal_order(state, self.chance, moves, self.clock, places)
            found.append(OrderExcess(graph, memory_bytes, best))
            if not found[-1].excess_bytes:
                break
        return sorted(found, key=lambda state: state.excess_bytes)

    def _anneal(self, tried: dict[tuple[int, ...], int | None]) -> None:
        """Anneal orders by what they take, from the best of those tried."""
        graph, memory_bytes = self.ended.instance, self.ended.memory_bytes
        given = range(len(graph))
        excess_bytes = OrderExcess(graph, memory_bytes, given).excess_bytes or 1
        worst_ns = self.floor_ns + max(
            (time_ns for time_ns in tried.values() if time_ns is not None), default=self.floor_ns
        )

        def price(order: tuple[int, ...], time_ns: int | None) -> float:
            if time_ns is not None:
                return time_ns
            above = OrderExcess(graph, memory_bytes, order).excess_bytes / excess_bytes
            return worst_ns + above * self.floor_ns / 2

        current = min(tried, key=lambda order: price(order, tried[order]))
        current_price = price(current, tried[current])
        warmest = self.floor_ns / len(graph)
        for step in range(self.params.steps):
            self._check_time()
            if self._is_over:
                return
            state = OrderExcess(graph, memory_bytes, current)
            for _ in range(self.chance.randint(1, self.params.most_shifts)):
                move = random_move(state, self.chance)
                if move is not None:
                    state.move(*move)
            order = tuple(state.order)
            if order not in tried:
                tried[order] = self._evaluate(
                    self.ended, order, self.params.rounds_of_a_step, self.params.share_of_a_step
                )
            found = price(order, tried[order])
            temperature = warmest * 0.01 ** (step / self.params.steps)
            gained = found - current_price
            if gained <= 0 or self.chance.random() < math.exp(-gained / temperature):
                current, current_price = order, found

    def _evaluate(
        self, problem: RematGraph, order: tuple[int, ...], rounds: int, share: float
    ) -> int | None:
        """Anneal the recomputations of an order; keep and return what is found."""
        reordered = ReorderedGraph(problem.instance, order)
        problem = RematGraph(reordered.graph, problem.memory_bytes)
        search = annealing_of(problem, self.options.seed, self.floor_ns, rounds)
        most_moves = share * moves_of_a_limit(self.options)
        quiet = self.options.quiet()
        termination = run_annealing(search, self.floor_ns, quiet, self.clock, most_moves)
        self.work["orders"] += 1
        self.work["moves"] += search.tried
        time_ns, best_ns = search.time_ns, self.incumbent.time_ns
        if time_ns is not None and (best_ns is None or time_ns < best_ns):
            graph = self.problem.instance
            found = reordered.to_original(search.computations)
            computations = tuple(node for node in found if node < len(graph))
            self.incumbent.offer(GraphSchedule.from_computations(graph, computations))
            if len(order) == len(self.order):
                self.order = order
        self.incumbent.report()
        pass_interrupt_on(termination)
        return time_ns

    def _check_time(self) -> None:
        if not self.clock.left_s:
            raise TimeoutError


def _with_end(graph: Graph) -> Graph:
    """Return the graph with a node that reads all kept values, if there are any."""
    kept = tuple(node.name for node in graph.nodes if node.keep)
    if not kept:
        return graph
    # No other name is as long.
    name = "end".ljust(1 + max(len(node.name) for node in graph.nodes), "_")
    return Graph(
        graph.name, (*graph.nodes, Node(name=name, duration_ns=0, output_bytes=0, inputs=kept))
    )
