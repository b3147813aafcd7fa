"""rotor-drops: the fastest persistent schedule with drops of a chain, exactly or as a bracket.

Chains of up to 350 stages are solved by the program of `drop_search` in exact bytes and
nanoseconds; longer ones, and those whose exact tables are too large, on grids with a floor and a
ceiling (`drop_grid`). The class contains every persistent schedule: the method therefore starts
from what `rotor` and the baselines find, is never worse than they are, and seeks faster ones only.

The least memory of the class has no closed form: it is read off the tables, and so is a proof that
nothing fits. A floor for persistent schedules does not hold for schedules with drops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_chain.smaller_gradients import has_larger_gradients
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import (
    solve_chen_sqrt,
    solve_periodic,
    solve_recompute_all,
    store_all_schedule,
)
from jettison.solvers.remat_chain.cut_bound import with_cut_bound
from jettison.solvers.remat_chain.drop_grid import DropGridParams, curve_with_drops
from jettison.solvers.remat_chain.drop_search import (
    fastest_with_drops,
    infeasibility_with_drops,
    least_memory_with_drops,
)
from jettison.solvers.remat_chain.larger_gradients import bracketed_where_gradients_are_larger
from jettison.solvers.remat_chain.least_memory import duration_ns, least_persistent_memory
from jettison.solvers.remat_chain.memory_grid import Bracket
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.revolve import solve_revolve
from jettison.solvers.remat_chain.rotor import (
    RotorParams,
    persistent_bracket,
    refine_on_grids,
    solve_on_one_table,
)
from jettison.solvers.remat_chain.rotor_exact import ExactSearchParams, refine

_NO_TIME_S = 1e-9


@dataclass(frozen=True, kw_only=True)
class DropsParams(ExactSearchParams, DropGridParams, RotorParams):
    """Parameters of rotor-drops: lengths of chains for its programs, and their grids.

    Attributes
    ----------
    most_stages_at_once
        Longest chain on which the exact program runs at once: it takes less than a second, and a
        grid before it would not pay.
    most_exact_stages
        Longest chain with an exact program: for longer ones 2 GiB hold no first grid that is fine
        enough to drop much.
    share_of_starts
        Share of the remaining time for each search for a first schedule.
    """

    at_least: ClassVar[Mapping[str, float]] = {"most_stages_at_once": 0, "most_exact_stages": 0}

    most_stages_at_once: int = 120
    most_exact_stages: int = 350
    share_of_starts: float = 0.25


DROPS = DropsParams()


@dataclass
class _Known:
    """Best schedule and best bound known of one problem."""

    problem: RematChain
    schedule: ChainSchedule
    time_ns: int
    options: SolveOptions
    floor_ns: int = 0
    slots: int = 0
    states: int = 0

    def offer(self, schedule: ChainSchedule | None) -> None:
        """Keep a schedule if it fits and is faster."""
        if schedule is None:
            return
        replay = schedule.replay(self.problem.instance, self.problem.memory_bytes)
        if replay.valid and replay.time_ns < self.time_ns:
            self.schedule, self.time_ns = schedule, replay.time_ns
            if self.options.on_schedule is not None:
                self.options.on_schedule(schedule, replay)

    def prove(self, floor_ns: int) -> None:
        """Keep a bound if it is larger."""
        if floor_ns > self.floor_ns:
            self.floor_ns = floor_ns
            if self.options.on_bound is not None:
                self.options.on_bound(_bound(floor_ns))

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best schedule and bound as an outcome."""
        work = {"slots": self.slots, "states": self.states}
        return Outcome(
            termination=termination,
            schedule=self.schedule,
            bounds=(_bound(self.floor_ns),) if self.floor_ns else (),
            work={name: count for name, count in work.items() if count},
        )


def _bound(time_ns: int) -> Bound:
    return Bound(
        time_ns=time_ns,
        valid_for=ScheduleClass.PERSISTENT_WITH_DROPS,
        evidence=Evidence.EXACT,
        method="rotor-drops",
    )


