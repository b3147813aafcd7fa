r"""POFO for transfers at once: plans of the fluid model, timed again, the best of them.

A plan that is optimal in the fluid model need not be so with transfers at once. Plans for a little
less memory, and for a slower link, leave room for what the fluid model does not see: with transfers
at once a tensor is longer in the way. All of them are timed in the memory and on the link that
there are, and the fastest counts. `autocapper`, whose schedules are not bound to POFO's
assumptions, is one more candidate; so is what its executor makes of each plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from jettison.instances.remat_offload_chain import RematOffloadChain
from jettison.schedules.offload_plan import OffloadPlan
from jettison.solvers.at_once_timing import time_at_once
from jettison.solvers.autocapper import offer_autocapper
from jettison.solvers.clock import Clock
from jettison.solvers.offload_executor import execute_gaps
from jettison.solvers.offload_incumbent import OffloadIncumbent
from jettison.solvers.outcome import Outcome, SolveOptions
from jettison.solvers.tensor_lifetimes import TensorLifetimes

# The memory of a plan in parts of what there is: POFO's 50 slots, less up to 8 of them.
SLOTS = 50
FEWEST_SLOTS = SLOTS - 8
SPEEDS = (Fraction(1), Fraction(3, 4), Fraction(1, 2))

PlanSource = Callable[[int, int], OffloadPlan | None]


def search_at_once(problem: RematOffloadChain, plans: PlanSource, options: SolveOptions) -> Outcome:
    """Return the fastest of the plans, timed at once, and of autocapper's schedules.

    Parameters
    ----------
    problem
        With transfers at once.
    plans
        Returns the plan for so many bytes of memory and bytes per second, or None if it has none.
        It may raise `TimeoutError` or `MemoryError`, which end the search.
    options
        Time limit, and whom to tell.
    """
    clock = Clock(options.time_limit_s)
    incumbent = OffloadIncumbent(problem)
    offers = _offers(incumbent, plans, options, clock)
    return incumbent.search(offers, options, clock, "no plan fits in this memory")


def _offers(
    incumbent: OffloadIncumbent, plans: PlanSource, options: SolveOptions, clock: Clock
) -> Iterator[None]:
    """Try the plan for what there is, then autocapper, then the other plans."""
    (memory_bytes, bytes_per_s), *others = plan_resources(incumbent.problem)
    offer_at_once(incumbent, plans(memory_bytes, bytes_per_s))
    yield
    yield from offer_autocapper(incumbent, options, clock)
    for memory_bytes, bytes_per_s in others:
        offer_at_once(incumbent, plans(memory_bytes, bytes_per_s))
        yield


def offer_at_once(incumbent: OffloadIncumbent, plan: OffloadPlan | None) -> None:
    """Offer a plan as it is timed in two phases, and as the executor moves its tensors."""
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


def plan_resources(problem: RematOffloadChain) -> list[tuple[int, int]]:
    """Return memories and bandwidths for plans, the pair that there is first."""
    return [
        (
            problem.memory_bytes * slots // SLOTS,
            max(int(problem.link.bytes_per_s * speed), 1),
        )
        for slots in range(SLOTS, FEWEST_SLOTS - 1, -1)
        for speed in SPEEDS
    ]
