"""`jettison export`: the mathematical program of a problem, for any solver."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import (
    AlphaOption,
    InstanceName,
    MemoryOption,
    ProblemName,
    checked_output,
)
from jettison.cli.posed_problem import Resources, make_problem
from jettison.instances.errors import InputError
from jettison.instances.remat_graph import RematGraph


class CheckmateForm(StrEnum):
    """The two ways to write Checkmate's FREE rows."""

    DISAGGREGATED = "disaggregated"
    AGGREGATED = "aggregated"


def export(
    problem: ProblemName,
    instance: InstanceName,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="Model file: .mps, .mps.gz or .lp."),
    ],
    memory: MemoryOption = None,
    alpha: AlphaOption = None,
    form: Annotated[
        CheckmateForm, typer.Option(help="How the rows of FREE are written.")
    ] = CheckmateForm.DISAGGREGATED,
) -> None:
    """Write the integer program of a problem as MPS or LP.

    remat-graph is written as Checkmate's ILP; a chain is turned into its graph first.
    """
    if problem != RematGraph.problem:
        raise InputError(
            f"{problem!r} is not written as a model file",
            field="PROBLEM",
            expected="write remat-graph; a chain is turned into its graph",
        )
    checked_output(output)
    posed = make_problem(problem, instance, Resources(memory, alpha))
    assert isinstance(posed, RematGraph)

    from jettison.formulations.checkmate import Aggregated, Checkmate, Disaggregated
    from jettison.formulations.export import write_model
    from jettison.formulations.from_pulp import from_pulp

    chosen = Aggregated() if form is CheckmateForm.AGGREGATED else Disaggregated()
    model = from_pulp(Checkmate(form=chosen).build(posed).problem).model
    write_model(model, output)
    sys.stderr.write(
        f"wrote {output}: {model.num_rows} rows, {model.num_columns} columns, "
        f"{model.num_nonzeros} non-zeros\n"
    )
