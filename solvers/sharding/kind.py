"""Registration of sharding: its problem, methods, replay and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.schedules.core.replay import Replay
from jettison.schedules.sharding.kind import STRATEGY_CHOICE
from jettison.schedules.sharding.strategy_choice import ChoiceReplay, StrategyChoice
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind, Reference
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


def _pose(graph: StrategyGraph, resources: Resources) -> Sharding:
    """Make the problem; where no memory is given, the limit is that of the instance."""
    return Sharding(graph, resources.memory_text if resources.says_memory else None)


def _replay(problem: Sharding, schedule: StrategyChoice) -> Replay:
    return schedule.replay(problem.instance, problem.memory_bytes)


def _methods() -> Sequence[Method[Sharding]]:
    from jettison.solvers.sharding.methods import METHODS

    return METHODS


def _certify(
    problem: Sharding,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    from jettison.solvers.sharding.certifier import certify_sharding

    return certify_sharding(problem, bounds, infeasibility, options)


def _model_files() -> ModelFiles[Sharding]:
    from jettison.solvers.sharding.model_files import MODEL_FILES

    return MODEL_FILES


def _picture(replay: ChoiceReplay, title: str) -> Figure:
    from jettison.schedules.sharding.choice_plot import plot_choice

    return plot_choice(replay, title=title)


SHARDING = ProblemKind(
    name=Sharding.problem,
    summary="one sharding strategy for each operator, at the least cost within a memory.",
    problem=Sharding,
    instances=(StrategyGraph,),
    schedules=(STRATEGY_CHOICE,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
    needs=frozenset(),
    reference=lambda problem: Reference(problem.base_time_ns, "interaction"),
    certify=_certify,
    picture=_picture,
    model_files=_model_files,
)
