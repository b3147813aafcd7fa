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

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_chain.least_memory import duration_ns, least_persistent_memory
from jettison.solvers.remat_chain.rotor import ROTOR, most_slots, persistent_curve
from jettison.solvers.remat_chain.rotor_exact import ExactSearchParams
from jettison.solvers.remat_offload.baselines import solve_rotor_alone
from jettison.solvers.remat_offload.executor import execute_gaps
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes


@dataclass(frozen=True, kw_only=True)
class AutocapperParams(ExactSearchParams):
    """Parameters of autocapper: time and grid of the rotor schedules from which it starts.

    Attributes
    ----------
    memories
        Sizes of memory, from that of the problem to what saving everything takes.
    share_of_rotor
        Share of the time for the schedule without transfers.
    least_slots
        Slots of the smallest memory in the one table that serves all memories.
    most_slots
        Most slots of that table.
    largest_table_bytes
        Limit on that table, which has fewer slots where it would be larger.
    """

    at_least: ClassVar[Mapping[str, float]] = {"memories": 2}

    memories: int = 40
    share_of_rotor: float = 0.25
    least_slots: int = ROTOR.first_slots
    most_slots: int = 2000
    largest_table_bytes: int = ROTOR.largest_table_bytes


AUTOCAPPER = AutocapperParams()


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
    """Offer the schedule that capper makes of a sequence of computations, if it makes one."""
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


def solve_autocapper(
    problem: RematOffloadChain, options: SolveOptions, params: AutocapperParams = AUTOCAPPER
) -> Outcome:
    """Return the best schedule of capper over 40 sizes of memory, if one fits.

    It is no slower than the schedule without transfers that a quarter of the time finds.
    """
    clock = Clock(options.time_limit_s)
    incumbent = OffloadIncumbent(problem, options, clock)
    incumbent.begin_from(options.start, OffloadSchedule, ScheduleClass.ALL)
    offers = offer_autocapper(incumbent, options, clock, params)
    return incumbent.search(offers, "none of the sequences of capper fits")


def offer_autocapper(
    incumbent: OffloadIncumbent,
    options: SolveOptions,
    clock: Clock,
    params: AutocapperParams = AUTOCAPPER,
) -> Iterator[None]:
    """Offer the 40 schedules of autocapper, in the time that `clock` has left.

    Raises
    ------
    TimeoutError
        If the time is over.
    MemoryError
        If a table does not fit in memory.
    KeyboardInterrupt
        On Ctrl-C.
    """
    problem = incumbent.problem
    most_s = None if math.isinf(clock.left_s) else max(clock.left_s * params.share_of_rotor, 1e-3)
    alone = solve_rotor_alone(problem, replace(options.quiet(), time_limit_s=most_s), params)
    if isinstance(alone.schedule, OffloadSchedule):
        incumbent.offer(alone.schedule)
    pass_interrupt_on(alone.termination)
    yield
    yield from offer_capped_sequences(incumbent, options, clock, params)


def offer_capped_sequences(
    incumbent: OffloadIncumbent,
    options: SolveOptions,
    clock: Clock,
    params: AutocapperParams = AUTOCAPPER,
) -> Iterator[None]:
    """Offer what capper makes of the 40 sequences of rotor; errors as for `offer_autocapper`.

    A sequence that computes for longer than the best schedule takes is left out.
    """
    problem = incumbent.problem
    chain = problem.instance
    seen: set[ChainSchedule] = set()
    memories = capper_memories(chain, problem.memory_bytes, params.memories)
    for computations in _rotor_sequences(chain, memories[::-1], clock, options.threads, params):
        least_ns = duration_ns(computations, chain)
        if computations not in seen and (incumbent.time_ns is None or least_ns < incumbent.time_ns):
            seen.add(computations)
            offer_capped(incumbent, computations)
        yield


def _rotor_sequences(
    chain: Chain,
    memories: Sequence[int],
    clock: Clock,
    threads: int,
    params: AutocapperParams,
) -> Iterator[ChainSchedule]:
    """Yield for each memory the fastest persistent sequence on one shared grid of `rotor`.

    Where none fits with sizes rounded up, it is the sequence of least memory. The grid is so fine
    that the smallest memory has as many slots as `params` says, up to its limits.
    """
    least_bytes, least = least_persistent_memory(chain)
    on_grid = [size for size in memories if least_bytes <= size < chain.store_all_peak_bytes]
    slots = params.least_slots
    if on_grid:
        largest = most_slots(chain, params.largest_table_bytes)
        wanted = slots * max(on_grid) // max(min(on_grid), 1)
        slots = max(min(wanted, params.most_slots, largest), 1)
    limit_bytes = params.largest_table_bytes
    brackets = iter(persistent_curve(chain, on_grid, slots, clock.left_s, threads, limit_bytes))
    for memory_bytes in memories:
        if memory_bytes >= chain.store_all_peak_bytes:
            # Rounding up would lose this sequence where the memory barely holds it.
            yield store_all_schedule(chain)
        elif memory_bytes >= least_bytes:
            yield next(brackets).schedule or least


def capper_memories(chain: Chain, memory_bytes: int, count: int = AUTOCAPPER.memories) -> list[int]:
    r"""Return the values of :math:`M'`, ascending, rounded down to bytes."""
    extra_bytes = max(chain.store_all_peak_bytes - memory_bytes, 0)
    return [memory_bytes + extra_bytes * k // (count - 1) for k in range(count)]
