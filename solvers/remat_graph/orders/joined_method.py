r"""any-order: order, recomputation and a bound for all schedules, in one search.

`exact` closes the gap for one order of first computations, and `orders` leaves that order without a
bound. Here

1. `any-order-bound` bounds the time of every schedule;
2. `orders` looks for an order and a schedule;
3. `exact` solves the graph in the order of the best schedule, from that schedule;
4. the schedule is *unrolled*, and recomputations are spared by computing in another sequence
   (`unrolled`); what is faster has another order of first computations, which `exact` takes next.

3. and 4. alternate until the time is up, or the schedule meets the bound and is the best of all.
Steps 1. and 2. have shares of the time, and what they leave of these is for the rest. In graphs
whose operators make several results, step 4. is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_graph.reordered_graph import ReorderedGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.cuts.exact_method import solve_graph_exact
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory
from jettison.solvers.remat_graph.orders.bound_method import bound_any_order
from jettison.solvers.remat_graph.orders.method import solve_orders
from jettison.solvers.remat_graph.orders.unrolled import Resequencing


@dataclass(frozen=True, kw_only=True)
class JoinedParams(Params):
    """Parameters of the joined search.

    Attributes
    ----------
    share_of_the_bound
        Share of the time limit for the bound.
    share_of_the_orders
        Share of the time that is left for looking at orders.
    share_of_exact
        Share of the time that is left for `exact` in one order.
    rounds
        Orders that `exact` takes, at most.
    idle_rounds
        Rounds without a faster schedule, after which the search ends.
    steps
        Recomputations that are tried between two of them, at most.
    share_of_the_steps
        Share of the time that is left for these.
    moves
        Moves of annealing for each recomputation that is tried.
    most_places
        Places that these moves simulate, at most.
    """

    share_of_the_bound: float = 0.3
    share_of_the_orders: float = 0.4
    share_of_exact: float = 0.4
    rounds: int = 20
    idle_rounds: int = 2
    steps: int = 300
    share_of_the_steps: float = 0.6
    moves: int = 20_000
    most_places: int = 200_000


JOINED = JoinedParams()


def solve_any_order(
    problem: RematGraph, options: SolveOptions, params: JoinedParams = JOINED
) -> Outcome:
    """Return the fastest schedule found in any order, with a bound for all schedules."""
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    search = JoinedSearch(problem, options, params)
    return search.outcome(run_to_its_end(search.run))


class JoinedSearch:
    """The best schedule and the bounds, while the methods take turns.

    Parameters
    ----------
    problem, options, params
        As for the method.
    """

    def __init__(self, problem: RematGraph, options: SolveOptions, params: JoinedParams) -> None:
        self._problem = problem
        self._options = options
        self._params = params
        self._clock = Clock(options.time_limit_s)
        self._infeasibility: Infeasibility | None = None
        self._work = {"rounds": 0, "spared": 0, "tried": 0}
        self._incumbent: Incumbent[GraphSchedule] = Incumbent(
            lambda schedule: schedule.replay(problem.instance, problem.memory_bytes),
            problem.instance.base_time_ns,
            options,
            self._clock,
        )

    def outcome(self, termination: Termination) -> Outcome:
        """Return what was found."""
        is_found = self._incumbent.schedule is not None
        note = "no schedule was found that fits; that does not prove that there is none"
        return self._incumbent.outcome(
            termination,
            work=self._work,
            infeasibility=self._infeasibility,
            note=None if is_found or self._infeasibility else note,
        )

    def run(self) -> Termination:
        """Search; see the module."""
        params = self._params
        incumbent = self._incumbent
        incumbent.begin_from(self._options.start, GraphSchedule, ScheduleClass.ALL)
        outcome = bound_any_order(self._problem, self._asked(params.share_of_the_bound))
        for bound in outcome.bounds:
            incumbent.prove(bound)
        pass_interrupt_on(outcome.termination)
        self._infeasibility = outcome.infeasibility
        if self._infeasibility is not None:
            return Termination.COMPLETED
        self._offer(solve_orders(self._problem, self._asked(params.share_of_the_orders)))
        idle = 0
        for _ in range(params.rounds):
            if incumbent.is_settled or not self._clock.left_s:
                return incumbent.end
            before_ns = incumbent.time_ns
            self._solve_in_its_order()
            self._spare()
            self._work["rounds"] += 1
            idle = idle + 1 if incumbent.time_ns == before_ns else 0
            if idle == params.idle_rounds:
                break
        return incumbent.end if incumbent.is_settled else Termination.COMPLETED

    def _asked(self, share: float) -> SolveOptions:
        quiet = self._options.quiet()
        if quiet.time_limit_s is None:
            return quiet
        return replace(quiet, time_limit_s=max(share * self._clock.left_s, 1e-3))

    def _offer(self, outcome: Outcome) -> None:
        if isinstance(outcome.schedule, GraphSchedule):
            self._incumbent.offer(outcome.schedule)
        pass_interrupt_on(outcome.termination)

    def _solve_in_its_order(self) -> None:
        """Ask `exact` for the best schedule in the order of first computations of the best."""
        graph = self._problem.instance
        best = self._incumbent.schedule
        first = tuple(range(len(graph)))
        if best is not None:
            first = tuple(dict.fromkeys(best.computations))
        reordered = ReorderedGraph(graph, first)
        place_of = reordered.place_of
        options = self._asked(self._params.share_of_exact)
        if best is not None:
            start = GraphSchedule.from_computations(
                reordered.graph, [place_of[node] for node in best.computations]
            )
            if start.replay(reordered.graph, self._problem.memory_bytes).valid:
                options = replace(options, start=start)
        outcome = solve_graph_exact(
            RematGraph(reordered.graph, self._problem.memory_bytes), options
        )
        if isinstance(outcome.schedule, GraphSchedule):
            computations = reordered.to_original(outcome.schedule.computations)
            self._incumbent.offer(GraphSchedule.from_computations(graph, computations))
        pass_interrupt_on(outcome.termination)

    def _spare(self) -> None:
        """Spare recomputations of the best schedule by computing in another sequence."""
        best, graph = self._incumbent.schedule, self._problem.instance
        if best is None or graph.results_after or self._incumbent.is_settled:
            return
        clock = self._clock.share(self._params.share_of_the_steps)
        seed = self._options.seed + self._work["rounds"]
        search = Resequencing(self._problem, best, seed)
        for _ in range(self._params.steps):
            if not clock.left_s or self._incumbent.is_settled:
                return
            self._work["tried"] += 1
            found = search.step(self._params.moves, self._params.most_places, clock)
            if found is not None:
                self._work["spared"] += 1
                self._incumbent.offer(found)
