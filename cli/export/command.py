"""`jettison export`: the mathematical program of a problem, for any solver."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import (
    AlphaOption,
    BandwidthOption,
    CardOption,
    ExportedProblemName,
    InstanceName,
    JsonOption,
    MemoryOption,
    ResidentOption,
    checked_output,
)
from jettison.cli.output import print_json
from jettison.cli.posed_problem import make_problem
from jettison.solvers.core.resources import Resources
from jettison.solvers.milp.export import export_choice, model_choice


def export(
    problem: ExportedProblemName,
    instance: InstanceName,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Model file: .mps or .lp, or with .gz; .nl too for a quadratic model.",
        ),
    ],
    memory: MemoryOption = None,
    alpha: AlphaOption = None,
    card: CardOption = None,
    resident: ResidentOption = None,
    bandwidth: BandwidthOption = None,
    formulation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model to write (`jettison list formulations`); by default the first.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="For checkmate and checkmate-unpartitioned: how the rows of FREE are written, "
            "disaggregated or aggregated.",
        ),
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE",
            help="For cut-closure, single-cut and windowed-frontier: a node after whose first "
            "computation memory is counted; may be given several times.",
        ),
    ] = None,
    intervals: Annotated[
        int | None,
        typer.Option(
            metavar="C",
            help="For retention-intervals: how often a node is computed at most; 2 by default.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the integer program of a problem as MPS, LP or NL.

    remat-graph is written as Checkmate's ILP or another formulation; a chain is turned into its
    graph first. checkmate and residency are exact for staged schedules; checkmate-unpartitioned
    allows other orders as well; restricted and retention-intervals forbid some staged schedules;
    frontier, cut-closure, windowed-frontier and single-cut are relaxations.

    weight-offload is written as the paper's MILP, corrected, which bounds the time of a step, or as
    the exact MILP over events, which minimizes its period; the forms without-idle ask whether a
    step without waiting exists, the strengthened ones have valid inequalities.

    training-chain and remat-offload-graph are written as the models of their bounds (cycle-bound,
    first-starts), remat-offload-graph also as POET's integer program.

    sharding is written as Alpa's integer program.

    remat-sharding is written as KIWI's reduced problem, in which only strategies and
    recomputations are integers (kiwi-reduced) or with the rows of the paper
    (kiwi-reduced-printed); with every row of memory (kiwi-elementwise); or as KIWI's full problem,
    for 12 to 24 operators. The quadratic forms have products of columns, as in the paper, for SCIP,
    Gurobi and others; a .nl file comes with the names of rows and columns in .row and .col.

    Example: jettison export remat-graph resnet18-graph-b8-64-cpu --memory 60% -o
    model.mps.gz
    """
    choice = model_choice(problem, formulation, form=form, cuts=cut, intervals=intervals)
    checked_output(output)
    posed = make_problem(
        problem,
        instance,
        Resources(memory, alpha, bandwidth, card=card, resident=resident),
    )
    written = export_choice(posed, output, choice)
    quadratic = f", {written.products} products" if written.products else ""
    sys.stderr.write(
        f"wrote {output}: {written.rows} rows, {written.columns} columns, "
        f"{written.nonzeros} non-zeros{quadratic}\n"
    )
    if json:
        print_json(
            {
                "problem": problem,
                "instance": posed.instance.name,
                "instance_sha256": posed.instance.sha256,
                "memory_bytes": posed.memory_bytes,
                **asdict(written),
                "file": str(output),
            }
        )
