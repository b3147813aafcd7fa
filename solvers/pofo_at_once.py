r"""POFO for transfers at once: plans of the fluid model, timed again, the best of them.

A plan that is optimal in the fluid model need not be so with transfers at once. Plans for a little
less memory, and for a slower link, leave room for what the fluid model does not see: with transfers
at once a tensor is longer in the way. All of them are timed in the memory and on the link that
there are, and the fastest counts. `autocapper`, whose schedules are not bound to POFO's
assumptions, is one more candidate; so is what its executor makes of each plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from jettison.instances.remat_offload_chain import RematOffloadChain
from jettison.schedules.offload_plan import OffloadPlan
from jettison.schedules.offload_schedule import OffloadSchedule
from jettison.solvers.at_once_timing import time_at_once
from jettison.solvers.autocapper import solve_autocapper
from jettison.solvers.offload_executor import execute_gaps
from jettison.solvers.offload_incumbent import OffloadIncumbent
from jettison.solvers.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.status import Termination
from jettison.solvers.tensor_lifetimes import TensorLifetimes

# The memory of a plan in parts of what there is: POFO's 50 slots, less up to 8 of them.
SLOTS = 50
FEWEST_SLOTS = SLOTS - 8
SPEEDS = (Fraction(1), Fraction(3, 4), Fraction(1, 2))
# What autocapper may take of the time.
SHARE_OF_AUTOCAPPER = 0.25

PlanSource = Callable[[int, int], OffloadPlan | None]


def search_at_once(
    problem: RematOffloadChain, plans: PlanSource, options: SolveOptions
) -> Outcome:
    """Return the fastest of autocapper's schedule and of plans that are timed at once.

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
    started = time.perf_counter()
    incumbent = OffloadIncumbent(problem)
    capped = solve_autocapper(problem, _share(options, SHARE_OF_AUTOCAPPER))
    if isinstance(capped.schedule, OffloadSchedule):
        incumbent.offer(capped.schedule)
    tried = 0
    termination = Termination.COMPLETED
    if capped.termination is Termination.INTERRUPTED:
        termination = Termination.INTERRUPTED
    else:
        try:
            for memory_bytes, bytes_per_s in _resources(problem):
                if incumbent.is_optimal:
                    break
                _check_time(started, options)
                plan = plans(memory_bytes, bytes_per_s)
                tried += 1
                if plan is not None:
                    offer_at_once(incumbent, plan)
                if options.on_progress is not None:
                    seconds = time.perf_counter() - started
                    options.on_progress(
                        Progress(seconds, incumbent.time_ns, problem.instance.base_time_ns)
                    )
        except TimeoutError:
            termination = Termination.TIME_LIMIT
        except MemoryError:
            termination = Termination.MEMORY_LIMIT
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
    return Outcome(
        termination=termination,
        schedule=incumbent.schedule,
        work={"plans": tried},
        note=None if incumbent.schedule else "no plan fits in this memory",
    )


def offer_at_once(incumbent: OffloadIncumbent, plan: OffloadPlan) -> None:
    """Offer a plan as it is timed in two phases, and as the executor moves its tensors."""
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


def _resources(problem: RematOffloadChain) -> Iterator[tuple[int, int]]:
    """Yield memories and bandwidths for plans, those that there are first."""
    for slots in range(SLOTS, FEWEST_SLOTS - 1, -1):
        for speed in SPEEDS:
            bytes_per_s = max(int(problem.link.bytes_per_s * speed), 1)
            yield problem.memory_bytes * slots // SLOTS, bytes_per_s


def _share(options: SolveOptions, share: float) -> SolveOptions:
    if options.time_limit_s is None:
        return replace(options, on_progress=None)
    return replace(options, time_limit_s=options.time_limit_s * share, on_progress=None)


def _check_time(started: float, options: SolveOptions) -> None:
    if options.time_limit_s is not None:
        if time.perf_counter() - started >= options.time_limit_s:
            raise TimeoutError
