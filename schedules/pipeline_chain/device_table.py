"""Table of the devices of a pipeline: their stages, times and memory."""

from __future__ import annotations

import pandas as pd

from jettison.schedules.pipeline_chain.step_replay import DeviceRun, PipelineReplay
from jettison.schedules.remat_chain.schedule import ChainOperationKind

_SAVING = f"{ChainOperationKind.FORWARD_ALL} "


def table_of_devices(replay: PipelineReplay) -> pd.DataFrame:
    """Return a row for each device.

    The columns: its stages; for a micro-batch its times, what of them is computed again, and how
    many stages are saved between the phases; how many micro-batches are in flight; for the whole
    step how long it computes nothing; what it holds all the time, what a micro-batch keeps between
    its phases, and its peak.
    """
    return pd.DataFrame([_row(run, replay.time_ns) for run in replay.devices])


def _row(run: DeviceRun, step_ns: int) -> dict[str, int]:
    own = run.microbatch
    computing = len(run.phases) // 2 * (own.forward_ns + own.backward_ns)
    return {
        "device": run.number,
        "first_stage": run.first,
        "last_stage": run.last,
        "forward_ns": own.forward_ns,
        "backward_ns": own.backward_ns,
        "recompute_ns": own.recompute_ns,
        "send_ns": run.times.send_forward_ns + run.times.send_backward_ns,
        "idle_ns": step_ns - computing,
        "saved_stages": sum(step.operation.startswith(_SAVING) for step in own.forward),
        "in_flight": run.in_flight,
        "resident_bytes": run.resident_bytes,
        "kept_bytes": own.kept_bytes,
        "peak_bytes": run.peak_bytes,
    }
