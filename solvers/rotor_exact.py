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
from dataclasses import dataclass

import numpy as np

from jettison.instances.chain import Chain
from jettison.instances.remat_chain import RematChain
from jettison.schedules.chain_schedule import ChainSchedule
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers import _kernels
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.chain_needs import ChainNeeds
from jettison.solvers.least_chain_memory import (
    chain_schedule,
    least_persistent_memory,
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
    chain: Chain,
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
    chain
        The instance.
    memory_bytes
        The limit, the input included; at least the least persistent memory.
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
    known_ns = known.replay(chain, memory_bytes).time_ns
    available = memory_bytes - chain.input_bytes
    if available == 0:
        # Nothing beside the input has a size: nothing has to be recomputed.
        return Search(chain.base_time_ns, known, known_ns, 0, known_ns == chain.base_time_ns)
    needs = ChainNeeds(chain)
    times = np.array([(stage.forward_ns, stage.backward_ns) for stage in chain], dtype=np.int64)
    lower, time_ns, sequence, states, is_complete = _kernels.persistent_optimum(
        np.ascontiguousarray(times[:, 0]),
        np.ascontiguousarray(times[:, 1]),
        needs.input_bytes,
        needs.saved_bytes,
        needs.forward_all,
        needs.forward_none,
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


def solve_rotor_exact(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest persistent schedule, exact to the byte and the nanosecond.

    Grids of 500, 1000, 2000, ... slots guide one search each, until one is complete, the gap is at
    most ``options.gap``, the grids would exceed 2 GiB, or the time is over. The best bound and the
    best schedule of all of them count.
    """
    assert isinstance(problem, RematChain)
    started = time.perf_counter()
    chain, memory_bytes = problem.instance, problem.memory_bytes
    refusal = persistent_infeasibility(chain, memory_bytes)
    if refusal is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refusal)
    best = least_persistent_memory(chain)[1]
    best_ns = best.replay(chain).time_ns
    lower_ns = chain.base_time_ns
    slots, states = FIRST_SLOTS, 0
    while True:
        is_finest = 4 * len(chain) ** 2 * 2 * slots > LARGEST_TABLES_BYTES
        left_s = None
        if options.time_limit_s is not None:
            left_s = max(options.time_limit_s - (time.perf_counter() - started), 0.0)
        try:
            found = search_persistent_optimum(
                chain,
                memory_bytes,
                best,
                slots=slots,
                most_states=STATES_OF_THE_FINEST_GRID if is_finest else STATES_OF_A_COARSE_GRID,
                time_limit_s=left_s,
            )
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
            break
        best, best_ns = found.schedule, found.time_ns
        lower_ns = max(lower_ns, found.lower_bound_ns)
        states += found.states
        if options.on_progress is not None:
            options.on_progress(Progress(time.perf_counter() - started, best_ns, lower_ns))
        if found.is_complete or best_ns == lower_ns:
            termination = Termination.COMPLETED
            break
        if best_ns - lower_ns <= options.gap * best_ns:
            termination = Termination.GAP_REACHED
            break
        if left_s is not None and time.perf_counter() - started >= (options.time_limit_s or 0.0):
            termination = Termination.TIME_LIMIT
            break
        if is_finest:
            termination = Termination.MEMORY_LIMIT
            break
        slots *= 2
    return Outcome(
        termination=termination,
        schedule=best,
        bounds=(
            Bound(
                time_ns=lower_ns,
                valid_for=ScheduleClass.PERSISTENT,
                evidence=Evidence.EXACT,
                method="rotor-exact",
            ),
        ),
        work={"slots": slots, "states": states},
    )
