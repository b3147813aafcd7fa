"""Greedy and Greedy*: both algorithms of the paper on weight offloading, one after the other.

Where the kernel cannot do it in 64-bit integers, or is stopped, the schedule is that of L2L, which
``work`` says (``layer_to_layer``).
"""

from __future__ import annotations

from jettison.instances.weight_offload import WeightOffload
from jettison.solvers.clock import Clock
from jettison.solvers.layer_to_layer import layer_to_layer
from jettison.solvers.least_weight_memory import weight_infeasibility
from jettison.solvers.outcome import Outcome, Problem, SolveOptions
from jettison.solvers.status import Termination
from jettison.solvers.weight_scheduler import Discount, WeightScheduler
from jettison.solvers.weight_selection import select_choices


def solve_greedy(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the schedule of Algorithms 1 and 2, or the proof that none fits."""
    return _solve(problem, options, Discount.USED)


def solve_greedy_no_discount(problem: Problem, options: SolveOptions) -> Outcome:
    """Return Greedy*: the same selection, but every deletion pays an upload of its own."""
    return _solve(problem, options, Discount.NOT_USED)


def _solve(problem: Problem, options: SolveOptions, discount: Discount) -> Outcome:
    assert isinstance(problem, WeightOffload)
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock, termination = Clock(options.time_limit_s), Termination.COMPLETED
    choices, schedule = None, None
    try:
        choices = select_choices(problem, time_limit_s=clock.left_s)
        # In the least memory and more, all choices together are enough.
        assert choices is not None
        schedule = WeightScheduler(problem).schedule(choices, discount, clock.left_s)
    except OverflowError:
        # The times do not fit the kernel; L2L does without it.
        termination = Termination.COMPLETED
    except TimeoutError:
        termination = Termination.TIME_LIMIT
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    return Outcome(
        termination=termination,
        schedule=schedule or layer_to_layer(problem),
        work={"choices": len(choices or ()), "layer_to_layer": int(schedule is None)},
    )
