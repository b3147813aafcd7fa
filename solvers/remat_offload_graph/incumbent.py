"""Incumbent of a search on a graph with a link: the fastest schedule that the replay accepts."""

from __future__ import annotations

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SILENT, SolveOptions
from jettison.solvers.core.result import replay_schedule
from jettison.solvers.core.search import Incumbent


class LinkedIncumbent(Incumbent[OffloadGraphSchedule]):
    """Incumbent of a graph with a link, to which schedules without transfers can be offered.

    Parameters
    ----------
    problem
        What the schedules are for.
    options, clock
        As for the method; by default nobody is told, and there is no limit.
    """

    def __init__(
        self,
        problem: RematOffloadGraph,
        options: SolveOptions = SILENT,
        clock: Clock | None = None,
    ) -> None:
        base_ns = problem.base_time_ns
        super().__init__(
            lambda schedule: replay_schedule(problem, schedule),
            base_ns,
            options,
            clock or Clock(None),
            exact_bound(base_ns, ScheduleClass.ALL, "base-time"),
        )
        start = options.start
        if isinstance(start, GraphSchedule):
            start = OffloadGraphSchedule.without_transfers(start)
        self.begin_from(start, OffloadGraphSchedule, ScheduleClass.ALL)

    @property
    def is_optimal(self) -> bool:
        """Whether the time is that without a limit of memory, so that nothing can be faster."""
        return self.time_ns == self._base_ns
