"""Incumbent of a search with transfers: the fastest schedule that the replay has accepted."""

from __future__ import annotations

from collections.abc import Iterator

from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import SILENT, Outcome, SolveOptions
from jettison.solvers.core.search import ProblemIncumbent
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule


class OffloadIncumbent(ProblemIncumbent[OffloadSchedule]):
    """Incumbent of a chain with a link, to which plans and whole searches can be offered.

    Parameters
    ----------
    problem
        What the schedules are for.
    options, clock
        As for the method; by default nobody is told, and there is no limit.
    """

    def __init__(
        self,
        problem: RematOffloadChain,
        options: SolveOptions = SILENT,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(problem, options, clock)
        self.problem = problem

    def offer_fluid(self, plan: OffloadPlan) -> None:
        """Offer the fluid schedule of a plan, where the problem's transfers are fluid."""
        if self.problem.transfers is Transfers.FLUID:
            self.offer(fluid_schedule(self.problem.instance, plan))

    def search(self, offers: Iterator[None], note: str) -> Outcome:
        """Take offers until there are no more, none can be better, or a limit is reached.

        Parameters
        ----------
        offers
            Offers schedules, and yields after each attempt. It may raise `TimeoutError` or
            `MemoryError`; Ctrl-C ends it as well.
        note
            Note of the outcome where the offers end without a valid schedule.
        """
        with Ending() as ending:
            for _ in offers:
                self.report()
                if self.is_optimal:
                    break
                self._clock.require_time()
        if not ending.termination.is_regular:
            note = "stopped before a schedule that fits was found"
        return Outcome(
            termination=ending.termination,
            schedule=self.schedule,
            work={"schedules": self.offered},
            note=note if self.schedule is None else None,
        )
