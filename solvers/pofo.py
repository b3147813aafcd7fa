r"""POFO: recompute and offload, by the dynamic program of NeurIPS 2021.

With fluid transfers the answer is the plan of the program (`pofo_program`), replayed. With
transfers at once, which the program does not see, its plans for a little less memory and slower
links are timed anew (`pofo_at_once`), beside `autocapper`. Either way two bounds come along: the
floor of the program, valid for the schedules of POFO's class, whose transfers at once are a special
case of fluid ones; and the cut bound, valid for all schedules.

Short chains are solved exactly. On longer ones memory is counted in 50 slots, as in the paper, then
in 100, 200, ... while the gap is open and time is left: the paper found 50 to be enough, and here
they are not on the longest chains (``notebooks/pofo.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from jettison.instances.remat_offload_chain import RematOffloadChain, Transfers
from jettison.schedules.offload_plan import OffloadPlan
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.autocapper import offer_autocapper, offer_capped
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.chain_baselines import store_all_schedule
from jettison.solvers.clock import Clock
from jettison.solvers.least_offload_memory import offload_infeasibility
from jettison.solvers.offload_cut_bound import bound_offload_cut
from jettison.solvers.offload_everything import offload_everything
from jettison.solvers.offload_incumbent import OffloadIncumbent
from jettison.solvers.outcome import Outcome, Problem, Progress, SolveOptions
from jettison.solvers.pofo_at_once import offer_at_once, offer_plans
from jettison.solvers.pofo_program import (
    PofoBracket,
    Recomputation,
    pofo_bracket,
    pofo_exact,
)
from jettison.solvers.status import Termination

# Up to so many stages the exact program takes about a second.
MOST_STAGES_EXACT = 30
EXACT_LABELS = 20_000
FIRST_SLOTS = 50
MOST_SLOTS = 800
# With transfers at once the bracket of the fluid model is not the answer: it gets this share of the
# time, and the cut bound as much.
SHARE_OF_BRACKET = 0.3
SHARE_OF_CUTS = 0.3
# With fluid transfers the brackets get this share of what is left: on long chains not even the
# first may end in time, and the other plans are all that there is.
SHARE_OF_FLUID = 0.7


class PofoBrackets:
    """Brackets of the optimum of POFO on one chain, finer and finer.

    Parameters
    ----------
    problem
        Chain, memory and link.
    recomputation
        Whether values may be computed again.
    """

    def __init__(self, problem: RematOffloadChain, recomputation: Recomputation) -> None:
        self._problem = problem
        self._recomputation = recomputation
        self.best = PofoBracket(None, None, None, False, 0, 0)
        self.slots = 0

    def refine(self, options: SolveOptions, clock: Clock) -> Iterator[PofoBracket]:
        """Yield brackets with more and more slots until one is closed.

        The best floor and the best plan of all of them are kept in `best`.

        Raises
        ------
        TimeoutError, MemoryError
            Where the next bracket would take more than there is.
        """
        problem, last_s = self._problem, 0.0
        self.slots = FIRST_SLOTS
        while True:
            started_s = clock.seconds
            found = self.bracket(
                problem.memory_bytes, problem.link.bytes_per_s, self.slots, clock.left_s
            )
            last_s = clock.seconds - started_s
            if found.floor_ns is None:
                # No schedule of POFO's class fits.
                return
            self._keep(found)
            yield self.best
            if self.best.is_exact or self._is_exactly_solved or self.slots >= MOST_SLOTS:
                return
            if self._gap <= options.gap:
                return
            # Twice the slots take up to four times as long.
            if clock.left_s <= 4 * last_s:
                raise TimeoutError
            self.slots *= 2

    def plan(self, memory_bytes: int, bytes_per_s: int, clock: Clock) -> OffloadPlan | None:
        """Return the plan for other resources, on the first grid."""
        return self.bracket(memory_bytes, bytes_per_s, FIRST_SLOTS, clock.left_s).plan

    def bracket(
        self, memory_bytes: int, bytes_per_s: int, slots: int, time_limit_s: float
    ) -> PofoBracket:
        """Return one bracket: the exact program on short chains, else the one on a grid."""
        chain = self._problem.instance
        limit_s = None if math.isinf(time_limit_s) else time_limit_s
        if self._is_exactly_solved:
            return pofo_exact(
                chain,
                memory_bytes,
                bytes_per_s,
                recomputation=self._recomputation,
                most_labels=EXACT_LABELS,
                time_limit_s=limit_s,
            )
        return pofo_bracket(
            chain,
            memory_bytes,
            bytes_per_s,
            slots,
            recomputation=self._recomputation,
            time_limit_s=limit_s,
        )

    @property
    def _is_exactly_solved(self) -> bool:
        return len(self._problem.instance) <= MOST_STAGES_EXACT

    @property
    def _gap(self) -> float:
        if self.best.plan_ns is None or self.best.floor_ns is None:
            return 1.0
        if self.best.plan_ns == 0:
            return 0.0
        return float((self.best.plan_ns - self.best.floor_ns) / self.best.plan_ns)

    def _keep(self, found: PofoBracket) -> None:
        best = self.best
        floor_ns = max(best.floor_ns or Fraction(0), found.floor_ns or Fraction(0))
        plan, plan_ns = best.plan, best.plan_ns
        if found.plan_ns is not None and (plan_ns is None or found.plan_ns < plan_ns):
            plan, plan_ns = found.plan, found.plan_ns
        self.best = PofoBracket(
            floor_ns,
            plan,
            plan_ns,
            plan_ns == floor_ns,
            best.labels + found.labels,
            best.states + found.states,
        )


def solve_pofo(problem: Problem, options: SolveOptions) -> Outcome:
    """Return POFO's schedule, with its floor and the cut bound.

    Returns
    -------
    Outcome
        All bounds in exact arithmetic, rounded up to whole nanoseconds, as the times are; or the
        proof that no schedule of any kind fits.
    """
    assert isinstance(problem, RematOffloadChain)
    refused = offload_infeasibility(problem.instance, problem.memory_bytes)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    brackets = PofoBrackets(problem, Recomputation.ALLOWED)
    incumbent = OffloadIncumbent(problem)
    # Something always fits: nobody is left without a schedule where no plan does, or on Ctrl-C.
    incumbent.offer(offload_everything(problem.instance))
    cuts = bound_offload_cut(problem, _share_of(options, SHARE_OF_CUTS))
    if cuts.termination is Termination.INTERRUPTED:
        return replace(cuts, schedule=incumbent.schedule)
    bounds = cuts.bounds
    capped = offer_autocapper(incumbent, options, clock)
    offers = _offers(incumbent, brackets, options, clock, capped)
    outcome = incumbent.search(offers, options, clock, "no schedule fits")
    if brackets.best.floor_ns is not None:
        bounds = (*bounds, _floor(brackets.best))
    return replace(
        outcome,
        bounds=bounds,
        work={
            **outcome.work,
            "slots": brackets.slots,
            "labels": brackets.best.labels,
            "states": brackets.best.states,
        },
    )


def solve_offload_only(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the best schedule that offloads and computes nothing again.

    With fluid transfers that is the optimum of POFO's program without recomputation, up to its
    grid; with transfers at once, its plans timed anew.
    """
    assert isinstance(problem, RematOffloadChain)
    clock = Clock(options.time_limit_s)
    brackets = PofoBrackets(problem, Recomputation.FORBIDDEN)
    incumbent = OffloadIncumbent(problem)
    greedy = _offer_greedy(incumbent)
    offers = _offers(incumbent, brackets, options, clock, greedy)
    return incumbent.search(offers, options, clock, "no plan without recomputation fits")


