"""Timelines of the page: the schedules that it shows, replayed from their files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jettison.instances.catalog import Instance
from jettison.instances.core.errors import InputError
from jettison.schedules.core.schedule_file import load_schedule
from jettison.solvers.core.result import replay_schedule
from jettison.studies.report import words
from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run
from jettison.studies.report.timeline import Timeline
from jettison.studies.result_folder import ResultFolder

# Of a page; with plotly itself it stays below 15 MB.
MOST_BYTES = 6_000_000


@dataclass(frozen=True)
class ShownTimelines:
    """Timelines of a page.

    Attributes
    ----------
    documents
        By the key of the job: title, facts and columns.
    left_out
        Sentences that say what is not shown, and why.
    """

    documents: dict[str, dict[str, Any]]
    left_out: tuple[str, ...]


def show_timelines(
    panels: Sequence[Panel], folder: ResultFolder, most: int | None
) -> ShownTimelines:
    """Replay schedules until the page has as many as it may.

    Parameters
    ----------
    panels
        The jobs.
    folder
        Where their schedules are.
    most
        How many to show, the best of each cell first; None for these only.
    """
    best = [run for panel in panels for run in _best_of_cells(panel)]
    chosen = {run.key for run in best}
    rest = [
        run
        for panel in panels
        for run in panel.runs
        if run.time_ns is not None and run.key not in chosen
    ]
    wanted = best if most is None else [*best, *rest][:most]
    documents: dict[str, dict[str, Any]] = {}
    # What its record promises is missed whether or not the page would show it.
    missing = [run for run in (*best, *rest) if not folder.schedule_path(run.key).is_file()]
    reasons = [
        f"{run.job.label}: its schedule, {folder.schedule_path(run.key)}, is missing; start the "
        "sweep again, which makes it again"
        for run in missing
    ]
    lost = {run.key for run in missing}
    loaded: dict[str, Instance] = {}
    size, crowded = 0, 0
    for run in wanted:
        if run.key in lost:
            continue
        if size > MOST_BYTES:
            crowded += 1
            continue
        try:
            document = _replayed(run, folder, loaded)
        except InputError as error:
            reasons.append(f"{run.job.label}: {error}")
            continue
        documents[run.key] = document
        size += len(json.dumps(document, separators=(",", ":")))
    if crowded:
        reasons.append(f"{words.plural(crowded, 'schedule')}: the page would be larger than 15 MB")
    unasked = len(best) + len(rest) - len(wanted)
    if unasked:
        kept = "only the best of each cell is shown" if most is None else f"--timelines {most}"
        reasons.append(f"{words.plural(unasked, 'schedule')}: {kept}")
    return ShownTimelines(documents, tuple(reasons))


def _best_of_cells(panel: Panel) -> Iterator[Run]:
    """Yield the fastest job of each cell; on ties, that with the lower peak."""
    for runs in panel.cells.values():
        solved = [run for run in runs if run.time_ns is not None]
        if solved:
            yield min(solved, key=lambda run: (run.time_ns, run.peak_bytes))


def _replayed(run: Run, folder: ResultFolder, loaded: dict[str, Instance]) -> dict[str, Any]:
    """Replay the schedule of a job, and compare the result with its record."""
    sha256 = run.job.instance_sha256
    if sha256 not in loaded:
        loaded[sha256] = folder.instance(sha256)
    posed = run.job.posed(loaded[sha256])
    path = folder.schedule_path(run.key)
    replay = replay_schedule(posed, load_schedule(path, posed.instance))
    if not replay.valid:
        raise InputError(
            f"the schedule breaks a rule: {replay.violations[0]}",
            source=str(path),
            expected="run the job again",
        )
    if (replay.time_ns, replay.peak_bytes) != (run.time_ns, run.peak_bytes):
        raise InputError(
            f"the replay takes {replay.time_ns} ns and {replay.peak_bytes} bytes, "
            f"the record says {run.time_ns} ns and {run.peak_bytes} bytes",
            source=str(path),
            expected="run the job again",
        )
    return Timeline.of(replay, loaded[sha256]).to_json()
