"""Greedy and Greedy*: both algorithms of the paper on weight offloading, one after the other.

Where the kernel's 64-bit integers do not suffice, or it is stopped, the schedule is that of L2L,
and ``work`` says so (``layer_to_layer``).
"""

from __future__ import annotations

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_bound
from jettison.solvers.weight_offload.greedy.selection import Choice, select_choices
from jettison.solvers.weight_offload.incumbent import run_within_kernels
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.scheduler import Discount, WeightScheduler


def solve_greedy(problem: WeightOffload, options: SolveOptions) -> Outcome:
    """Return the schedule of Algorithms 1 and 2, or the proof that none fits."""
    return _solve(problem, options, Discount.USED)


def solve_greedy_no_discount(problem: WeightOffload, options: SolveOptions) -> Outcome:
    """Return the schedule of Greedy*: as Greedy, but with one upload for every deletion."""
    return _solve(problem, options, Discount.NOT_USED)


def _solve(problem: WeightOffload, options: SolveOptions, discount: Discount) -> Outcome:
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = _Greedy(problem, discount, Clock(options.time_limit_s))
    termination = run_within_kernels(search.run)
    schedule = search.schedule
    return Outcome(
        termination=termination,
        schedule=schedule or layer_to_layer(problem),
        bounds=(closed_form_bound(problem),),
        work={"choices": len(search.choices), "layer_to_layer": int(schedule is None)},
    )


class _Greedy:
    """One run of both algorithms: selection, then schedule."""

    def __init__(self, problem: WeightOffload, discount: Discount, clock: Clock) -> None:
        self.choices: tuple[Choice, ...] = ()
        self.schedule: CyclicSchedule | None = None
        self._problem = problem
        self._discount = discount
        self._clock = clock

    def run(self) -> None:
        choices = select_choices(self._problem, time_limit_s=self._clock.left_s)
        # With the least memory or more, the choices taken together always suffice.
        assert choices is not None
        self.choices = choices
        scheduler = WeightScheduler(self._problem)
        self.schedule = scheduler.schedule(choices, self._discount, self._clock.left_s)
