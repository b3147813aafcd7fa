"""`jettison report`: the results of a study as one page, or as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import JsonOption
from jettison.cli.output import print_json
from jettison.instances.core.errors import InputError
from jettison.studies.report.page import write_report
from jettison.studies.report.run import load_runs
from jettison.studies.report.study_title import study_title
from jettison.studies.result_folder import ResultFolder
from jettison.studies.results_frame import write_frame


def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="The folder of a sweep, complete or not.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.html",
            help="The page; in the folder of the results it links to the instances there, "
            "elsewhere it contains them.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            metavar="FILE",
            help="Write one row for each job: .csv, .parquet or .duckdb.",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            "--title", metavar="TEXT", help="Title of the page; by default the name of the study."
        ),
    ] = None,
    timelines: Annotated[
        int | None,
        typer.Option(
            "--timelines",
            metavar="N",
            min=0,
            help="Show at most N schedules over time, the best for each memory first; by default "
            "the best ones only.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the results of a study as one page that needs no network, or as a table.

    For each instance the page shows time against memory with the regions that bounds rule out,
    gaps, solver traces, and schedules over time; and profiles over all instances. Its pictures are
    drawn by plotly (pip install 'jettison[report]').

    Example: jettison report results -o report.html
    """
    if output is None and table is None:
        raise InputError(
            "no output is named",
            field="output",
            expected="write -o report.html, or --table results.csv",
        )
    if output is not None and output.suffix.lower() != ".html":
        raise InputError(
            "the page is HTML",
            source=str(output),
            expected="end the name with .html, or write --table for a table",
        )
    folder = ResultFolder(results)
    loaded = load_runs(folder)
    if table is not None:
        write_frame(loaded.frame, table)
        for fault in loaded.left_out:
            sys.stderr.write(f"not in the table: {fault}\n")
    left_out: Sequence[str] = ()
    if output is not None:
        name = title or study_title(folder)
        left_out = write_report(
            loaded.runs,
            folder,
            output,
            title=name,
            most_timelines=timelines,
            damaged=loaded.left_out,
        )
        for sentence in left_out:
            sys.stderr.write(f"left out: {sentence}\n")
    if json:
        print_json(
            {
                "page": None if output is None else str(output),
                "table": None if table is None else str(table),
                "jobs": len(loaded.runs),
                "damaged": [str(fault) for fault in loaded.left_out],
                "left_out": [str(sentence) for sentence in left_out],
            }
        )
