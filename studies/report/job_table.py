"""Table of all jobs as columns, which the page sorts, filters and shows in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run

COLUMNS = (
    "key",
    "panel",
    "problem",
    "instance",
    "instance_sha256",
    "memory_text",
    "memory_bytes",
    "bandwidth_bytes_per_s",
    "method",
    "seed",
    "status",
    "time_ns",
    "peak_bytes",
    "best_bound_ns",
    "bound_class",
    "gap_to_best",
    "certified_ns",
    "certified_for",
    "certificate",
    "seconds",
    "note",
    "versions",
)


def job_columns(panels: Sequence[Panel], certificates: Mapping[str, str]) -> dict[str, Any]:
    """Return a list for each of `COLUMNS`; texts that repeat are kept once.

    Parameters
    ----------
    panels
        The jobs.
    certificates
        Where the certificate of a job is, by its key.

    Returns
    -------
    dict
        ``columns`` by name. A column of texts is ``{"words": [...], "at": [...]}``.
    """
    rows = [_row(panel, run, certificates.get(run.key)) for panel in panels for run in panel.runs]
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = [row[name] for row in rows]
        if all(isinstance(value, str) or value is None for value in values) and name != "key":
            words = {word: place for place, word in enumerate(dict.fromkeys(values))}
            columns[name] = {"words": list(words), "at": [words[value] for value in values]}
        else:
            columns[name] = values
    return columns


def _row(panel: Panel, run: Run, certificate: str | None) -> Mapping[str, Any]:
    job = run.job
    # What a record says without the file that proves it is not said here.
    certified = run.certified if certificate is not None else None
    return {
        "key": run.key,
        "panel": panel.name,
        "problem": job.problem,
        "instance": job.instance,
        "instance_sha256": job.instance_sha256,
        "memory_text": panel.memory_text(job.memory_bytes),
        "memory_bytes": job.memory_bytes,
        "bandwidth_bytes_per_s": job.bandwidth_bytes_per_s,
        "method": panel.labels[run.key],
        "seed": job.seed,
        "status": "failed" if run.failed is not None else run.status,
        "time_ns": run.time_ns,
        "peak_bytes": run.peak_bytes,
        "best_bound_ns": run.best_bound_ns,
        # Without a schedule the bound that counts is that for all schedules.
        "bound_class": run.schedule_class or "all schedules",
        "gap_to_best": run.gap_to_best,
        "certified_ns": None if certified is None else certified.time_ns,
        "certified_for": None if certified is None else certified.valid_for,
        "certificate": certificate,
        "seconds": run.seconds,
        "note": run.failed if run.failed is not None else run.note,
        "versions": ", ".join(f"{name} {found}" for name, found in job.versions.items()),
    }
