r"""POFO: recomputation and offloading on a chain, by the dynamic program of NeurIPS 2021.

With fluid transfers the answer is the plan of the program (`program`), replayed. With transfers at
once, which the program does not model, its plans for a little less memory and slower links are
timed again (`at_once`), beside `autocapper`. Either way there are two bounds: the floor of the
program, valid for the schedules of POFO's class, of whose fluid transfers those at once are a
special case; and the cut bound, valid for all schedules.

Short chains are solved exactly, and the baselines (`baselines_first`) run where that leaves the gap
open. On longer chains, and within short limits, the baselines run first, rotor before the others,
and the brackets of `brackets` have the rest of the time. With transfers at once, plans from finer
and finer grids are timed, and the bracket has what time is left after them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.baselines_first import BaselineParams, schedules_of_baselines
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_offload.autocapper import offer_capped
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.least_memory import offload_infeasibility
from jettison.solvers.remat_offload.offload_everything import offload_everything
from jettison.solvers.remat_offload.pofo.at_once import offer_at_once, offer_plans
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets
from jettison.solvers.remat_offload.pofo.params import PLANS, POFO, PlanParams, PofoParams
from jettison.solvers.remat_offload.pofo.program import Recomputation


def solve_pofo(
    problem: RematOffloadChain, options: SolveOptions, params: PofoParams = POFO
) -> Outcome:
    """Return POFO's schedule, with its floor and the cut bound.

    Returns
    -------
    Outcome
        All bounds in exact arithmetic, rounded up to whole nanoseconds, as the times are; or the
        proof that no schedule of any kind fits.
    """
    refused = offload_infeasibility(problem.instance, problem.memory_bytes)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    incumbent = OffloadIncumbent(problem, options, clock)
    brackets = PofoBrackets(problem, Recomputation.ALLOWED, params, lambda: incumbent.time_ns)
    incumbent.begin_from(options.start, OffloadSchedule, ScheduleClass.ALL)
    cuts = Outcome(termination=Termination.COMPLETED)

    def bound() -> Iterator[None]:
        nonlocal cuts
        cuts = bound_offload_cut(problem, _share_of(options, params.share_of_cuts, clock), params)
        pass_interrupt_on(cuts.termination)
        yield

    def everything() -> Iterator[None]:
        # Offloading everything fits: so there is a schedule where no plan fits, and on Ctrl-C.
        incumbent.offer(offload_everything(problem.instance))
        yield from ()

    def rotor() -> Iterator[None]:
        # Within a short limit no other method is worth as much.
        asked = _share_of(options, params.share_of_a_baseline, Clock(options.time_limit_s))
        if asked.time_limit_s is not None and options.time_limit_s is not None:
            least_s = min(options.time_limit_s, params.short_limit_s)
            asked = replace(asked, time_limit_s=max(asked.time_limit_s, least_s))
        alone = find_method(problem.problem, "rotor").run(problem, asked)
        if isinstance(alone.schedule, OffloadSchedule):
            incumbent.offer(alone.schedule)
        pass_interrupt_on(alone.termination)
        yield

    baselines = chain(rotor(), _offer_baselines(incumbent, options, clock, params))
    plans = _offers(incumbent, brackets, options, clock, baselines, params)
    # On a short chain the bound and the plans take almost no time.
    has_little_time = math.isfinite(clock.left_s) and clock.left_s <= params.short_limit_s
    if brackets.is_short and not has_little_time:
        offers = chain(everything(), bound(), plans)
    else:
        offers = chain(everything(), baselines, bound(), plans)
    outcome = incumbent.search(offers, "no schedule fits")
    bounds = cuts.bounds
    if brackets.best.floor_ns:
        bounds = (*bounds, _floor(brackets.best))
    return replace(
        _with_the_reason(outcome, brackets, incumbent, options),
        bounds=bounds,
        work={
            **outcome.work,
            "slots": brackets.slots,
            "labels": brackets.best.labels,
            "states": brackets.best.states,
        },
    )


def solve_offload_only(
    problem: RematOffloadChain, options: SolveOptions, params: PlanParams = PLANS
) -> Outcome:
    """Return the best schedule that offloads without recomputation.

    With fluid transfers that is the optimum of POFO's program without recomputation, up to its
    grid; with transfers at once, the best of its plans timed again.
    """
    clock = Clock(options.time_limit_s)
    incumbent = OffloadIncumbent(problem, options, clock)
    brackets = PofoBrackets(problem, Recomputation.FORBIDDEN, params, lambda: incumbent.time_ns)
    incumbent.begin_from(options.start, OffloadSchedule, ScheduleClass.ALL)
    greedy = _offer_greedy(incumbent)
    offers = _offers(incumbent, brackets, options, clock, greedy, params)
    outcome = incumbent.search(offers, "no plan without recomputation fits")
    return _with_the_reason(outcome, brackets, incumbent, options)


def _offers(
    incumbent: OffloadIncumbent,
    brackets: PofoBrackets,
    options: SolveOptions,
    clock: Clock,
    others: Iterator[None],
    params: PlanParams,
) -> Iterator[None]:
    """Offer the plans of the program, and the schedules of `others` where a plan may not be best.

    With transfers at once the others come before the plans for other resources.
    """
    if incumbent.problem.transfers is Transfers.FLUID:
        stopped: TimeoutError | MemoryError | None = None
        share = params.share_of_fluid if brackets.is_short else 1.0
        until = Clock(None if math.isinf(clock.left_s) else clock.left_s * share)
        try:
            yield from _offer_fluid(incumbent, brackets, options, until)
        except (TimeoutError, MemoryError) as error:
            stopped = error
        # Rounding may have cost the program its best plans, or all of them.
        if not _is_closed(incumbent, brackets, options):
            yield from others
        if stopped is None:
            return
        if clock.left_s and isinstance(stopped, TimeoutError):
            # The others left time, and what was found sets a limit to what is looked for.
            yield from _offer_fluid(incumbent, brackets, options, clock)
            return
        raise stopped
    yield from _offer_first(incumbent, brackets, options, clock, params)
    yield from others
    slots = params.first_slots_of_plans
    while True:
        plans = partial(brackets.plan, slots=slots, clock=clock)
        yield from offer_plans(incumbent, plans, slots, params)
        slots *= 2
        # On a short chain the plans depend on no grid, and without a time limit one pass is enough.
        if brackets.is_short or math.isinf(clock.left_s):
            return
        if slots > params.most_slots_of_plans:
            break
    # The bracket stayed open when its share of the time was over: all that is left is for it.
    if brackets.why_open is not None and not _is_closed(incumbent, brackets, options):
        yield from _offer_bracket(incumbent, brackets, options, clock)


def _offer_baselines(
    incumbent: OffloadIncumbent, options: SolveOptions, clock: Clock, params: BaselineParams
) -> Iterator[None]:
    for schedule in schedules_of_baselines(
        incumbent.problem, "pofo", options, clock, params, without=("rotor",)
    ):
        assert isinstance(schedule, OffloadSchedule)
        incumbent.offer(schedule)
        yield


def _with_the_reason(
    outcome: Outcome, brackets: PofoBrackets, incumbent: OffloadIncumbent, options: SolveOptions
) -> Outcome:
    """Say why it ended where better schedules may exist.

    With fluid transfers that is why the bracket stayed open; with transfers at once, what plans
    were timed.
    """
    if incumbent.problem.transfers is Transfers.AT_ONCE:
        return replace(outcome, note=outcome.note or _what_was_timed(outcome, brackets, incumbent))
    if brackets.why_open is None:
        return outcome
    if incumbent.is_optimal or _is_closed(incumbent, brackets, options):
        return replace(outcome, termination=Termination.COMPLETED)
    termination = outcome.termination
    if termination is Termination.COMPLETED:
        termination = Termination.NODE_LIMIT
    return replace(outcome, termination=termination, note=outcome.note or brackets.why_open)


def _what_was_timed(
    outcome: Outcome, brackets: PofoBrackets, incumbent: OffloadIncumbent
) -> str | None:
    """Say what ended the search over plans that POFO's model holds for good."""
    if incumbent.schedule is None or incumbent.is_optimal:
        return None
    grid = "exact" if brackets.is_short else f"of up to {brackets.most_slots} slots"
    plans = f"plans for less memory and slower links, {grid},"
    match outcome.termination:
        case Termination.TIME_LIMIT if brackets.most_slots:
            return f"the time ended while {plans} were timed; there may be a better one"
        case Termination.TIME_LIMIT:
            return "the time ended before plans for less memory and slower links"
        case Termination.COMPLETED:
            return f"all {plans} were timed; there may be a better one"
    return None


