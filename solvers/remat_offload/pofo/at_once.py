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

from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.remat_offload.executor import execute_gaps
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.pofo.at_once_timing import time_at_once
from jettison.solvers.remat_offload.pofo.params import PLANS, PlanParams
from jettison.solvers.remat_offload.tensor_lifetimes import TensorLifetimes

PlanSource = Callable[[int, int], OffloadPlan | None]


def offer_plans(
    incumbent: OffloadIncumbent,
    plans: PlanSource,
    slots: int = PLANS.first_slots_of_plans,
    params: PlanParams = PLANS,
) -> Iterator[None]:
    """Offer the plans for a little less memory and for slower links.

    Parameters
    ----------
    incumbent
        The incumbent of a problem with transfers at once.
    plans
        Returns the plan for a memory in bytes and a bandwidth in bytes per second, or None.
        It may raise `TimeoutError` or `MemoryError`, which end the search.
    slots
        Number of slots into which the memory is divided.
    params
        How much less memory, and which links.
    """
    for memory_bytes, bytes_per_s in plan_resources(incumbent.problem, slots, params):
        offer_at_once(incumbent, plans(memory_bytes, bytes_per_s))
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
