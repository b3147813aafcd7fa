"""Registration of remat-arena: its problem, methods, replay and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.remat_arena.problem import RematArena
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_arena.kind import ADDRESSED_SCHEDULE
from jettison.schedules.remat_arena.schedule import AddressedSchedule, ArenaReplay
from jettison.solvers.core.method import Method
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _pose(graph: Graph, resources: Resources) -> RematArena:
    return RematArena(graph, resources.memory_text)


def _replay(problem: RematArena, schedule: AddressedSchedule) -> ArenaReplay:
    return schedule.replay(problem.instance, problem.memory_bytes)


def _methods() -> Sequence[Method[RematArena]]:
    from jettison.solvers.remat_arena.methods import METHODS

    return METHODS


def _table(problem: RematArena, schedule: AddressedSchedule) -> pd.DataFrame:
    from jettison.schedules.remat_arena.buffer_table import table_of_buffers

    return table_of_buffers(problem.instance, schedule)


def _printed(replay: ArenaReplay) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    from jettison.schedules.remat_arena.held_memory import printed_memory

    return printed_memory(replay)


def _grid(problem: RematArena, schedule: AddressedSchedule, title: str) -> Figure:
    from jettison.schedules.remat_arena.address_map import plot_address_map

    return plot_address_map(
        problem.instance, schedule, title=title, limit_bytes=problem.memory_bytes
    )


REMAT_ARENA = ProblemKind(
    name=RematArena.problem,
    summary=(
        "one step of a graph of operators in one block of memory, in which every value and every "
        "workspace has an address."
    ),
    problem=RematArena,
    instances=(Graph,),
    schedules=(ADDRESSED_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    narrow_class=ScheduleClass.STAGED,
    table=_table,
    printed=_printed,
    grid=_grid,
)
