r"""POFO: recomputation and offloading on a chain, by the dynamic program of NeurIPS 2021.

With fluid transfers the answer is the plan of the program (`program`), replayed. With transfers at
once, which the program does not model, its plans are timed again (`at_once`), those for a little
less memory and for slower links as well, and the best schedule is changed here and there
(`changes`). Either way there are two bounds: the floor of the program, valid for the schedules of
POFO's class, of whose fluid transfers those at once are a special case; and the cut bound, valid
for all schedules.

Searches come one after the other, and share out work, never seconds: the time limit ends them
wherever they are, and only the cut bound has a share of it.

1. The baselines, the cheap ones first, each to its end (`seeds`). They have a second at least: a
   limit below that is exceeded by no more than they take.
2. The program, as far as it is cheap (`phases`): on most chains, until its bracket is closed.
3. The cut bound.
4. With transfers at once, plans for other resources from finer and finer grids.
5. What the program has left to do, with recomputation and without.
6. With transfers at once, changes of the best schedule.

So the answer is no slower than that of any baseline, as long as all baselines together end within
the limit or a second. Of `offload-only` the first part is among them, until its floor rules it out;
where that stays open, its other plans come in turn with those of the program, in 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.least_memory import offload_infeasibility
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets
from jettison.solvers.remat_offload.pofo.changes import offer_changes
from jettison.solvers.remat_offload.pofo.params import PLANS, POFO, PlanParams, PofoParams
from jettison.solvers.remat_offload.pofo.phases import ProgramSearch, floor_of
from jettison.solvers.remat_offload.pofo.program import Recomputation
from jettison.solvers.remat_offload.pofo.seeds import offer_greedy, offer_seeds


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
    incumbent.begin_from(options.start, OffloadSchedule, ScheduleClass.ALL)
    cuts = Outcome(termination=Termination.COMPLETED)
    program = ProgramSearch(incumbent, Recomputation.ALLOWED, options, clock, params)
    moving = ProgramSearch(
        incumbent,
        Recomputation.FORBIDDEN,
        options,
        clock,
        replace(params, most_labels_of_first=params.labels_of_floors),
    )
    limit_s = options.time_limit_s
    of_seeds = Clock(None if limit_s is None else max(limit_s, params.least_s_of_baselines))

    def bound() -> Iterator[None]:
        nonlocal cuts
        cuts = bound_offload_cut(problem, _share_of(options, params.share_of_cuts, clock), params)
        pass_interrupt_on(cuts.termination)
        yield

    def offers() -> Iterator[None]:
        offer_seeds(incumbent, options, moving, of_seeds)
        yield
        yield from program.first(clock.share(1 - params.share_of_cuts))
        yield from bound()
        for slots in program.levels():
            yield from moving.plans(slots)
            yield from program.plans(slots)
        yield from program.rest()
        if not program.is_closed:
            yield from moving.rest()
        if problem.transfers is Transfers.AT_ONCE and not program.is_closed:
            for _ in offer_changes(incumbent, options.seed, params.idle_changes):
                yield
                if program.is_closed:
                    break
        program.end()

    outcome = incumbent.search(offers(), "no schedule fits")
    brackets = program.brackets
    bounds = cuts.bounds
    if brackets.best.floor_ns:
        bounds = (*bounds, floor_of(brackets.best))
    return replace(
        _with_the_reason(outcome, program, incumbent),
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
    incumbent.begin_from(options.start, OffloadSchedule, ScheduleClass.ALL)
    program = ProgramSearch(incumbent, Recomputation.FORBIDDEN, options, clock, params)

    def offers() -> Iterator[None]:
        yield from offer_greedy(incumbent)
        yield from program.first(clock)
        for slots in program.levels():
            yield from program.plans(slots)
        yield from program.rest()
        program.end()

    outcome = incumbent.search(offers(), "no plan without recomputation fits")
    return _with_the_reason(outcome, program, incumbent)


def _with_the_reason(
    outcome: Outcome, program: ProgramSearch, incumbent: OffloadIncumbent
) -> Outcome:
    """Say why it ended where better schedules may exist.

    With fluid transfers that is why the bracket stayed open; with transfers at once, what plans
    were timed.
    """
    brackets = program.brackets
    if incumbent.problem.transfers is Transfers.AT_ONCE:
        return replace(outcome, note=outcome.note or _what_was_timed(outcome, brackets, incumbent))
    if brackets.why_open is None:
        return outcome
    if incumbent.is_optimal or program.is_closed:
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


def _share_of(options: SolveOptions, share: float, clock: Clock) -> SolveOptions:
    """Return the options of a part of the method: a share of the time, if so much is left."""
    limit_s = options.time_limit_s
    if limit_s is not None:
        limit_s = max(min(limit_s * share, clock.left_s), 1e-3)
    return replace(options.quiet(), time_limit_s=limit_s)