def _offer_greedy(incumbent: OffloadIncumbent) -> Iterator[None]:
    """Offer GREEDY, that is capper without recomputation: rounding may hide it from the program."""
    offer_capped(incumbent, store_all_schedule(incumbent.problem.instance))
    yield


def _offer_fluid(
    incumbent: OffloadIncumbent,
    brackets: PofoBrackets,
    options: SolveOptions,
    clock: Clock,
) -> Iterator[None]:
    for found in brackets.refine(options, clock):
        if found.plan is not None:
            incumbent.offer_fluid(found.plan)
        if found.floor_ns:
            incumbent.prove(_floor(found))
        yield


def _is_closed(incumbent: OffloadIncumbent, brackets: PofoBrackets, options: SolveOptions) -> bool:
    """Tell whether the best schedule is as close to the floor as was asked for."""
    floor_ns, time_ns = brackets.best.floor_ns, incumbent.time_ns
    if floor_ns is None or time_ns is None:
        return False
    base_ns = incumbent.problem.instance.base_time_ns
    return options.is_close_enough(time_ns, math.ceil(floor_ns), base_ns)


def _offer_first(
    incumbent: OffloadIncumbent,
    brackets: PofoBrackets,
    options: SolveOptions,
    clock: Clock,
    params: PlanParams,
) -> Iterator[None]:
    """Offer the plans for the problem's own memory and link, in a share of the time."""
    share = _share_of(options, params.share_of_bracket, clock)
    try:
        yield from _offer_bracket(incumbent, brackets, share, Clock(share.time_limit_s))
    except TimeoutError:
        # The bracket stays open; there is time left for other plans.
        yield


def _offer_bracket(
    incumbent: OffloadIncumbent, brackets: PofoBrackets, options: SolveOptions, clock: Clock
) -> Iterator[None]:
    """Offer the plans of tighter and tighter brackets, timed with transfers at once."""
    for found in brackets.refine(options, clock):
        offer_at_once(incumbent, found.plan)
        yield


def _share_of(options: SolveOptions, share: float, clock: Clock) -> SolveOptions:
    """Return the options of a part of the method: a share of the time, if so much is left."""
    limit_s = options.time_limit_s
    if limit_s is not None:
        limit_s = max(min(limit_s * share, clock.left_s), 1e-3)
    return replace(options.quiet(), time_limit_s=limit_s)


def _floor(bracket: PofoBracket) -> Bound:
    assert bracket.floor_ns is not None
    return Bound(
        time_ns=math.ceil(bracket.floor_ns),
        valid_for=ScheduleClass.POFO,
        evidence=Evidence.EXACT,
        method="pofo",
    )
