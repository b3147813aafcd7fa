r"""POFO with transfers at once: plans of the fluid model, timed again, of which the fastest counts.

A plan that is optimal in the fluid model need not be so with transfers at once, where a tensor
occupies its memory until its copy is complete. Plans for a little less memory, and for a slower
link, leave room for that. All of them are timed with the problem's own memory and link, and the
fastest counts. The executor of `autocapper`, which is not bound to POFO's assumptions, makes one
more candidate of each plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import groupby

from jettison.instances.core.link import Link, Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.remat_offload.executor import execute_gaps
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.pofo.at_once_timing import time_at_once
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule
from jettison.solvers.remat_offload.pofo.params import PLANS, PlanParams
from jettison.solvers.remat_offload.tensor_lifetimes import TensorLifetimes

PlanSource = Callable[[int, int, Fraction | None], PofoBracket]


def offer_plans(
    incumbent: OffloadIncumbent,
    plans: PlanSource,
    slots: int = PLANS.first_slots_of_plans,
    params: PlanParams = PLANS,
) -> Iterator[None]:
    """Offer the plans for a little less memory and for slower links, each plan once.

    A plan fits in more memory as well, so that its time is a limit there, and none is searched for
    that is not faster. On a slower link so is the time that the plans before have there.

    Parameters
    ----------
    incumbent
        The incumbent of a problem with transfers at once.
    plans
        Returns the plan, with its time, for a memory in bytes and a bandwidth in bytes per second,
        if one is faster than a limit in nanoseconds. It may raise `TimeoutError` or `MemoryError`,
        which end the search.
    slots
        Number of slots into which the memory is divided.
    params
        How much less memory, and which links.
    """
    chain = incumbent.problem.instance
    found: dict[int, list[OffloadPlan]] = {}
    offered: set[OffloadPlan] = set()
    asked = sorted(plan_resources(incumbent.problem, slots, params), key=lambda pair: -pair[1])
    for bytes_per_s, pairs in groupby(asked, key=lambda pair: pair[1]):
        limit_ns: Fraction | None = None
        for memory_bytes, _ in sorted(pairs):
            for plan in found.get(memory_bytes, ()):
                again = fluid_schedule(chain, plan).replay(
                    chain, Link(bytes_per_s), Transfers.FLUID, memory_bytes
                )
                if again.valid and (limit_ns is None or again.time_ns < limit_ns):
                    limit_ns = Fraction(again.time_ns)
            best = plans(memory_bytes, bytes_per_s, limit_ns)
            if best.plan is not None:
                limit_ns = best.plan_ns
                found.setdefault(memory_bytes, []).append(best.plan)
                if best.plan not in offered:
                    offered.add(best.plan)
                    offer_at_once(incumbent, best.plan)
            yield


def offer_at_once(incumbent: OffloadIncumbent, plan: OffloadPlan | None) -> None:
    """Offer two schedules of a plan: timed in two phases, and as the executor moves its tensors."""
    if plan is None:
        return
    problem = incumbent.problem
    chain, link, memory_bytes = problem.instance, problem.link, problem.memory_bytes
    timing = time_at_once(chain, plan, link, memory_bytes)
    if timing is None:
        return
    incumbent.offer(timing.schedule)
    lifetimes = TensorLifetimes(chain, plan.computations)
    gaps = [lifetimes.gap_at_turn(tensor) for tensor in plan.offloaded]
    execution = execute_gaps(lifetimes, gaps, link, memory_bytes)
    if execution is not None:
        incumbent.offer(execution.schedule)


def plan_resources(
    problem: RematOffloadChain, slots: int = PLANS.first_slots_of_plans, params: PlanParams = PLANS
) -> list[tuple[int, int]]:
    """Return memories and bandwidths for plans: all pairs except the problem's own."""
    slower = 1 - Fraction(params.slowest_link_percent, 100)
    speeds = [1 - slower * k / params.slower_links for k in range(params.slower_links + 1)]
    fewest = max(slots - slots * params.less_memory_percent // 100, 0)
    return [
        (
            problem.memory_bytes * part // slots,
            max(int(problem.link.bytes_per_s * speed), 1),
        )
        for part in range(slots, fewest - 1, -1)
        for speed in speeds
        if part < slots or speed < 1
    ]
