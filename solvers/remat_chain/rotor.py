r"""rotor: dynamic program for the fastest memory-persistent schedule of a chain, on memory slots.

Source: Beaumont et al., RR-9302, Theorem 1 and Algorithms 1 and 2. With the thresholds of
`needs`, and memory :math:`m` that holds everything but the input of the sub-chain,

.. math::

    C(s,s,m) &= u_f^s + u_b^s \quad\text{if } m \ge m_{all}(s,s), \text{ else } \infty \\
    C(s,t,m) &= \min\Bigl( [m \ge m_{all}(s,t)]\;\; u_f^s + u_b^s + C(s+1,t,m-\bar a^s), \\
             &\phantom{=\min\Bigl(} [m \ge m_\emptyset(s,t)]\;\; \min_{s < s' \le t}
               \sum_{k=s}^{s'-1} u_f^k + C(s',t,m-a^{s'-1}) + C(s,s'-1,m) \Bigr)

and the answer is :math:`C(1, N, M - a^0)`.

Corrections of the print, beside those of `needs`: the order of the loops in Algorithm 1
(:math:`C(s',t)` with :math:`s' > s` must be ready, so :math:`t` ascends and :math:`s` descends);
:math:`F_\emptyset` in Algorithm 2 stops at :math:`s'-1`; :math:`C_{all}` subtracts
:math:`\bar a^s`, not :math:`a^s`.

Memory is counted in slots of :math:`\sigma = (M - a^0)/S` bytes, an exact rational, where
:math:`M` is the largest memory asked for. One table answers every smaller memory. In both programs
a threshold :math:`x` becomes the least integer :math:`m` with :math:`m \sigma \ge x`.

The floor. What is subtracted is rounded down, and :math:`b` bytes beside the input become
:math:`\lceil b/\sigma \rceil` slots. The slots left, times :math:`\sigma`, are then never fewer
than the bytes left: at the start by rounding up, later because at most as much is subtracted.
Bytes left that meet :math:`x` are thus met by the slots left, which are an integer. So every
persistent schedule that fits in bytes stays feasible, and the value is a lower bound for persistent
schedules.

The ceiling. What is subtracted is rounded up, and :math:`b` bytes become
:math:`\lfloor b/\sigma \rfloor` slots. The slots left, times :math:`\sigma`, are then never more
than the bytes left, a threshold that they meet is met by the bytes, and the schedule fits.

All this is for gradients no larger than outputs; else see `larger_gradients`. Where the sizes and
memories share a divisor that makes the grid exact, both programs agree and the answer is optimal
among persistent schedules. Non-persistent schedules can be faster; all that is known of them here
is the time without recomputation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_chain.smaller_gradients import has_larger_gradients
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_chain.cut_bound import BesideCutBoundParams, with_cut_bound
from jettison.solvers.remat_chain.larger_gradients import bracketed_where_gradients_are_larger
from jettison.solvers.remat_chain.least_memory import (
    duration_ns,
    least_persistent_memory,
    persistent_infeasibility,
)
from jettison.solvers.remat_chain.memory_grid import AskedMemories, Bracket
from jettison.solvers.remat_chain.needs import ChainNeeds

# The one table in memory at a time has N (N + 1) / 2 rows.
ENTRY_BYTES = 8
_NO_TIME_S = 1e-9


@dataclass(frozen=True, kw_only=True)
class RotorParams(BesideCutBoundParams):
    """Parameters of rotor: the fineness of its grids of memory, and the cut bound beside them.

    Attributes
    ----------
    first_slots
        Slots of the first grid; each further grid has twice as many.
    largest_table_bytes
        Limit on the table of a grid.
    """

    first_slots: int = 500
    largest_table_bytes: int = 4 * 2**30


ROTOR = RotorParams()


def persistent_bracket(
    chain: Chain,
    memory_bytes: int,
    slots: int,
    time_limit_s: float | None = None,
    threads: int = 1,
    largest_table_bytes: int = ROTOR.largest_table_bytes,
) -> Bracket:
    """Solve the program for one memory with sizes rounded down and with sizes rounded up.

    See `persistent_curve`.
    """
    curve = persistent_curve(
        chain, [memory_bytes], slots, time_limit_s, threads, largest_table_bytes
    )
    return curve[0]


def persistent_curve(
    chain: Chain,
    memories_bytes: Sequence[int],
    slots: int,
    time_limit_s: float | None = None,
    threads: int = 1,
    largest_table_bytes: int = ROTOR.largest_table_bytes,
) -> list[Bracket]:
    """Bracket the persistent optimum in several memories: two programs serve all of them.

    Parameters
    ----------
    chain
        The instance.
    memories_bytes
        The limits, the input included, in any order.
    slots
        Number of memory slots :math:`S` of the largest memory, at least 1. A smaller memory gets
        its share of them, so its bracket is wider than with a grid of its own.
    time_limit_s
        Wall-clock seconds for both programs together.
    threads
        Threads that fill the table; the answers do not depend on their number.
    largest_table_bytes
        As in `RotorParams`.

    Returns
    -------
    list[Bracket]
        One per memory, in the order given.

    Raises
    ------
    InputError
        If there is no slot.
    TimeoutError
        If the time limit is reached.
    MemoryError
        If the table does not fit in memory, or would take more than it may.

    Notes
    -----
    Time :math:`O(N^3 S)` for all memories together, memory :math:`2 N^2 S` bytes, or twice that
    where the times need 64 bits. Both are less where the smallest memory needs little
    recomputation: sub-chains so long that one more forward run of theirs takes more are left out.
    """
    clock = Clock(time_limit_s)
    asked = AskedMemories.of(chain, memories_bytes, slots)
    if asked.slots > most_slots(chain, largest_table_bytes):
        raise MemoryError
    return asked.bracketed(
        ChainNeeds(chain),
        asked.slots,
        lambda down: _kernels.persistent_times(*down, clock.left_s, threads),
        lambda given: _kernels.persistent_program(*given, clock.left_s, threads),
    )


def most_slots(chain: Chain, largest_table_bytes: int = ROTOR.largest_table_bytes) -> int:
    """Return the largest number of slots for which the table of a chain is small enough."""
    rows = len(chain) * (len(chain) + 1) // 2
    return largest_table_bytes // (ENTRY_BYTES * rows) - 1


def solve_rotor(problem: RematChain, options: SolveOptions, params: RotorParams = ROTOR) -> Outcome:
    """Bracket the persistent optimum, with more and more slots until the gap is closed.

    Saves everything if that fits. Otherwise starts from 500 slots and doubles them while the gap is
    above ``options.gap``, time is left for a run about twice as long as the last, and the table
    stays within 4 GiB. The best floor and the best schedule of all rounds count; the fallback is
    the schedule of least memory, or that of ``options.start`` if it is faster.

    Returns
    -------
    Outcome
        With a bound valid for persistent schedules and the cut bound, which is valid for all; or a
        proof that no persistent schedule fits. All of it in exact integers.
    """
    return bracketed_where_gradients_are_larger(
        problem, options, lambda chosen, options: _refine(chosen, options, None, params)
    )


def solve_rotor_curve(
    problems: Sequence[RematChain], options: SolveOptions, params: RotorParams = ROTOR
) -> list[Outcome]:
    """Solve for several memories of one chain, whose first round shares one table.

    Memories with an open gap after that round go on alone, as in `solve_rotor`. The time limit
    holds for the table, and again for each memory after it.
    """

    def table(
        chain: Chain, memories: Sequence[int], slots: int, limit_s: float | None, threads: int
    ) -> list[Bracket]:
        most_bytes = params.largest_table_bytes
        return persistent_curve(chain, memories, slots, limit_s, threads, most_bytes)

    def go_on(problem: RematChain, options: SolveOptions, first: Bracket | None) -> Outcome:
        return _refine(problem, options, first, params)

    if has_larger_gradients(problems[0].instance):
        return [solve_rotor(problem, options, params) for problem in problems]
    return solve_on_one_table(problems, options, table, go_on, first_slots=params.first_slots)


def solve_on_one_table(
    problems: Sequence[RematChain],
    options: SolveOptions,
    table: Callable[[Chain, Sequence[int], int, float | None, int], list[Bracket]],
    go_on: Callable[[RematChain, SolveOptions, Bracket | None], Outcome],
    fewest_stages: int = 1,
    first_slots: int = ROTOR.first_slots,
) -> list[Outcome]:
    """Solve for several memories of one chain, each from its bracket in one table.

    Parameters
    ----------
    problems
        The chain in its memories.
    options
        The time limit holds for the table, and for each memory after it.
    table
        As `persistent_curve`, with the first number of slots.
    go_on
        What solves one of them from a bracket, or from none where the table was not ready.
    fewest_stages
        Of shorter chains each memory is solved alone.
    first_slots
        Slots of the table.
    """
    chain = problems[0].instance
    memories = [problem.memory_bytes for problem in problems]
    on_grid = [size for size in memories if size < chain.store_all_peak_bytes]
    if len(chain) < fewest_stages:
        on_grid = []
    # Where a limit ends the table, each memory is solved alone and reports how far it came.
    brackets: Sequence[Bracket | None] = [None] * len(on_grid)
    with Ending() as ending:
        brackets = table(chain, on_grid, first_slots, options.time_limit_s, options.threads)
    if ending.is_interrupted:
        note = "interrupted before the table of all memories was ready"
        return [Outcome(termination=ending.termination, note=note) for _ in problems]
    first = dict(zip(on_grid, brackets, strict=True))
    outcomes: list[Outcome] = []
    for problem in problems:
        outcome = go_on(problem, options, first.get(problem.memory_bytes))
        if outcome.termination is Termination.INTERRUPTED:
            # The other memories get the bracket of the table, and no time of their own.
            options = replace(options, time_limit_s=_NO_TIME_S)
        outcomes.append(outcome)
    return outcomes


def _refine(
    problem: RematChain, options: SolveOptions, first: Bracket | None, params: RotorParams
) -> Outcome:
    """Refine a given bracket; without one, start from bounds that need no table."""
    clock = Clock(options.time_limit_s)
    chain, memory_bytes = problem.instance, problem.memory_bytes
    refusal = persistent_infeasibility(chain, memory_bytes)
    if refusal is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refusal)
    if memory_bytes >= chain.store_all_peak_bytes:
        # Rounding up would lose this schedule where the memory barely holds it.
        return Outcome(termination=Termination.COMPLETED, schedule=store_all_schedule(chain))

    found = refine_on_grids(
        lambda slots, left_s: persistent_bracket(
            chain, memory_bytes, slots, left_s, options.threads, params.largest_table_bytes
        ),
        chain,
        fastest_known(chain, options),
        first,
        options,
        clock,
        params.first_slots,
    )
    bounds = (
        Bound(
            time_ns=found.floor_ns,
            valid_for=ScheduleClass.PERSISTENT,
            evidence=Evidence.EXACT,
            method="rotor",
        ),
    )
    outcome = Outcome(
        termination=found.termination,
        schedule=found.schedule,
        bounds=bounds if found.floor_ns else (),
        work={"slots": found.slots},
    )
    return with_cut_bound(outcome, problem, options, clock, params)


def fastest_known(chain: Chain, options: SolveOptions) -> ChainSchedule:
    """Return the faster of a start and the schedule of least memory."""
    least = least_persistent_memory(chain)[1]
    if not isinstance(options.start, ChainSchedule):
        return least
    return min(least, options.start, key=lambda schedule: duration_ns(schedule, chain))


@dataclass(frozen=True, slots=True)
class Refined:
    """Outcome of grids of more and more slots for one memory.

    Attributes
    ----------
    schedule
        The fastest schedule of all grids.
    floor_ns
        The highest floor; 0 if there is none.
    slots
        Slots of the finest grid that was solved.
    termination
        Why no finer grid was solved.
    """

    schedule: ChainSchedule
    floor_ns: int
    slots: int
    termination: Termination


def refine_on_grids(
    bracket_at: Callable[[int, float], Bracket],
    chain: Chain,
    known: ChainSchedule,
    first: Bracket | None,
    options: SolveOptions,
    clock: Clock,
    first_slots: int = ROTOR.first_slots,
) -> Refined:
    """Double the slots until the gap is closed, or time or memory end it.

    Parameters
    ----------
    bracket_at
        Solves for a number of slots in a number of seconds; raises what `persistent_curve` raises.
    chain, known
        The instance, and a schedule that fits.
    first
        The bracket of the first grid, where it is known already.
    options, clock
        The method's options, whose callbacks are called after each grid, and its clock.
    first_slots
        Slots of the first grid.
    """
    best, best_ns = known, duration_ns(known, chain)
    floor_ns = 0
    slots = first_slots
    last_s = 0.0
    used_slots = 0 if first is None else first_slots
    bracket = first
    with Ending() as ending:
        while True:
            round_started_s = clock.seconds
            if bracket is None:
                if clock.left_s <= 2 * last_s:
                    raise TimeoutError
                bracket = bracket_at(slots, clock.left_s)
                used_slots = slots
                slots *= 2
            floor_ns = max(floor_ns, bracket.floor_ns or 0)
            if bracket.schedule is not None:
                replay = bracket.schedule.replay(chain)
                if replay.time_ns < best_ns:
                    best, best_ns = bracket.schedule, replay.time_ns
                    if options.on_schedule is not None:
                        options.on_schedule(best, replay)
            last_s = clock.seconds - round_started_s
            if options.on_progress is not None:
                options.on_progress(Progress(clock.seconds, best_ns, floor_ns))
            # A start that is not persistent may be faster than any that is.
            if best_ns <= floor_ns or bracket.is_exact:
                break
            if options.is_close_enough(best_ns, floor_ns, chain.base_time_ns):
                ending.termination = Termination.GAP_REACHED
                break
            bracket = None
    return Refined(best, floor_ns, used_slots, ending.termination)
