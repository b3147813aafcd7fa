"""Incumbent of a search with transfers: the fastest schedule that the replay has accepted."""

from __future__ import annotations

from collections.abc import Iterator

from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.result import replay_schedule
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule


class OffloadIncumbent:
    """Fastest valid schedule among those that were offered.

    Attributes
    ----------
    problem
        What the schedules are for.
    schedule, time_ns
        The fastest so far and its replayed time; None as long as there is none.
    offered
        How many schedules have been offered.
    """

    def __init__(self, problem: RematOffloadChain) -> None:
        self.problem = problem
        self.schedule: OffloadSchedule | None = None
        self.time_ns: int | None = None
        self.offered = 0

    @property
    def is_optimal(self) -> bool:
        """Whether the time is that without a limit of memory, so that nothing can be faster."""
        return self.time_ns == self.problem.instance.base_time_ns

    def offer(self, schedule: OffloadSchedule) -> None:
        """Replay a schedule, valid or not, and keep it if it is valid and faster."""
        self.offered += 1
        replay = replay_schedule(self.problem, schedule)
        if replay.valid and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.schedule, self.time_ns = schedule, replay.time_ns

    def offer_fluid(self, plan: OffloadPlan) -> None:
        """Offer the fluid schedule of a plan, where the problem's transfers are fluid."""
        if self.problem.transfers is Transfers.FLUID:
            self.offer(fluid_schedule(self.problem.instance, plan))

    def search(
        self, offers: Iterator[None], options: SolveOptions, clock: Clock, note: str
    ) -> Outcome:
        """Take offers until there are no more, none can be better, or a limit is reached.

        Parameters
        ----------
        offers
            Offers schedules, and yields after each attempt. It may raise `TimeoutError` or
            `MemoryError`; Ctrl-C ends it as well.
        options, clock
            The callback for progress, and the time.
        note
            Note of the outcome where the offers end without a valid schedule.
        """
        with Ending() as ending:
            for _ in offers:
                if options.on_progress is not None:
                    base_ns = self.problem.instance.base_time_ns
                    options.on_progress(Progress(clock.seconds, self.time_ns, base_ns))
                if self.is_optimal:
                    break
                clock.require_time()
        if not ending.termination.is_regular:
            note = "stopped before a schedule that fits was found"
        return Outcome(
            termination=ending.termination,
            schedule=self.schedule,
            work={"schedules": self.offered},
            note=note if self.schedule is None else None,
        )
