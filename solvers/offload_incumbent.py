"""The best schedule with transfers that a search has met so far, as the replay judges it."""

from __future__ import annotations

from jettison.instances.remat_offload_chain import RematOffloadChain, Transfers
from jettison.schedules.offload_plan import OffloadPlan
from jettison.schedules.offload_schedule import OffloadSchedule
from jettison.solvers.fluid_schedule import fluid_schedule
from jettison.solvers.result import replay_schedule


class OffloadIncumbent:
    """Keeps the fastest valid schedule that is offered.

    Attributes
    ----------
    problem
        What the schedules are for.
    schedule, time_ns
        The fastest so far and its replayed time; None as long as there is none.
    """

    def __init__(self, problem: RematOffloadChain) -> None:
        self.problem = problem
        self.schedule: OffloadSchedule | None = None
        self.time_ns: int | None = None

    @property
    def is_optimal(self) -> bool:
        """Whether nothing can be faster, because the time is that without a limit of memory."""
        return self.time_ns == self.problem.instance.base_time_ns

    def offer(self, schedule: OffloadSchedule) -> None:
        """Look at a schedule, valid or not."""
        replay = replay_schedule(self.problem, schedule)
        if replay.valid and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.schedule, self.time_ns = schedule, replay.time_ns

    def offer_fluid(self, plan: OffloadPlan) -> None:
        """Look at a plan of two phases, where the problem's transfers are fluid."""
        if self.problem.transfers is Transfers.FLUID:
            self.offer(fluid_schedule(self.problem.instance, plan))
