"""The best schedule so far of a method that tries many for one weight-offloading problem."""

from __future__ import annotations

from jettison.instances.weight_offload import WeightOffload
from jettison.schedules.cyclic_schedule import CyclicSchedule
from jettison.solvers.clock import Clock
from jettison.solvers.layer_to_layer import layer_to_layer
from jettison.solvers.outcome import Progress


def simple_floor_ns(problem: WeightOffload) -> int:
    r"""Return a lower bound on the period of every schedule, in O(L).

    It is the time of all operations, or that of the prefetches if they take longer: all that is
    absent at :math:`B_L` and :math:`F_L` is so between F and B of its layer, all that is absent at
    :math:`B_1` and :math:`F_1` between B and F, and each comes back once.
    """
    cycle = problem.cycle
    excess_bytes = cycle.excess_bytes(problem.memory_bytes)
    last, first = cycle.backward_index(cycle.num_layers), cycle.backward_index(1)
    prefetched_bytes = sum(
        max(excess_bytes[backward], excess_bytes[forward], 0)
        for backward, forward in ((last, len(cycle) - 1), (first, first + 1))
    )
    return max(problem.instance.base_time_ns, problem.link.transfer_ns(prefetched_bytes))


class WeightIncumbent:
    """Keeps the schedule with the least period.

    Attributes
    ----------
    problem
        What the schedules are for.
    schedule
        The best so far; that of L2L, which always fits, before anything is offered.
    floor_ns
        A simple lower bound: nothing can be faster.
    """

    def __init__(self, problem: WeightOffload) -> None:
        self.problem = problem
        self.schedule = layer_to_layer(problem)
        self.floor_ns = simple_floor_ns(problem)

    @property
    def period_ns(self) -> int:
        """The period of the best so far."""
        return self.schedule.period_ns

    def offer(self, schedule: CyclicSchedule | None) -> None:
        """Keep the schedule if it is faster."""
        if schedule is not None and schedule.period_ns < self.period_ns:
            self.schedule = schedule

    def is_within(self, gap: float) -> bool:
        """Tell whether the best so far is as close to the floor as was asked for."""
        return self.period_ns - self.floor_ns <= gap * self.period_ns

    def progress(self, clock: Clock) -> Progress:
        """Return where the search stands."""
        return Progress(clock.seconds, self.period_ns, self.floor_ns)
