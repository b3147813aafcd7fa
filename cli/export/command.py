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
from jettison.cli.export.graph_formulation import (
    CheckmateForm,
    GraphFormulation,
    GraphFormulationChoice,
)
from jettison.cli.export.sharded_formulation import ShardedFormulation
from jettison.cli.posed_problem import make_problem
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.resources import Resources

_FORMULATIONS: dict[str, type[StrEnum] | None] = {
    RematGraph.problem: GraphFormulation,
    WeightOffload.problem: None,
    RematSharding.problem: ShardedFormulation,
}


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
    formulation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Which model to write. Of remat-graph: {', '.join(GraphFormulation)}. "
            f"Of remat-sharding: {', '.join(ShardedFormulation)}. By default the first.",
        ),
    ] = None,
    form: Annotated[
        CheckmateForm, typer.Option(help="Of checkmate: how the rows of FREE are written.")
    ] = CheckmateForm.DISAGGREGATED,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE",
            help="Of cut-closure, single-cut and windowed-frontier, may stand several times: "
            "nodes after whose first computation memory is looked at.",
        ),
    ] = None,
    intervals: Annotated[
        int, typer.Option(metavar="C", help="Of retention-intervals: most computations of a node.")
    ] = 2,
) -> None:
    """Write the integer program of a problem as MPS or LP.

    remat-graph is written as Checkmate's ILP or another formulation; a chain is turned into its
    graph first. checkmate and residency are exact for staged schedules; restricted and
    retention-intervals forbid some of them; frontier, cut-closure, windowed-frontier and single-cut
    are relaxations.
    weight-offload is written as the MILP that bounds its time, as corrected.
    remat-sharding is written as KIWI's reduced problem, with strategies and recomputations as its
    only integers or in the paper's rows, or as KIWI's full problem, for a dozen operators or two.
    """
    if problem not in _FORMULATIONS:
        raise InputError(
            f"{problem!r} is not written as a model file",
            field="PROBLEM",
            expected=f"write {' or '.join(_FORMULATIONS)}; for remat-graph a chain becomes its "
            "graph",
        )
    _check_formulation(problem, formulation)
    checked_output(output)
    posed = make_problem(problem, instance, Resources(memory, alpha, bandwidth))

    from jettison.formulations.milp.export import write_model
    from jettison.formulations.milp.from_pulp import from_pulp

    if isinstance(posed, WeightOffload):
        from jettison.formulations.weight_offload.paper import WeightOffloadMilp

        model = from_pulp(WeightOffloadMilp().build(posed).problem).model
    elif isinstance(posed, RematSharding):
        model = ShardedFormulation(formulation or ShardedFormulation.KIWI_REDUCED).build(posed)
    else:
        assert isinstance(posed, RematGraph)
        chosen = GraphFormulation(formulation or GraphFormulation.CHECKMATE)
        model = GraphFormulationChoice(chosen, form, tuple(cut or ()), intervals).build(posed)
    write_model(model, output)
    sys.stderr.write(
        f"wrote {output}: {model.num_rows} rows, {model.num_columns} columns, "
        f"{model.num_nonzeros} non-zeros\n"
    )


def _check_formulation(problem: str, name: str | None) -> None:
    known = _FORMULATIONS[problem]
    if name is None or (known is not None and name in list(known)):
        return
    raise InputError(
        f"{name!r} is no formulation of {problem}",
        field="formulation",
        expected="leave it out" if known is None else f"choose one of {', '.join(known)}",
    )
