"""The class of schedules, beside all of them, that the methods of a problem look at."""

from __future__ import annotations

from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass

_NARROW_CLASSES = {
    RematChain.problem: ScheduleClass.PERSISTENT,
    RematOffloadChain.problem: ScheduleClass.POFO,
    RematGraph.problem: ScheduleClass.STAGED,
}


def narrow_class(problem: str) -> ScheduleClass:
    """Return the class for which the methods of a problem prove bounds, beside all schedules.

    The least memory of a proof of infeasibility belongs to it. Where there is no such class it is
    that of all schedules.
    """
    return _NARROW_CLASSES.get(problem, ScheduleClass.ALL)
