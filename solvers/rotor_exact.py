r"""The persistent optimum in exact bytes and nanoseconds, without a grid in the answer.

The recurrence of `rotor` is evaluated from the top at the memory sizes that are really reached,
between two grids: the one rounded down bounds every sub-problem from below, the one rounded up from
above, and only what can still change the answer is expanded (``_native/exact_search.hpp``). The
grids decide how much work that is, never the result: with :math:`S` slots they take
:math:`O(N^3 S)` time and :math:`4 N^2 S` bytes, the search what is left between them.

No worst-case bound better than the number of reachable memory sizes is known. What was measured
stands in ``benchmarks/``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from jettison.instances.remat_chain import RematChain
from jettison.schedules.chain_schedule import ChainSchedule
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers import _kernels
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.chain_cut_bound import bound_chain_cut
from jettison.solvers.chain_needs import ChainNeeds
from jettison.solvers.least_chain_memory import (
    chain_schedule,
    least_memory,
    persistent_infeasibility,
)
from jettison.solvers.outcome import Outcome, Problem, Progress, SolveOptions
from jettison.solvers.status import Termination

FIRST_SLOTS = 500
# The two grids of the search together.
LARGEST_TABLES_BYTES = 2 * 2**30
# A coarse grid is left for a finer one after this many states, the finest after as many as fit
# in about a gigabyte.
STATES_OF_A_COARSE_GRID = 100_000
STATES_OF_THE_FINEST_GRID = 10_000_000


@dataclass(frozen=True, slots=True)
class Search:
    """What one search proved.

    Attributes
    ----------
    lower_bound_ns
        No persistent schedule is faster.
    schedule
        A schedule of `time_ns` that fits.
    time_ns
        Its time; the optimum if `is_complete`.
    states
        Sub-chains and memory sizes that were expanded.
    is_complete
        Whether bound and time meet.
    """

    lower_bound_ns: int
    schedule: ChainSchedule
    time_ns: int
    states: int
    is_complete: bool


def search_persistent_optimum(
    needs: ChainNeeds,
    memory_bytes: int,
    known: ChainSchedule,
    *,
    slots: int,
    most_states: int,
    time_limit_s: float | None = None,
) -> Search:
    """Search between two grids, starting from a schedule that fits.

    Parameters
    ----------
    needs
        The thresholds of the instance, which say what may be checkpointed.
    memory_bytes
        The limit, the input included; at least the least memory that meets the thresholds.
    known
        A schedule that fits; only faster ones are sought.
    slots
        Slots of the two grids; at least 1.
    most_states, time_limit_s
        Where to stop; the bracket reached by then is returned.

    Raises
    ------
    MemoryError
        If the grids do not fit in memory.
    """
    chain = needs.chain
    known_ns = known.replay(chain, memory_bytes).time_ns
    available = memory_bytes - chain.input_bytes
    # A grid needs some memory to divide. Without any, half a byte serves as well: what has a size
    # does not fit, and what has none does.
    scale = 1
    if available == 0:
        available, scale = 1, 2
    times = np.array([(stage.forward_ns, stage.backward_ns) for stage in chain], dtype=np.int64)
    lower, time_ns, sequence, states, is_complete = _kernels.persistent_optimum(
        np.ascontiguousarray(times[:, 0]),
        np.ascontiguousarray(times[:, 1]),
        scale * needs.input_bytes,
        scale * needs.saved_bytes,
        scale * needs.forward_all,
        scale * needs.forward_none,
        available,
        known_ns,
        slots,
        most_states,
        time_limit_s,
    )
    schedule = chain_schedule(sequence) if sequence else known
    # A schedule taken from upper bounds of its parts can turn out faster than their sum.
    time_ns = min(time_ns, schedule.replay(chain, memory_bytes).time_ns)
    return Search(lower, schedule, time_ns, states, is_complete)


def refine(
    needs: ChainNeeds, memory_bytes: int, options: SolveOptions
) -> tuple[Search, Termination, int]:
    """Search between finer and finer grids; return what is known, why it stopped, and the slots.

    Grids of 500, 1000, 2000, ... slots guide one search each, until one is complete, the gap is at
    most ``options.gap``, the grids would exceed 2 GiB, or the time is over. The best bound and the
    best schedule of all of them count.

    Parameters
    ----------
    needs
        The thresholds of the instance.
    memory_bytes
        The limit, the input included; at least the least memory that meets the thresholds.
    options
        Gap, time limit, and whom to tell.
    """
    started = time.perf_counter()
    chain = needs.chain
    known = least_memory(needs)[1]
    best = Search(chain.base_time_ns, known, known.replay(chain).time_ns, 0, False)
    slots = FIRST_SLOTS
    while True:
        is_finest = 4 * len(chain) ** 2 * 2 * slots > LARGEST_TABLES_BYTES
        left_s = None
        if options.time_limit_s is not None:
            left_s = max(options.time_limit_s - (time.perf_counter() - started), 0.0)
        try:
            found = search_persistent_optimum(
                needs,
                memory_bytes,
                best.schedule,
                slots=slots,
                most_states=STATES_OF_THE_FINEST_GRID if is_finest else STATES_OF_A_COARSE_GRID,
                time_limit_s=left_s,
            )
        except KeyboardInterrupt:
            return best, Termination.INTERRUPTED, slots
        except MemoryError:
            return best, Termination.MEMORY_LIMIT, slots
        lower_ns = max(best.lower_bound_ns, found.lower_bound_ns)
        best = Search(
            lower_ns,
            found.schedule,
            found.time_ns,
            best.states + found.states,
            found.is_complete or found.time_ns == lower_ns,
        )
        if options.on_progress is not None:
            options.on_progress(Progress(time.perf_counter() - started, best.time_ns, lower_ns))
        if best.is_complete:
            return best, Termination.COMPLETED, slots
        if best.time_ns - lower_ns <= options.gap * best.time_ns:
            return best, Termination.GAP_REACHED, slots
        if left_s is not None and time.perf_counter() - started >= (options.time_limit_s or 0.0):
            return best, Termination.TIME_LIMIT, slots
        if is_finest:
            return best, Termination.MEMORY_LIMIT, slots
        slots *= 2


def solve_rotor_exact(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest persistent schedule, exact to the byte and the nanosecond; see `refine`.

    Returns
    -------
    Outcome
        With a bound valid for persistent schedules and the cut bound, which is valid for all; or a
        proof that no persistent schedule fits. All of it in exact integers.
    """
    assert isinstance(problem, RematChain)
    refusal = persistent_infeasibility(problem.instance, problem.memory_bytes)
    if refusal is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refusal)
    needs = ChainNeeds(problem.instance)
    best, termination, slots = refine(needs, problem.memory_bytes, options)
    return Outcome(
        termination=termination,
        schedule=best.schedule,
        bounds=(
            Bound(
                time_ns=best.lower_bound_ns,
                valid_for=ScheduleClass.PERSISTENT,
                evidence=Evidence.EXACT,
                method="rotor-exact",
            ),
            *bound_chain_cut(problem, replace(options, on_progress=None)).bounds,
        ),
        work={"slots": slots, "states": best.states},
    )
