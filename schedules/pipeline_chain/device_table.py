"""Table of the devices of a pipeline: their stages, times and memory."""

from __future__ import annotations

import pandas as pd

from jettison.instances.core.units import format_bytes, format_ns
from jettison.schedules.pipeline_chain.step_replay import DeviceRun, PipelineReplay
from jettison.schedules.remat_chain.schedule import ChainOperationKind

_SAVING = f"{ChainOperationKind.FORWARD_ALL} "


def table_of_devices(replay: PipelineReplay) -> pd.DataFrame:
    """Return a row for each device.

    The columns: its stages, those of each part; for a micro-batch its times, what of them is
    computed again, and how many stages are saved between the phases; how many micro-batches are in
    flight, each of one part; for the whole step how long it computes nothing; what it holds all the
    time, what a micro-batch keeps between its phases on all its parts, and its peak.
    """
    return pd.DataFrame([_row(run, replay.time_ns) for run in replay.devices])


def printed_devices(replay: PipelineReplay) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows for people: each device with its stages, times and memory.

    Headers of numbers begin with a blank, as `print_table` takes them.
    """
    columns = [" device", "stages", " in flight", " forward", " backward", " again", " idle"]
    columns += [" resident", " peak"]
    rows = []
    for found in table_of_devices(replay).to_dict("records"):
        times = (found[f"{name}_ns"] for name in ("forward", "backward", "recompute"))
        sizes = (found[f"{name}_bytes"] for name in ("resident", "peak"))
        share = found["idle_ns"] / replay.time_ns if replay.time_ns else 0.0
        rows.append(
            [
                str(found["device"]),
                str(found["stages"]),
                str(found["in_flight"]),
                *(format_ns(time) for time in times),
                f"{100 * share:.0f} %",
                *(format_bytes(size) for size in sizes),
            ]
        )
    return columns, rows


def _row(run: DeviceRun, step_ns: int) -> dict[str, int | str]:
    own = [part.microbatch for part in run.parts]
    computing = sum(phase.end_ns - phase.start_ns for phase in run.phases)
    sends = (part.times.send_forward_ns + part.times.send_backward_ns for part in run.parts)
    saved = (step.operation.startswith(_SAVING) for item in own for step in item.forward)
    return {
        "device": run.number,
        "stages": run.stages,
        "forward_ns": sum(item.forward_ns for item in own),
        "backward_ns": sum(item.backward_ns for item in own),
        "recompute_ns": sum(item.recompute_ns for item in own),
        "send_ns": sum(sends),
        "idle_ns": step_ns - computing,
        "saved_stages": sum(saved),
        "in_flight": run.in_flight,
        "resident_bytes": run.resident_bytes,
        "kept_bytes": sum(item.kept_bytes for item in own),
        "peak_bytes": run.peak_bytes,
    }
