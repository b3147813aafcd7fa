r"""autocapper: recompute as in more memory than there is, and offload what is above the limit.

Source: POFO, Section 5.1. *capper* takes the fastest persistent schedule in a memory
:math:`M' \ge M` (`rotor`). As long as the need of an operation is above :math:`M`, it takes the
first operation of the largest need, and offloads the tensor of the lowest stage that is in memory
there and not used by it, from its use before to its use after. *autocapper* keeps the best of 40
values :math:`M' = M + (M^{high} - M)\, k / 39`, where :math:`M^{high}` is what saving everything
takes: without transfers at :math:`k = 0`, without recomputation at :math:`k = 39`, which is GREEDY
of Beaumont et al. (2020).

The paper offloads "the lowest indexed activation present". That may be one that is computed again,
and the same one may leave in several gaps; each gap counts once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from jettison.instances.chain import Chain
from jettison.instances.remat_offload_chain import RematOffloadChain
from jettison.schedules.chain_schedule import ChainSchedule
from jettison.schedules.offload_plan import OffloadPlan
from jettison.schedules.offload_schedule import OffloadSchedule
from jettison.solvers.chain_baselines import store_all_schedule
from jettison.solvers.least_chain_memory import least_persistent_memory
from jettison.solvers.offload_baselines import solve_rotor_alone
from jettison.solvers.offload_executor import execute_gaps
from jettison.solvers.offload_incumbent import OffloadIncumbent
from jettison.solvers.outcome import Outcome, Problem, Progress, SolveOptions
from jettison.solvers.rotor import FIRST_SLOTS, persistent_bracket
from jettison.solvers.status import Termination
from jettison.solvers.tensor_lifetimes import Gap, TensorLifetimes

MEMORIES = 40
# What the schedule without transfers may take of the time.
SHARE_OF_ROTOR = 0.25


def capper_gaps(lifetimes: TensorLifetimes, memory_bytes: int) -> list[Gap] | None:
    """Return the gaps in which capper offloads; None where even that is not enough.

    Notes
    -----
    Time :math:`O(g (n + g))` for n operations and g gaps.
    """
    chain = lifetimes.chain
    needs_bytes = list(lifetimes.needs_bytes)
    candidates = sorted(
        (gap for gap in lifetimes.gaps if gap.tensor.size_bytes(chain)),
        key=lambda gap: gap.tensor.stage,
    )
    chosen: list[Gap] = []
    while True:
        most_bytes = max(needs_bytes)
        if most_bytes <= memory_bytes:
            return chosen
        peak = needs_bytes.index(most_bytes)
        gap = next((gap for gap in candidates if gap.start < peak < gap.end), None)
        if gap is None:
            return None
        candidates.remove(gap)
        chosen.append(gap)
        for position in range(gap.start + 1, gap.end):
            needs_bytes[position] -= gap.tensor.size_bytes(chain)


def offer_capped(incumbent: OffloadIncumbent, computations: ChainSchedule) -> None:
    """Offer the schedule that capper makes of some computations, if it makes one."""
    problem = incumbent.problem
    lifetimes = TensorLifetimes(problem.instance, computations)
    gaps = capper_gaps(lifetimes, problem.memory_bytes)
    if gaps is None:
        return
    execution = execute_gaps(lifetimes, gaps, problem.link, problem.memory_bytes)
    if execution is not None:
        incumbent.offer(execution.schedule)
    if all(gap.start < lifetimes.turn <= gap.end for gap in gaps):
        incumbent.offer_fluid(OffloadPlan(computations, tuple(gap.tensor for gap in gaps)))


def solve_autocapper(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the best schedule of capper over 40 sizes of memory, if one fits.

    Without transfers it is at least as good as `rotor` in a quarter of the time.
    """
    assert isinstance(problem, RematOffloadChain)
    started = time.perf_counter()
    limit_s = options.time_limit_s
    incumbent = OffloadIncumbent(problem)
    alone = solve_rotor_alone(
        problem,
        replace(
            options,
            time_limit_s=None if limit_s is None else limit_s * SHARE_OF_ROTOR,
            on_progress=None,
        ),
    )
    if isinstance(alone.schedule, OffloadSchedule):
        incumbent.offer(alone.schedule)
    tried = 0
    termination = Termination.COMPLETED
    if alone.termination is Termination.INTERRUPTED:
        termination = Termination.INTERRUPTED
    elif not incumbent.is_optimal:
        try:
            for computations in _sequences(problem, started, limit_s):
                offer_capped(incumbent, computations)
                tried += 1
                if options.on_progress is not None:
                    seconds = time.perf_counter() - started
                    options.on_progress(
                        Progress(seconds, incumbent.time_ns, problem.instance.base_time_ns)
                    )
                if incumbent.is_optimal:
                    break
        except TimeoutError:
            termination = Termination.TIME_LIMIT
        except MemoryError:
            termination = Termination.MEMORY_LIMIT
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
    return Outcome(
        termination=termination,
        schedule=incumbent.schedule,
        work={"sequences": tried},
        note=None if incumbent.schedule else "none of the sequences of capper fits",
    )


def capper_memories(chain: Chain, memory_bytes: int) -> list[int]:
    r"""Return the 40 values of :math:`M'`, ascending, rounded down to bytes."""
    extra_bytes = max(chain.store_all_peak_bytes - memory_bytes, 0)
    return [memory_bytes + extra_bytes * k // (MEMORIES - 1) for k in range(MEMORIES)]


def _sequences(
    problem: RematOffloadChain, started: float, limit_s: float | None
) -> Iterator[ChainSchedule]:
    """Yield the distinct persistent sequences, those that recompute least first.

    Raises
    ------
    TimeoutError
        If the time limit is reached.
    MemoryError
        If a table does not fit in memory.
    """
    chain = problem.instance
    seen: set[ChainSchedule] = set()
    yield (everything := store_all_schedule(chain))
    seen.add(everything)
    for memory_bytes in reversed(capper_memories(chain, problem.memory_bytes)[:-1]):
        left_s = None
        if limit_s is not None:
            left_s = limit_s - (time.perf_counter() - started)
            if left_s <= 0:
                raise TimeoutError
        computations = _rotor_sequence(chain, memory_bytes, left_s)
        if computations is not None and computations not in seen:
            seen.add(computations)
            yield computations


def _rotor_sequence(chain: Chain, memory_bytes: int, left_s: float | None) -> ChainSchedule | None:
    """Return the fastest persistent sequence that the first grid of `rotor` has, if one fits."""
    least_bytes, least = least_persistent_memory(chain)
    if memory_bytes < least_bytes:
        return None
    return persistent_bracket(chain, memory_bytes, FIRST_SLOTS, left_s).schedule or least