def solve_rotor_drops(
    problem: RematChain, options: SolveOptions, params: DropsParams = DROPS
) -> Outcome:
    """Return the fastest persistent schedule with drops, or a bracket around it.

    Returns
    -------
    Outcome
        With a bound valid for persistent schedules with drops and the cut bound, which is valid
        for all; or a proof that none fits. All of it in exact integers.
    """
    return bracketed_where_gradients_are_larger(
        problem, options, lambda chosen, options: _solve(chosen, options, None, params)
    )


def solve_rotor_drops_curve(
    problems: Sequence[RematChain], options: SolveOptions, params: DropsParams = DROPS
) -> list[Outcome]:
    """Solve for several memories of one chain, whose first grid shares one table.

    Memories with an open gap after that grid go on alone, as in `solve_rotor_drops`. On short
    chains, where the exact program takes less than a second, every memory is solved alone. The time
    limit holds for the table, and again for each memory after it.
    """

    def table(
        chain: Chain, memories: Sequence[int], slots: int, limit_s: float | None, threads: int
    ) -> list[Bracket]:
        return curve_with_drops(chain, memories, slots, limit_s, threads, params)

    def go_on(problem: RematChain, options: SolveOptions, first: Bracket | None) -> Outcome:
        return _solve(problem, options, first, params)

    if has_larger_gradients(problems[0].instance):
        return [solve_rotor_drops(problem, options, params) for problem in problems]
    fewest = params.most_stages_at_once + 1
    slots = params.first_slots
    return solve_on_one_table(problems, options, table, go_on, fewest, slots)


def _solve(
    problem: RematChain, options: SolveOptions, first: Bracket | None, params: DropsParams
) -> Outcome:
    clock = Clock(options.time_limit_s)
    chain, memory_bytes = problem.instance, problem.memory_bytes
    least, known_schedule = least_persistent_memory(chain)
    if memory_bytes < least:
        refusal = infeasibility_with_drops(chain, memory_bytes)
        if refusal is not None:
            return Outcome(termination=Termination.COMPLETED, infeasibility=refusal)
        known_schedule = least_memory_with_drops(chain)[1]
    if memory_bytes >= chain.store_all_peak_bytes:
        # Rounding up would lose this schedule where the memory barely holds it.
        return Outcome(termination=Termination.COMPLETED, schedule=store_all_schedule(chain))
    known = _Known(problem, known_schedule, duration_ns(known_schedule, chain), options)
    with Ending() as ending:
        if isinstance(options.start, ChainSchedule):
            known.offer(options.start)
        for schedule in _starts(problem, options, clock, params):
            known.offer(schedule)
        ending.termination = _search(known, options, clock, first, params)
    return with_cut_bound(known.outcome(ending.termination), problem, options, clock, params)


def _starts(
    problem: RematChain, options: SolveOptions, clock: Clock, params: DropsParams
) -> Iterator[ChainSchedule]:
    """Yield schedules of other methods whose schedules are all in the class, quick methods first.

    Raises
    ------
    KeyboardInterrupt
        After the schedule of the method that Ctrl-C ended.
    """
    chain, memory_bytes = problem.instance, problem.memory_bytes

    def hurried() -> SolveOptions:
        """Return options that leave most of the time to the later steps."""
        limit_s = None if options.time_limit_s is None else params.share_of_starts * clock.left_s
        limit_s = None if limit_s is None else max(limit_s, _NO_TIME_S)
        return replace(options.quiet(), time_limit_s=limit_s)

    # In little time rotor solves its first grid only.
    if len(chain) > params.most_stages_at_once:
        try:
            of_rotor = persistent_bracket(
                chain,
                memory_bytes,
                params.first_slots,
                clock.left_s,
                options.threads,
                params.largest_table_bytes,
            )
        except (TimeoutError, MemoryError):
            of_rotor = Bracket(None, None, is_exact=False)
        if of_rotor.schedule is not None:
            yield of_rotor.schedule
    revolve = partial(solve_revolve, params=params)
    for start in (solve_recompute_all, solve_chen_sqrt, solve_periodic, revolve):
        outcome = start(problem, hurried())
        if outcome.schedule is not None:
            assert isinstance(outcome.schedule, ChainSchedule)
            yield outcome.schedule
        pass_interrupt_on(outcome.termination)
    if len(chain) <= params.most_exact_stages and memory_bytes >= least_persistent_memory(chain)[0]:
        search, termination, _ = refine(ChainNeeds(chain), memory_bytes, hurried(), params)
        yield search.schedule
        pass_interrupt_on(termination)


