r"""least-peak-order: the least peak over all orders of a step that computes everything once.

Which order needs the least memory is NP-hard (`instances.generators.register_allocation`), and
asked by compilers that do not recompute (OLLA; ROAM). Here the answer is a bracket:

1. a bound for all orders from minimum cuts (`ancestor_cuts`); the order given and a greedy one;
2. the search over sets (`peak_search`) raises the bound until an order meets it, as far as its
   share of the sets goes;
3. between the bound and the best order peaks are bisected: the search looks for an order within
   each, and where it gives up, annealing does (`excess`), from the best order.

As a method of `remat-graph`: where the best order fits, it is the schedule, and no schedule is
faster. Where the bound is above the memory, no order without recomputation fits, a proof for the
class *once*. The note states the bracket in every case.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.operators import held_values
from jettison.solvers.remat_graph.orders.ancestor_cuts import PeakBound
from jettison.solvers.remat_graph.orders.excess import OrderExcess, anneal_order, greedy_order
from jettison.solvers.remat_graph.orders.peak_search import PeakSearch
from jettison.solvers.remat_graph.orders.single_runs import SingleRuns


@dataclass(frozen=True, kw_only=True)
class LeastPeakParams(Params):
    """Parameters of the search for the least peak.

    Attributes
    ----------
    sets
        Sets of operators that the search looks at, over all questions.
    share_of_the_bound
        Share of these for raising the bound; what it leaves is for finding orders.
    sets_of_a_question
        Sets for a question between the bound and the best order.
    moves_per_node
        Moves of annealing for each node, for a question that the search leaves open.
    most_moves
        Most moves for such a question.
    questions
        Most peaks that are asked for between the bound and the best order.
    """

    sets: int = 200_000
    share_of_the_bound: float = 0.5
    sets_of_a_question: int = 5_000
    moves_per_node: int = 200
    most_moves: int = 40_000
    questions: int = 30


LEAST_PEAK = LeastPeakParams()


@dataclass(frozen=True, slots=True)
class PeakBracket:
    """Bracket of the least peak over all orders without recomputation.

    Attributes
    ----------
    order
        The nodes in the best order found.
    peak_bytes
        Its peak.
    bound_bytes
        No order has a smaller peak.
    sets
        Sets of operators that were looked at.
    termination
        Why the search ended.
    """

    order: tuple[int, ...]
    peak_bytes: int
    bound_bytes: int
    sets: int
    termination: Termination

    @property
    def is_optimal(self) -> bool:
        """Whether no order is better."""
        return self.peak_bytes == self.bound_bytes


def least_peak_order(
    graph: Graph,
    options: SolveOptions | None = None,
    params: LeastPeakParams = LEAST_PEAK,
) -> PeakBracket:
    """Return the best order found and a bound on the peak of all orders.

    Parameters
    ----------
    graph
        The instance.
    options
        Time limit and seed; 60 seconds and 0 by default.
    params
        The effort.
    """
    search = _Bracketing(graph, options or SolveOptions(), params)
    with Ending() as ending:
        ending.termination = search.run()
    return PeakBracket(
        tuple(search.runs.nodes_of(search.order)),
        search.peak_bytes,
        search.bound_bytes,
        params.sets - search.sets.left_sets,
        ending.termination,
    )


def solve_least_peak(
    problem: RematGraph, options: SolveOptions, params: LeastPeakParams = LEAST_PEAK
) -> Outcome:
    """Return an order without recomputation that fits, or a proof that none does, or neither."""
    bracket = least_peak_order(problem.instance, options, params)
    is_proved = "proved" if bracket.is_optimal else f"at least {bracket.bound_bytes} is proved"
    note = f"least peak over orders without recomputation: {bracket.peak_bytes} bytes, {is_proved}"
    work = {"sets": bracket.sets}
    if bracket.peak_bytes <= problem.memory_bytes:
        schedule = GraphSchedule.from_computations(problem.instance, bracket.order)
        return Outcome(termination=Termination.COMPLETED, schedule=schedule, work=work, note=note)
    infeasibility = None
    if bracket.bound_bytes > problem.memory_bytes:
        infeasibility = Infeasibility(
            valid_for=ScheduleClass.ONCE,
            least_memory_bytes=bracket.bound_bytes,
            is_exact=bracket.is_optimal,
        )
    return Outcome(
        termination=bracket.termination, infeasibility=infeasibility, work=work, note=note
    )


class _Bracketing:
    """Bracket of one graph, while it is narrowed.

    Attributes
    ----------
    order, peak_bytes
        The best order of units, and its peak.
    bound_bytes
        The bound.
    """

    def __init__(self, graph: Graph, options: SolveOptions, params: LeastPeakParams) -> None:
        self.runs = SingleRuns(graph)
        self._params = params
        self._clock = Clock(options.time_limit_s)
        self._chance = random.Random(options.seed)
        self.sets = PeakSearch(self.runs, self._clock, params.sets)
        # Where operators make several results, orders are annealed as if they held them whole.
        self._annealed = held_values(graph) if graph.results_after else graph
        self.order = list(range(len(self.runs)))
        self.peak_bytes = self.runs.peak_bytes(self.order)
        self.bound_bytes = max(self.runs.need_bytes)

    def run(self) -> Termination:
        """Narrow the bracket."""
        given = self.order
        self._offer(self.runs.units_of(greedy_order(self._annealed)))
        orders = [given, self.order]
        bound_bytes = PeakBound(self.runs).over(orders, self._clock)
        self.bound_bytes = max(self.bound_bytes, bound_bytes)
        kept_back = int((1 - self._params.share_of_the_bound) * self.sets.left_sets)
        self.sets.left_sets -= kept_back
        order, self.bound_bytes = self.sets.least(self.bound_bytes, self.peak_bytes)
        self.sets.left_sets += kept_back
        self._offer(order)
        low = self.bound_bytes
        for _ in range(self._params.questions):
            if low >= self.peak_bytes or not self._clock.left_s:
                break
            asked = (low + self.peak_bytes) // 2
            decision = self.sets.decide(asked, self._params.sets_of_a_question)
            if decision.least_bytes is not None:
                self.bound_bytes = max(self.bound_bytes, decision.least_bytes)
                low = max(low, decision.least_bytes)
            elif not self._offer(decision.order or self._anneal(asked), asked):
                low = asked + 1
        is_over = self.peak_bytes <= self.bound_bytes or bool(self._clock.left_s)
        return Termination.COMPLETED if is_over else Termination.TIME_LIMIT

    def _anneal(self, asked_bytes: int) -> list[int]:
        graph = self._annealed
        state = OrderExcess(graph, asked_bytes, self.runs.nodes_of(self.order))
        moves = min(self._params.most_moves, self._params.moves_per_node * len(graph))
        return self.runs.units_of(anneal_order(state, self._chance, moves, self._clock))

    def _offer(self, order: Sequence[int] | None, asked_bytes: int | None = None) -> bool:
        """Keep an order if it is better; tell whether it has the peak that was asked for."""
        if order is None:
            return False
        peak_bytes = self.runs.peak_bytes(order)
        if peak_bytes < self.peak_bytes:
            self.order, self.peak_bytes = list(order), peak_bytes
        return asked_bytes is None or peak_bytes <= asked_bytes
