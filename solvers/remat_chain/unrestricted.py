"""Fastest of all schedules of a chain: search over memory contents, beside a dynamic program.

RR-9302 (Section 4.1) shows that persistence can cost time and leaves the optimum of all schedules
open. A device can also drop any value at no cost, which the sequences of its Table 1 cannot.

`contents_search` searches all schedules. Its estimate is so close that a few hundred states suffice
on most networks; so on chains that are not long it runs first, with few states. Where it does not
end, the program of the persistent schedules with drops gives it a schedule to beat, and it runs
again until the time limit, or without one with all the states that it may have. Beyond
`MOST_STAGES` stages there is that program alone, with the cut bound, which holds for all schedules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.core.answers.gap import most_open_ns
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import (
    solve_chen_sqrt,
    solve_periodic,
    solve_recompute_all,
    solve_store_all,
)
from jettison.solvers.remat_chain.contents_search import (
    MOST_STAGES,
    ContentsParams,
    ContentsSearch,
    search_fastest,
    search_smallest,
)
from jettison.solvers.remat_chain.drop_search import least_memory_with_drops
from jettison.solvers.remat_chain.least_memory import least_memory_of_any_schedule
from jettison.solvers.remat_chain.revolve import solve_revolve
from jettison.solvers.remat_chain.rotor_drops import solve_rotor_drops


@dataclass(frozen=True, kw_only=True)
class UnrestrictedParams(ContentsParams):
    """Parameters of unrestricted: limits of the search over all schedules.

    The program with drops and revolve beside it run as they are tuned by themselves.

    Attributes
    ----------
    few_states
        Most states of the search before the program with drops, about a second.
    few_stages
        Longest chain with a search before the program.
    share_of_program
        Share of the remaining time for the program, where a search comes after it.
    most_stages
        Longest chain with a search after the program.
    """

    few_states: int = 200_000
    few_stages: int = 100
    share_of_program: float = 0.5
    most_stages: int = MOST_STAGES


UNRESTRICTED = UnrestrictedParams()
_BASELINES: tuple[Callable[[RematChain, SolveOptions], Outcome], ...] = (
    solve_store_all,
    solve_periodic,
    solve_chen_sqrt,
    solve_recompute_all,
)


@dataclass(frozen=True, slots=True)
class _Known:
    """Best schedule and bounds at some point of the run."""

    problem: RematChain
    schedule: ChainSchedule | None = None
    time_ns: int | None = None
    lower_bound_ns: int = 0
    bounds: tuple[Bound, ...] = ()
    states: int = 0

    def with_schedule(self, schedule: object) -> _Known:
        """Return the same with a schedule that fits, if one is given and faster."""
        if schedule is None:
            return self
        assert isinstance(schedule, ChainSchedule)
        time_ns = schedule.replay(self.problem.instance).time_ns
        if self.time_ns is not None and self.time_ns <= time_ns:
            return self
        return replace(self, schedule=schedule, time_ns=time_ns)

    def with_search(self, found: ContentsSearch) -> _Known:
        """Return the same with the bound and the schedule of a search for the fastest one."""
        known = self.with_schedule(found.schedule)
        lower_ns = max(self.lower_bound_ns, found.lower_bound)
        return replace(known, lower_bound_ns=lower_ns, states=self.states + found.states)

    @property
    def is_optimal(self) -> bool:
        """Whether the bound for all schedules meets the time."""
        return self.time_ns is not None and self.lower_bound_ns >= self.time_ns

    @property
    def bound(self) -> Bound:
        """The bound for all schedules."""
        return Bound(
            time_ns=self.lower_bound_ns,
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.EXACT,
            method="unrestricted",
        )

    def outcome(self, termination: Termination) -> Outcome:
        """Return all that is known as an outcome."""
        return Outcome(
            termination=Termination.COMPLETED if self.is_optimal else termination,
            schedule=self.schedule,
            bounds=(self.bound, *self.bounds),
            work={"states": self.states},
            note=None if self.schedule else "no schedule was found before the end of the search",
        )


def solve_unrestricted(
    problem: RematChain, options: SolveOptions, params: UnrestrictedParams = UNRESTRICTED
) -> Outcome:
    """Return the fastest of all schedules of a chain, with its proof if the limits allow one.

    Returns
    -------
    Outcome
        With a bound valid for all schedules, which meets the time unless a limit was hit; or a
        proof that no schedule at all fits, with the least memory of any. At a limit, the best
        schedule known: no baseline is faster.
    """
    clock = Clock(options.time_limit_s)
    known = _Known(problem, lower_bound_ns=problem.instance.base_time_ns)
    if problem.memory_bytes < least_memory_of_any_schedule(problem.instance):
        return _refusal(problem, clock, params)
    with Ending() as ending:
        known = known.with_schedule(options.start)
        for baseline in _BASELINES:
            known = known.with_schedule(baseline(problem, options.quiet()).schedule)
        if len(problem.instance) <= params.few_stages:
            found = search_fastest(
                problem, known.time_ns, most_states=params.few_states, time_limit_s=_left(clock)
            )
            known = known.with_search(found)
            _tell(known, options, clock)
            if found.is_complete or found.termination is Termination.INTERRUPTED:
                return _ended(known, found, options, clock, params)
        return _search_beside_program(known, options, clock, params)
    return known.outcome(ending.termination)


def _search_beside_program(
    known: _Known, options: SolveOptions, clock: Clock, params: UnrestrictedParams
) -> Outcome:
    """Find the best persistent schedule, then search for one faster by more than the gap."""
    problem = known.problem
    can_search = len(problem.instance) <= params.most_stages
    share = params.share_of_program if can_search else 1.0
    limit_s = None if math.isinf(clock.left_s) else max(share * clock.left_s, 1e-3)
    program_options = replace(options, gap=0, time_limit_s=limit_s)
    program = solve_rotor_drops(problem, program_options)
    known = known.with_schedule(program.schedule)
    known = replace(known, bounds=program.bounds)
    if program.termination is Termination.INTERRUPTED:
        return known.outcome(Termination.INTERRUPTED)
    if not program.termination.is_regular:
        # A program that stopped early may be behind the baselines.
        known = known.with_schedule(solve_revolve(problem, program_options).schedule)
    lower_ns = [item.time_ns for item in program.bounds if item.valid_for is ScheduleClass.ALL]
    known = replace(known, lower_bound_ns=max([known.lower_bound_ns, *lower_ns]))
    _tell(known, options, clock)
    if known.is_optimal or not can_search:
        refused = known.schedule is None and program.infeasibility is not None
        note = "no persistent schedule with drops fits" if refused else None
        return replace(known.outcome(program.termination), note=note)
    if known.schedule is None:
        smallest = _smallest(problem, clock, params)
        if smallest.lower_bound > problem.memory_bytes:
            return _refused(smallest)
        known = known.with_schedule(smallest.schedule)
    below_ns = None
    if known.time_ns is not None:
        base_ns = problem.instance.base_time_ns
        below_ns = known.time_ns - most_open_ns(options.gap, known.time_ns, base_ns)
    found = search_fastest(problem, below_ns, time_limit_s=_left(clock), params=params)
    known = known.with_search(found)
    _tell(known, options, clock)
    return _ended(known, found, options, clock, params)


def _ended(
    known: _Known,
    found: ContentsSearch,
    options: SolveOptions,
    clock: Clock,
    params: UnrestrictedParams,
) -> Outcome:
    """Return the outcome after a search over contents, complete or not."""
    if found.is_complete and known.schedule is None:
        return _refusal(known.problem, clock, params)
    if known.time_ns is not None:
        base_ns = known.problem.instance.base_time_ns
        is_near = options.is_close_enough(known.time_ns, known.lower_bound_ns, base_ns)
        if is_near and found.termination is not Termination.INTERRUPTED:
            return known.outcome(Termination.GAP_REACHED)
    return known.outcome(found.termination)


def _refusal(problem: RematChain, clock: Clock, params: UnrestrictedParams) -> Outcome:
    """Return the proof that nothing fits, with the least memory of any schedule if it is found."""
    return _refused(_smallest(problem, clock, params), problem.memory_bytes + 1)


def _refused(smallest: ContentsSearch, least_bytes: int = 0) -> Outcome:
    return Outcome(
        termination=Termination.COMPLETED,
        infeasibility=Infeasibility(
            valid_for=ScheduleClass.ALL,
            least_memory_bytes=max(smallest.lower_bound, least_bytes),
            is_exact=smallest.is_complete,
        ),
        work={"states": smallest.states},
    )


def _smallest(problem: RematChain, clock: Clock, params: UnrestrictedParams) -> ContentsSearch:
    """Search for the least memory of any schedule, at most that of a persistent one."""
    chain = problem.instance
    persistent_bytes, schedule = least_memory_with_drops(chain)
    least_bytes = least_memory_of_any_schedule(chain)
    if least_bytes == persistent_bytes:
        return ContentsSearch(least_bytes, schedule, 0, Termination.COMPLETED)
    if len(chain) > params.most_stages:
        return ContentsSearch(least_bytes, None, 0, Termination.NODE_LIMIT)
    found = search_smallest(chain, persistent_bytes, time_limit_s=_left(clock), params=params)
    return found if found.schedule else replace(found, schedule=schedule)


def _tell(known: _Known, options: SolveOptions, clock: Clock) -> None:
    if options.on_schedule is not None and known.schedule is not None:
        options.on_schedule(known.schedule, known.schedule.replay(known.problem.instance))
    if options.on_bound is not None:
        options.on_bound(known.bound)
    if options.on_progress is not None:
        options.on_progress(Progress(clock.seconds, known.time_ns, known.lower_bound_ns))


def _left(clock: Clock) -> float | None:
    return None if math.isinf(clock.left_s) else clock.left_s
