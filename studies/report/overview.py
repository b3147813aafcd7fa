"""Head of the page: the study in numbers, its dates and versions, and its failures."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from jettison.studies.report import words
from jettison.studies.report.markup import Markup, element, joined
from jettison.studies.report.panel import Panel
from jettison.studies.report.run import Run

_MOST_NAMED = 20


def tiles(runs: Sequence[Run]) -> Markup:
    """Return the most important numbers of the study as tiles."""
    gaps = [run.gap_to_best for run in runs if run.gap_to_best is not None]
    failed = sum(run.failed is not None for run in runs)
    cpu_s = sum(run.cpu_s for run in runs if run.cpu_s is not None)
    optimal = sum(gap == 0 for gap in gaps)
    proofs = Counter(run.infeasible_for for run in runs if run.infeasible_for is not None)
    not_applicable = sum(run.status == "not-applicable" for run in runs)
    median = words.percent(statistics.median(gaps)) if gaps else words.NOTHING
    shown = [
        (words.grouped(len(runs)), "job" if len(runs) == 1 else "jobs", ""),
        (words.grouped(len(gaps)), "schedules" if len(gaps) != 1 else "schedule", ""),
        (words.grouped(optimal), "meet their bound", "good" if optimal else ""),
        (median, "median gap", ""),
        *(
            (words.grouped(proofs[valid_for]), f"{_proofs(proofs[valid_for])}, {valid_for}", "")
            for valid_for in sorted(proofs)
        ),
        *(
            [(words.grouped(not_applicable), "where the method does not apply", "")]
            if not_applicable
            else []
        ),
        (words.grouped(failed), "failed", "bad" if failed else ""),
        (_duration(cpu_s), "of processor time", ""),
    ]
    return element(
        "ul",
        *(
            element("li", element("b", value), element("span", name), class_=kind or None)
            for value, name, kind in shown
        ),
        class_="tiles",
    )


def _proofs(count: int) -> str:
    return "proof that nothing fits" if count == 1 else "proofs that nothing fits"


def facts(runs: Sequence[Run], panels: Sequence[Panel]) -> Markup:
    """Return dates and versions, and the size of the study."""
    started = [run.started for run in runs if run.started is not None]
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        for package, version in run.job.versions.items():
            versions[package].add(version)
    instances = len({panel.instance_sha256 for panel in panels})
    problems = len({panel.problem for panel in panels})
    rows = [
        (
            "study",
            f"{words.plural(instances, 'instance')}, {words.plural(problems, 'problem')}, "
            f"{words.plural(len({run.job.method for run in runs}), 'method')}, "
            f"{words.plural(sum(len(panel.cells) for panel in panels), 'cell')}",
        ),
        ("run", _dates(started)),
        (
            "versions",
            ", ".join(f"{name} {' and '.join(sorted(found))}" for name, found in versions.items()),
        ),
    ]
    return element(
        "dl",
        *(joined([element("dt", name), element("dd", value)]) for name, value in rows if value),
        class_="facts",
    )


def failures(runs: Sequence[Run]) -> Markup:
    """Return the reasons why jobs failed, each with its jobs; nothing if none did."""
    reasons: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.failed is not None:
            first, *_ = run.failed.splitlines() or ["no reason was recorded"]
            reasons[first].append(run)
    if not reasons:
        return Markup("")
    entries = []
    for reason, failed in sorted(reasons.items(), key=lambda item: -len(item[1])):
        named = [
            element("li", run.job.label, title=run.failed, class_="job")
            for run in failed[:_MOST_NAMED]
        ]
        if len(failed) > _MOST_NAMED:
            named.append(element("li", f"and {len(failed) - _MOST_NAMED} more"))
        entries.append(
            element(
                "details",
                element("summary", element("b", f"{len(failed)} × "), reason),
                element("ul", *named),
            )
        )
    return element(
        "section",
        element("h2", "Failures"),
        *entries,
        class_="card failures",
        id="failures",
    )


def _dates(started: Sequence[float]) -> str:
    if not started:
        return ""
    first, last = (
        f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}"
        for moment in (min(started), max(started))
    )
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return words.seconds(seconds)
    minutes = seconds / 60
    return f"{minutes:.3g} min" if minutes < 120 else f"{minutes / 60:.3g} h"
