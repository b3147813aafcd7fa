"""Kind of pipeline schedules: their files, with the phases of each device and a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_claim import ScheduleClaim
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.schedules.pipeline_chain.schedule import DevicePlan, PipelineSchedule
from jettison.schedules.remat_chain.kind import CHAIN_KINDS, checked_stage
from jettison.schedules.remat_chain.schedule import ChainOperation

_PHASES = ("forward", "backward")


def _write(schedule: PipelineSchedule, _: Chain) -> dict[str, object]:
    # One chunk is left out, as in files from before there were more.
    chunks = {} if schedule.chunks == 1 else {"chunks": schedule.chunks}
    return {
        **chunks,
        "devices": [
            {
                "first": plan.first,
                "last": plan.last,
                **{
                    phase: [[str(item.kind), item.stage] for item in getattr(plan, phase)]
                    for phase in _PHASES
                },
            }
            for plan in schedule.devices
        ],
    }


def _read(document: Mapping[str, Any], chain: Chain) -> PipelineSchedule:
    plans = []
    for position, entry in enumerate(document["devices"]):
        field = f"devices[{position}]"
        most = len(chain)
        first = checked_stage(f"{field}.first", entry["first"], least=1, most=most)
        last = checked_stage(f"{field}.last", entry["last"], least=first, most=most)
        phases = (_operations(entry[phase], f"{field}.{phase}", most) for phase in _PHASES)
        plans.append(DevicePlan(first, last, *phases))
    return PipelineSchedule(tuple(plans), document.get("chunks", 1))


def _operations(
    entries: Sequence[tuple[str, int]], field: str, most: int
) -> tuple[ChainOperation, ...]:
    found = []
    for position, (kind, stage) in enumerate(entries):
        operation = ChainOperation(CHAIN_KINDS[kind], stage)
        checked_stage(f"{field}[{position}][1]", stage, least=operation.least_stage, most=most)
        found.append(operation)
    return tuple(found)


def _claim(problem: PipelineChain, replay: Replay) -> ScheduleClaim:
    return ScheduleClaim(
        memory_bytes=problem.memory_bytes,
        link=problem.link,
        devices=problem.devices,
        microbatches=problem.microbatches,
        weight_copies=problem.weight_copies,
        chunks=None if problem.chunks == 1 else problem.chunks,
        time_ns=replay.time_ns,
        peak_bytes=replay.peak_bytes,
    )


PIPELINE_SCHEDULE = ScheduleKind(
    name=PipelineSchedule.kind,
    schedule=PipelineSchedule,
    instance=Chain.kind,
    write=_write,
    read=_read,
    claim=_claim,
)