def _offers(
    incumbent: OffloadIncumbent,
    brackets: PofoBrackets,
    options: SolveOptions,
    clock: Clock,
    others: Iterator[None],
) -> Iterator[None]:
    """Offer plans, and `others` where the plans need not be the best.

    With transfers at once they come before the plans for other resources.
    """
    if incumbent.problem.transfers is Transfers.FLUID:
        stopped: TimeoutError | MemoryError | None = None
        share = Clock(None if math.isinf(clock.left_s) else clock.left_s * SHARE_OF_FLUID)
        try:
            yield from _offer_fluid(incumbent, brackets, options, clock, share)
        except (TimeoutError, MemoryError) as error:
            stopped = error
        # Rounding may have cost the program its best plans, or all of them.
        if not _is_closed(incumbent, brackets, options):
            yield from others
        if stopped is not None:
            raise stopped
        return
    yield from _offer_first(incumbent, brackets, options)
    yield from others
    yield from offer_plans(incumbent, lambda memory, rate: brackets.plan(memory, rate, clock))


def _offer_greedy(incumbent: OffloadIncumbent) -> Iterator[None]:
    """Offer GREEDY, which is capper without recomputation; the program may miss it by rounding."""
    offer_capped(incumbent, store_all_schedule(incumbent.problem.instance))
    yield


def _offer_fluid(
    incumbent: OffloadIncumbent,
    brackets: PofoBrackets,
    options: SolveOptions,
    clock: Clock,
    share: Clock,
) -> Iterator[None]:
    for found in brackets.refine(options, share):
        if found.plan is not None:
            incumbent.offer_fluid(found.plan)
        if options.on_progress is not None and found.floor_ns is not None:
            floor_ns = math.ceil(found.floor_ns)
            options.on_progress(Progress(clock.seconds, incumbent.time_ns, floor_ns))
        yield


def _is_closed(incumbent: OffloadIncumbent, brackets: PofoBrackets, options: SolveOptions) -> bool:
    """Tell whether the best schedule is as close to the floor as was asked for."""
    floor_ns, time_ns = brackets.best.floor_ns, incumbent.time_ns
    if floor_ns is None or time_ns is None:
        return False
    return time_ns - math.ceil(floor_ns) <= options.gap * time_ns


def _offer_first(
    incumbent: OffloadIncumbent, brackets: PofoBrackets, options: SolveOptions
) -> Iterator[None]:
    """Offer the plans for the resources that there are, in a share of the time."""
    share = _share_of(options, SHARE_OF_BRACKET)
    try:
        for found in brackets.refine(share, Clock(share.time_limit_s)):
            offer_at_once(incumbent, found.plan)
            yield
    except TimeoutError:
        # The bracket stays open; there is time left for other plans.
        yield


def _share_of(options: SolveOptions, share: float) -> SolveOptions:
    limit_s = options.time_limit_s
    return replace(
        options, time_limit_s=None if limit_s is None else limit_s * share, on_progress=None
    )


def _floor(bracket: PofoBracket) -> Bound:
    assert bracket.floor_ns is not None
    return Bound(
        time_ns=math.ceil(bracket.floor_ns),
        valid_for=ScheduleClass.POFO,
        evidence=Evidence.EXACT,
        method="pofo",
    )
