"""Page of the report: sections filled into the template, with plotly, written as a whole.

A policy in the head of the page forbids every request to a network, so that a browser would refuse
one even if a library tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jettison.instances.core.atomic_file import check_replaceable, replacing
from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.studies.report import overview
from jettison.studies.report.certificates import certificate_links
from jettison.studies.report.job_table import job_columns
from jettison.studies.report.markup import Markup, element, escaped
from jettison.studies.report.origins import describe_origins, lies_within
from jettison.studies.report.panel import panels_of
from jettison.studies.report.run import Run
from jettison.studies.report.sections import problem_sections
from jettison.studies.report.timelines import show_timelines
from jettison.studies.result_folder import ResultFolder

_SCRIPTS = ("theme.js", "figures.js", "timelines.js", "tables.js")
_SLOT = re.compile(r"<!-- (\w+) -->|/\* (\w+) \*/")


def plotly_script() -> str:
    """Return plotly's script, as its Python package brings it.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("plotly", "report", "a report") from None
    return str(get_plotlyjs())


def write_report(
    runs: list[Run],
    folder: ResultFolder,
    path: Path,
    *,
    title: str,
    most_timelines: int | None = None,
    damaged: Sequence[InputError] = (),
) -> tuple[str, ...]:
    """Write the page.

    Parameters
    ----------
    runs
        All jobs; there is at least one.
    folder
        Where their schedules and instances are.
    path
        The page; it appears complete or not at all.
    title
        What the study is called.
    most_timelines
        How many schedules to show; None for the best of each cell.
    damaged
        What is wrong with records that are not among `runs`.

    Returns
    -------
    tuple of str
        What was left out, and why.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.
    InputError
        If the page cannot be written.
    """
    check_replaceable(path)
    plotly = plotly_script()
    panels = panels_of(runs)
    timelines = show_timelines(panels, folder, most_timelines)
    sections = problem_sections(panels, timelines.documents)
    origins = describe_origins(panels, folder, path)
    certificates = certificate_links(runs, folder, path)
    data = {
        "figures": sections.figures,
        "timelines": timelines.documents,
        "jobs": job_columns(panels, certificates.targets),
        "files": origins.files,
        "beside": lies_within(path, folder.path),
    }
    left_out = (
        *map(str, damaged),
        *origins.left_out,
        *certificates.left_out,
        *timelines.left_out,
        *sections.left_out,
    )
    failures = overview.failures(runs)
    page = _filled(
        _template("page.html"),
        {
            "title": escaped(title),
            "style": Markup(_template("style.css")),
            "tiles": overview.tiles(runs),
            "facts": overview.facts(runs, panels),
            "contents": sections.contents,
            "failures": failures,
            "failures_link": Markup(
                '<li><a href="#failures">Failures</a></li>' if failures else ""
            ),
            "sections": sections.markup,
            "origins": origins.section,
            "left_out": Markup(
                "".join(element("li", sentence) for sentence in left_out or ("nothing",))
            ),
            "data": Markup(_script_json(data)),
            "plotly": Markup(plotly),
            "scripts": Markup("\n".join(map(_template, _SCRIPTS))),
        },
    )
    with replacing(path) as stream:
        stream.write(page.encode("utf-8"))
    return left_out


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("template", name).read_text(encoding="utf-8")


def _filled(template: str, pieces: dict[str, Markup]) -> str:
    """Fill the placeholders in one pass, so that no text of a piece counts as a placeholder."""
    return _SLOT.sub(lambda found: pieces[found[1] or found[2]], template)


def _script_json(document: dict[str, Any]) -> str:
    """Write JSON for a script element, with no text in it that would end the element."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
