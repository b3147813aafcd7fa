"""The formulations of remat-graph that are written to files."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.model_files import ModelChoice, ModelFiles

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel
    from jettison.formulations.remat_graph.checkmate_writer import Aggregated, Disaggregated


class GraphFormulation(StrEnum):
    """The formulations, by the names of their modules, and of the presets of windows."""

    CHECKMATE = "checkmate"
    CHECKMATE_UNPARTITIONED = "checkmate-unpartitioned"
    RESIDENCY = "residency"
    RESTRICTED = "restricted"
    FRONTIER = "frontier"
    CUT_CLOSURE = "cut-closure"
    SINGLE_CUT = "single-cut"
    WINDOWED_FRONTIER = "windowed-frontier"
    RETENTION_INTERVALS = "retention-intervals"


class CheckmateForm(StrEnum):
    """The two ways to write Checkmate's FREE rows."""

    DISAGGREGATED = "disaggregated"
    AGGREGATED = "aggregated"


# Most computations of a node, where nothing is said.
_INTERVALS = 2
_WITH_CUTS = (
    GraphFormulation.CUT_CLOSURE,
    GraphFormulation.SINGLE_CUT,
    GraphFormulation.WINDOWED_FRONTIER,
)


def build_model(problem: RematGraph, choice: ModelChoice) -> ArrayModel:
    """Build the model of a choice; formulations load when they are needed.

    Without cuts, those with cuts have their default ones.

    Raises
    ------
    InputError
        If there are cuts and the formulation has none, a cut is no node of the graph, a single cut
        is several, or there is no such form.
    """
    formulation = GraphFormulation(choice.formulation)
    if choice.cuts and formulation not in _WITH_CUTS:
        raise InputError(
            f"{formulation} has no cuts",
            field="cut",
            expected=f"leave it out, or choose {', '.join(_WITH_CUTS)}",
        )
    intervals = _INTERVALS if choice.intervals is None else choice.intervals
    form = _form(choice.form or CheckmateForm.DISAGGREGATED)
    from jettison.formulations.remat_graph.windows import presets

    cuts = tuple(sorted({_position(problem.instance, name) for name in choice.cuts or ()}))
    match formulation:
        case GraphFormulation.CHECKMATE:
            from jettison.formulations.milp.from_pulp import from_pulp
            from jettison.formulations.remat_graph.checkmate import Checkmate

            return from_pulp(Checkmate(form=_rows(form)).build(problem).problem).model
        case GraphFormulation.CHECKMATE_UNPARTITIONED:
            from jettison.formulations.milp.from_pulp import from_pulp
            from jettison.formulations.remat_graph.checkmate_unpartitioned import (
                UnpartitionedCheckmate,
            )

            unpartitioned = UnpartitionedCheckmate(form=_rows(form))
            return from_pulp(unpartitioned.build(problem).problem).model
        case GraphFormulation.RESIDENCY:
            return presets.Residency().build(problem).model
        case GraphFormulation.RESTRICTED:
            return presets.Restricted().build(problem).model
        case GraphFormulation.FRONTIER:
            return presets.Frontier().build(problem).model
        case GraphFormulation.CUT_CLOSURE:
            from jettison.formulations.remat_graph.windows.frontier import ChosenCuts, EveryCut

            closed = ChosenCuts(cuts) if cuts else EveryCut()
            return presets.CutClosure(closed).build(problem).model
        case GraphFormulation.SINGLE_CUT:
            (cut,) = _one(cuts or _fullest(problem))
            return presets.SingleCut(cut).build(problem).model
        case GraphFormulation.WINDOWED_FRONTIER:
            from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier

            return WindowedFrontier(cuts or _fullest(problem)).build(problem).model
        case GraphFormulation.RETENTION_INTERVALS:
            if problem.instance.results_after:
                raise InputError(
                    f"{formulation} has no operators with several results",
                    field="formulation",
                    expected=f"choose {GraphFormulation.CHECKMATE} or windows",
                )
            from jettison.formulations.remat_graph.retention_intervals import RetentionIntervals

            return RetentionIntervals(intervals).build(problem).model
        case other:
            assert_never(other)


def _form(name: str) -> CheckmateForm:
    if name not in list(CheckmateForm):
        raise InputError(
            f"{name!r}", field="form", expected=f"choose one of {', '.join(CheckmateForm)}"
        )
    return CheckmateForm(name)


def _rows(form: CheckmateForm) -> Aggregated | Disaggregated:
    from jettison.formulations.remat_graph.checkmate_writer import Aggregated, Disaggregated

    return Aggregated() if form is CheckmateForm.AGGREGATED else Disaggregated()


def _position(graph: Graph, name: str) -> int:
    if name not in graph.position_of:
        raise InputError(
            f"{name!r} is not a node of {graph.name}",
            field="cut",
            expected="name a node of the graph",
        )
    return graph.position_of[name]


def _one(cuts: Sequence[int]) -> Sequence[int]:
    if len(cuts) != 1:
        raise InputError(
            f"there are {len(cuts)}", field="cut", expected="give one, or choose windowed-frontier"
        )
    return cuts


def _fullest(problem: RematGraph) -> tuple[int]:
    """Return the node that needs most memory in the step without recomputation."""
    from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess

    graph = problem.instance
    return (StageExcess(graph, 0, range(len(graph))).worst_stages()[0],)


MODEL_FILES = ModelFiles(
    formulations=tuple(GraphFormulation),
    build=build_model,
    options=frozenset({"form", "cuts", "intervals"}),
)
