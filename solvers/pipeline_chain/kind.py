"""Registration of pipeline-chain: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.kind import PIPELINE_SCHEDULE
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule
from jettison.schedules.pipeline_chain.step_replay import PipelineReplay
from jettison.solvers.core.method import Method
from jettison.solvers.core.problem_kind import ProblemKind, Reference
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DEFAULT_COPIES = 2
DEFAULT_CHUNKS = 1


def _pose(chain: Chain, resources: Resources) -> PipelineChain:
    missing = "devices" if resources.devices is None else "microbatches"
    if resources.devices is None or resources.microbatches is None:
        raise InputError(
            "no number is given",
            field=missing,
            expected="give the number of devices and of micro-batches, such as 8 and 32",
        )
    copies = resources.weight_copies
    return PipelineChain(
        chain,
        resources.memory_text,
        resources.devices,
        resources.microbatches,
        resources.bandwidth,
        DEFAULT_COPIES if copies is None else copies,
        DEFAULT_CHUNKS if resources.chunks is None else resources.chunks,
    )


def _replay(problem: PipelineChain, schedule: PipelineSchedule) -> Replay:
    return schedule.replay(problem)


def _methods() -> Sequence[Method[PipelineChain]]:
    from jettison.solvers.pipeline_chain.methods import METHODS

    return METHODS


def _in_full(resources: Resources, problem: PipelineChain) -> Resources:
    return replace(
        resources,
        devices=problem.devices,
        microbatches=problem.microbatches,
        weight_copies=problem.weight_copies,
        # One is left open: records from before there were more have the same keys.
        chunks=None if problem.chunks == DEFAULT_CHUNKS else problem.chunks,
    )


def _spent(replay: Replay | None) -> Mapping[str, int | None]:
    """Tell the bottleneck of a micro-batch, and what is computed again for it."""
    judged = replay if isinstance(replay, PipelineReplay) else None
    return {
        "bottleneck_ns": None if judged is None else judged.bottleneck_ns,
        "recompute_ns": None if judged is None else judged.recompute_ns,
    }


def _picture(replay: PipelineReplay, title: str) -> Figure:
    from jettison.schedules.pipeline_chain.timeline_plot import plot_pipeline

    return plot_pipeline(replay, title=title)


def _table(problem: PipelineChain, schedule: PipelineSchedule) -> pd.DataFrame:
    from jettison.schedules.pipeline_chain.device_table import table_of_devices

    return table_of_devices(schedule.replay(problem))


def _printed(replay: PipelineReplay) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    from jettison.schedules.pipeline_chain.device_table import printed_devices

    return printed_devices(replay)


PIPELINE_CHAIN = ProblemKind(
    name=PipelineChain.problem,
    summary=(
        "a chain cut into parts for devices of one memory each, with recomputation, trained in "
        "micro-batches in 1F1B order."
    ),
    problem=PipelineChain,
    instances=(Chain,),
    schedules=(PIPELINE_SCHEDULE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    takes=frozenset({"bandwidth", "devices", "microbatches", "weight_copies", "chunks"}),
    needs=frozenset({"memory", "devices", "microbatches"}),
    narrow_class=ScheduleClass.PERSISTENT,
    reference=lambda problem: Reference(problem.base_time_ns, "recomputation or bubbles"),
    states_gap_of_step=True,
    in_full=_in_full,
    spent=_spent,
    picture=_picture,
    table=_table,
    printed=_printed,
)
