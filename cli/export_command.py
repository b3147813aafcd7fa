"""`jettison export`: the mathematical program of a problem, for any solver."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import (
    AlphaOption,
    BandwidthOption,
    InstanceName,
    MemoryOption,
    ProblemName,
    checked_output,
)
from jettison.cli.posed_problem import Resources, make_problem
from jettison.instances.errors import InputError
from jettison.instances.remat_graph import RematGraph
from jettison.instances.weight_offload import WeightOffload

_WRITTEN = (RematGraph.problem, WeightOffload.problem)


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
    bandwidth: BandwidthOption = None,
    form: Annotated[
        CheckmateForm, typer.Option(help="How the rows of FREE are written.")
    ] = CheckmateForm.DISAGGREGATED,
) -> None:
    """Write the integer program of a problem as MPS or LP.

    remat-graph is written as Checkmate's ILP; a chain is turned into its graph first.
    weight-offload is written as the MILP that bounds its time, as corrected.
    """
    if problem not in _WRITTEN:
        raise InputError(
            f"{problem!r} is not written as a model file",
            field="PROBLEM",
            expected=f"write {' or '.join(_WRITTEN)}; for remat-graph a chain becomes its graph",
        )
    checked_output(output)
    posed = make_problem(problem, instance, Resources(memory, alpha, bandwidth))

    from jettison.formulations.export import write_model
    from jettison.formulations.from_pulp import from_pulp

    if isinstance(posed, WeightOffload):
        from jettison.formulations.weight_offload_milp import WeightOffloadMilp

        written = WeightOffloadMilp().build(posed).problem
    else:
        assert isinstance(posed, RematGraph)
        from jettison.formulations.checkmate import Aggregated, Checkmate, Disaggregated

        chosen = Aggregated() if form is CheckmateForm.AGGREGATED else Disaggregated()
        written = Checkmate(form=chosen).build(posed).problem
    model = from_pulp(written).model
    write_model(model, output)
    sys.stderr.write(
        f"wrote {output}: {model.num_rows} rows, {model.num_columns} columns, "
        f"{model.num_nonzeros} non-zeros\n"
    )