def _search(
    known: _Known,
    options: SolveOptions,
    clock: Clock,
    first: Bracket | None,
    params: DropsParams,
) -> Termination:
    """Close the bracket, by grids and in exact bytes."""
    problem = known.problem
    chain, memory_bytes = problem.instance, problem.memory_bytes

    def tell(progress: Progress) -> None:
        if options.on_progress is not None:
            floor_ns = max(known.floor_ns, progress.lower_bound_ns or 0)
            options.on_progress(Progress(clock.seconds, known.time_ns, floor_ns))

    def remaining() -> SolveOptions:
        limit_s = None if options.time_limit_s is None else max(clock.left_s, _NO_TIME_S)
        return replace(
            options,
            time_limit_s=limit_s,
            on_progress=tell,
            on_schedule=lambda schedule, _: known.offer(schedule),
        )

    def bracket_at(slots: int, left_s: float) -> Bracket:
        """Solve with drops, and without them on a grid twice as fine, which costs a quarter."""
        bracket = curve_with_drops(chain, [memory_bytes], slots, left_s, options.threads, params)[0]
        known.prove(bracket.floor_ns or 0)
        known.offer(bracket.schedule)
        known.slots = slots
        if not bracket.is_exact:
            left_s = max(clock.left_s, _NO_TIME_S)
            finer = persistent_bracket(
                chain,
                memory_bytes,
                2 * slots,
                left_s,
                options.threads,
                params.largest_table_bytes,
            )
            known.offer(finer.schedule)
        return replace(bracket, schedule=known.schedule)

    def is_settled(bracket: Bracket) -> bool:
        """Tell whether the first grid closes the gap."""
        tell(Progress(clock.seconds, known.time_ns, known.floor_ns))
        base_ns = chain.base_time_ns
        return bracket.is_exact or options.is_close_enough(known.time_ns, known.floor_ns, base_ns)

    if len(chain) > params.most_stages_at_once and len(chain) <= params.most_exact_stages:
        try:
            bracket = first or bracket_at(params.first_slots, clock.left_s)
        except TimeoutError:
            return Termination.TIME_LIMIT
        except MemoryError:
            bracket = Bracket(None, None, is_exact=False)
        known.prove(bracket.floor_ns or 0)
        known.offer(bracket.schedule)
        if is_settled(bracket):
            closed = bracket.is_exact or known.time_ns == known.floor_ns
            return Termination.COMPLETED if closed else Termination.GAP_REACHED
    if len(chain) <= params.most_exact_stages:
        found = fastest_with_drops(chain, memory_bytes, remaining(), known.schedule, params, _bound)
        assert found is not None
        search, termination = found
        known.offer(search.schedule)
        known.prove(search.lower_bound_ns)
        known.slots, known.states = max(known.slots, search.slots), search.states
        if termination is not Termination.MEMORY_LIMIT:
            return termination
    refined = refine_on_grids(
        bracket_at, chain, known.schedule, first, remaining(), clock, params.first_slots
    )
    known.offer(refined.schedule)
    known.prove(refined.floor_ns)
    known.slots = max(known.slots, refined.slots)
    return refined.termination
