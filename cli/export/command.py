"""`jettison export`: the mathematical program of a problem, for any solver."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import (
    AlphaOption,
    BandwidthOption,
    CardOption,
    InstanceName,
    JsonOption,
    MemoryOption,
    ProblemName,
    ResidentOption,
    checked_output,
)
from jettison.cli.output import print_json
from jettison.cli.posed_problem import make_problem
from jettison.instances.core.errors import InputError
from jettison.solvers.core.model_files import ModelChoice
from jettison.solvers.core.registry import PROBLEM_KINDS, find_kind
from jettison.solvers.core.resources import Resources


def export(
    problem: ProblemName,
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
            metavar="C", help="For retention-intervals: most computations of a node; by default 2."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the integer program of a problem as MPS, LP or NL.

    remat-graph is written as Checkmate's ILP or another formulation; a chain is turned into its
    graph first. checkmate and residency are exact for staged schedules; checkmate-unpartitioned
    allows other orders as well; restricted and retention-intervals forbid some staged schedules;
    frontier, cut-closure, windowed-frontier and single-cut are relaxations.
    weight-offload is written as the MILP that bounds its time, in its corrected form, or as the
    exact MILP over events: for the least period up to that of l2l, or without-idle as the question
    whether a step without waiting exists; strengthened with valid inequalities.
    remat-sharding is written as KIWI's reduced problem, with strategies and recomputations as its
    only integers or in the paper's rows, as kiwi-elementwise, with all of its rows of memory, or as
    KIWI's full problem, for a dozen operators or two.
    kiwi-reduced-quadratic and kiwi-full-quadratic are both problems as the paper writes them, with
    products of columns, for SCIP, Gurobi and others; .nl comes with the names of rows and columns
    in .row and .col beside it.

    Example: jettison export remat-graph resnet18-graph-b8-64-cpu --memory 60% -o
    model.mps.gz
    """
    kind = find_kind(problem)
    if kind.model_files is None:
        written = [kind.name for kind in PROBLEM_KINDS if kind.model_files is not None]
        raise InputError(
            f"{problem!r} is not written as a model file",
            field="problem",
            expected=f"write {' or '.join(written)}; for remat-graph a chain becomes its graph",
        )
    files = kind.model_files()
    if formulation is not None and formulation not in files.formulations:
        raise InputError(
            f"{formulation!r} is no formulation of {problem}",
            field="formulation",
            expected=f"choose one of {', '.join(files.formulations)}",
        )
    choice = ModelChoice(
        formulation=formulation or files.formulations[0],
        form=form,
        cuts=tuple(cut) if cut else None,
        intervals=intervals,
    )
    for option, field in (("form", "form"), ("cut", "cuts"), ("intervals", "intervals")):
        if getattr(choice, field) is not None and field not in files.options:
            raise InputError(
                f"no formulation of {problem} asks for it",
                field=option,
                expected="leave it out",
            )
    checked_output(output)
    posed = make_problem(
        problem,
        instance,
        Resources(memory, alpha, bandwidth, card=card, resident=resident),
    )

    from jettison.formulations.milp.export import write_model
    from jettison.formulations.milp.quadratic_model import QuadraticModel

    model = files.build(posed, choice)
    write_model(model, output)
    products = model.num_products if isinstance(model, QuadraticModel) else 0
    quadratic = f", {products} products" if products else ""
    sys.stderr.write(
        f"wrote {output}: {model.num_rows} rows, {model.num_columns} columns, "
        f"{model.num_nonzeros} non-zeros{quadratic}\n"
    )
    if json:
        print_json(
            {
                "file": str(output),
                "problem": problem,
                "instance": posed.instance.name,
                "instance_sha256": posed.instance.sha256,
                "memory_bytes": posed.memory_bytes,
                "formulation": choice.formulation,
                "rows": model.num_rows,
                "columns": model.num_columns,
                "nonzeros": model.num_nonzeros,
                "products": products,
            }
        )
