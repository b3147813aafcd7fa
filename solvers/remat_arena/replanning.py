r"""Plans whose buffers fit in an arena: a plan for less memory where the first one does not fit.

A method of `remat-graph` makes a schedule for :math:`L` bytes without addresses, at first those of
the arena; its buffers are placed (`buffer_placement`). If that takes :math:`x` bytes too much, the
next schedule is made for the peak of this one less :math:`x`. Once one fits, the limit is bisected
between the largest that gave a plan that fits and the least that gave one that does not. Nothing is
monotone here: another schedule in more memory may well be placed in less. So every schedule is
judged by the replay of its addresses alone, and the fastest that fits is the answer.

Bounds for as much memory without addresses hold here as well, since every addressed schedule is one
of those. A proof that nothing fits without addresses is one for the arena; that so much would do is
not taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jettison.instances.remat_arena.problem import RematArena
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_arena.arena import Arena, Fit
from jettison.schedules.remat_arena.buffers import Buffer, buffers_of
from jettison.schedules.remat_arena.schedule import AddressedSchedule, ArenaReplay
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_arena.buffer_placement import PLACEMENT, PlacementParams, place_all


@dataclass(frozen=True, kw_only=True)
class ReplanParams(PlacementParams):
    """Parameters of planning again in less memory, beside those of placing buffers.

    Attributes
    ----------
    plans
        Most schedules that are made and placed.
    share_of_the_first
        Share of the time for the first schedule, whose bounds are those of the answer.
    share_of_a_plan
        Share of the time that is left for each further schedule.
    """

    plans: int = 12
    share_of_the_first: float = 0.5
    share_of_a_plan: float = 0.3


REPLAN = ReplanParams()

Placer = Callable[[Sequence[Buffer], int], Sequence[int]]
"""Returns the offset of each buffer; an arena of so many bytes would do."""


class ArenaSearch:
    """Plans for one arena, from one method of `remat-graph`.

    Parameters
    ----------
    problem, options, params
        As for the methods.
    planner
        The method that makes schedules.
    placer
        Chooses addresses; None for `place_all`.
    """

    def __init__(
        self,
        problem: RematArena,
        options: SolveOptions,
        params: ReplanParams,
        planner: str,
        placer: Placer | None = None,
    ) -> None:
        self._problem = problem
        self._options = options
        self._params = params
        self._planner = planner
        self._placer = placer or self._place
        self._clock = Clock(options.time_limit_s)
        self._infeasibility: Infeasibility | None = None
        self._least_arena: int | None = None
        self._work = {"plans": 0, "buffers": 0}
        self._incumbent: Incumbent[AddressedSchedule] = Incumbent(
            lambda schedule: schedule.replay(problem.instance, problem.memory_bytes),
            problem.base_time_ns,
            options,
            self._clock,
        )

    def outcome(self) -> Outcome:
        """Search, and return what was found."""
        self._incumbent.begin_from(self._options.start, AddressedSchedule, ScheduleClass.ALL)
        termination = run_to_its_end(self._run)
        return self._incumbent.outcome(
            termination,
            work=self._work,
            infeasibility=None if self._incumbent.schedule else self._infeasibility,
            note=self._note(),
        )

    def _note(self) -> str | None:
        if self._incumbent.schedule is not None or self._infeasibility is not None:
            return None
        if self._least_arena is None:
            return "no schedule was found, with addresses or without"
        return (
            f"the schedules that were found need an arena of {self._least_arena} bytes or more; "
            "that does not prove that none fits"
        )

    def _run(self) -> Termination:
        memory_bytes = self._problem.memory_bytes
        limit, too_much, fitting, too_little = memory_bytes, memory_bytes + 1, 0, 0
        ended = Termination.COMPLETED
        for number in range(self._params.plans):
            is_first = not number
            outcome = self._plan(limit, self._share(is_first))
            if is_first:
                ended = outcome.termination
                for bound in outcome.bounds:
                    self._incumbent.prove(bound)
                if outcome.infeasibility is not None:
                    self._infeasibility = replace(outcome.infeasibility, is_exact=False)
                    return ended
            pass_interrupt_on(outcome.termination)
            replay = None
            if isinstance(outcome.schedule, GraphSchedule):
                replay = self._offer(outcome.schedule)
            if self._incumbent.is_settled:
                return self._incumbent.end
            if replay is None:
                # The planner found nothing: more memory, if there is any left to try.
                too_little = limit
                limit = (max(too_little, fitting) + too_much) // 2
            elif replay.valid:
                if is_first:
                    return self._with_the_rest(limit, outcome)
                fitting = limit
                limit = (fitting + too_much) // 2
            else:
                too_much = limit
                excess = replay.peak_bytes - memory_bytes
                limit = (fitting + too_much) // 2
                if not max(fitting, too_little):
                    limit = min(too_much - 1, replay.live_peak_bytes - excess)
                elif too_little > fitting:
                    limit = (too_little + too_much) // 2
            if not max(fitting, too_little) < limit < too_much:
                break
            if limit < self._problem.instance.least_peak_bound_bytes:
                limit = self._problem.instance.least_peak_bound_bytes
                if limit >= too_much:
                    break
            if not self._clock.left_s:
                return Termination.TIME_LIMIT
        return ended

    def _share(self, is_first: bool) -> float:
        params = self._params
        return params.share_of_the_first if is_first else params.share_of_a_plan

    def _with_the_rest(self, limit_bytes: int, first: Outcome) -> Termination:
        """Go on from a first schedule that fits where its planner had too little time."""
        if first.termination is not Termination.TIME_LIMIT or not self._clock.left_s:
            return first.termination
        outcome = self._plan(limit_bytes, 1.0, first.schedule)
        for bound in outcome.bounds:
            self._incumbent.prove(bound)
        if isinstance(outcome.schedule, GraphSchedule):
            self._offer(outcome.schedule)
        return self._incumbent.end if self._incumbent.is_settled else outcome.termination

    def _plan(self, limit_bytes: int, share: float, start: Schedule | None = None) -> Outcome:
        """Ask the planner for a schedule in so much memory without addresses."""
        limit_s = None if self._options.time_limit_s is None else share * self._clock.left_s
        options = replace(self._options.quiet(), time_limit_s=limit_s or 1e-3, start=start)
        if self._options.time_limit_s is None:
            options = replace(options, time_limit_s=None)
        self._work["plans"] += 1
        problem = RematGraph(self._problem.instance, limit_bytes)
        return find_method(RematGraph.problem, self._planner).run(problem, options)

    def _offer(self, schedule: GraphSchedule) -> ArenaReplay:
        """Place the buffers of a schedule, and keep it if it fits."""
        graph = self._problem.instance
        buffers = buffers_of(graph, schedule.operations)
        offsets = self._placer(buffers, self._problem.memory_bytes)
        placed = AddressedSchedule.of(
            schedule,
            dict(zip(buffers, offsets, strict=True)),
            self._params.alignment_bytes,
        )
        self._work["buffers"] += len(buffers)
        self._incumbent.offer(placed)
        replay = placed.replay(graph, self._problem.memory_bytes)
        self._least_arena = min(self._least_arena or replay.peak_bytes, replay.peak_bytes)
        return replay

    def _place(self, buffers: Sequence[Buffer], enough_bytes: int) -> Sequence[int]:
        clock = self._clock
        return place_all(buffers, self._params, clock, enough_bytes, self._options.seed).offsets


def solve_replan(
    problem: RematArena, options: SolveOptions, params: ReplanParams = REPLAN
) -> Outcome:
    """Return a fast schedule that fits with its addresses, from `exact`, with its bounds."""
    return ArenaSearch(problem, options, params, "exact").outcome()


def solve_replan_anneal(
    problem: RematArena, options: SolveOptions, params: ReplanParams = REPLAN
) -> Outcome:
    """Return a fast schedule that fits with its addresses, from `anneal`."""
    return ArenaSearch(problem, options, params, "anneal").outcome()


def solve_replan_orders(
    problem: RematArena, options: SolveOptions, params: ReplanParams = REPLAN
) -> Outcome:
    """Return a fast schedule in any order that fits with its addresses, from `orders`."""
    return ArenaSearch(problem, options, params, "orders").outcome()


def solve_best_fit(
    problem: RematArena, options: SolveOptions, params: ReplanParams = REPLAN
) -> Outcome:
    """Return a schedule of `anneal` that fits with the addresses of best fit at run time."""

    def place(buffers: Sequence[Buffer], _: int) -> Sequence[int]:
        return addresses_at_run_time(buffers, Arena(Fit.BEST, params.alignment_bytes))

    return ArenaSearch(problem, options, params, "anneal", place).outcome()


def solve_store_all(
    problem: RematArena, options: SolveOptions, params: PlacementParams = PLACEMENT
) -> Outcome:
    """Return the schedule without recomputation, if it fits with its addresses."""
    return ArenaSearch(
        problem, options, ReplanParams(**vars(params), plans=1), "store-all"
    ).outcome()


def solve_order_and_place(
    problem: RematArena, options: SolveOptions, params: PlacementParams = PLACEMENT
) -> Outcome:
    """Return the order of least peak that computes everything once, if it fits with addresses."""
    once = ReplanParams(**vars(params), plans=1)
    return ArenaSearch(problem, options, once, "least-peak-order").outcome()


def addresses_at_run_time(buffers: Sequence[Buffer], arena: Arena) -> list[int]:
    """Return the offsets that an arena chooses while the step runs."""
    offsets = [0] * len(buffers)
    by_start = sorted(
        range(len(buffers)), key=lambda i: (buffers[i].start, buffers[i].is_workspace)
    )
    leaving: list[int] = []
    for index in by_start:
        gone = [other for other in leaving if buffers[other].end <= buffers[index].start]
        # A workspace is given back before the values of its computation.
        for other in sorted(gone, key=lambda i: (buffers[i].end, not buffers[i].is_workspace)):
            arena.free(offsets[other])
            leaving.remove(other)
        offsets[index] = arena.allocate(buffers[index].size_bytes)
        leaving.append(index)
    return offsets
