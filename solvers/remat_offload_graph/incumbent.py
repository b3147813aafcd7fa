"""Incumbent of a search on a graph with a link: the fastest schedule that the replay accepts."""

from __future__ import annotations

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SILENT, SolveOptions
from jettison.solvers.core.search import ProblemIncumbent


class LinkedIncumbent(ProblemIncumbent[OffloadGraphSchedule]):
    """Incumbent of a graph with a link, which may start from a schedule without transfers."""

    def __init__(
        self,
        problem: RematOffloadGraph,
        options: SolveOptions = SILENT,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(problem, options, clock)
        start = options.start
        if isinstance(start, GraphSchedule):
            start = OffloadGraphSchedule.without_transfers(start)
        self.begin_from(start, OffloadGraphSchedule, ScheduleClass.ALL)
