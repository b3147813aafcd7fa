"""The formulations of weight-offload that are written to files."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.model_files import ModelChoice, ModelFiles

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel


class OffloadFormulation(StrEnum):
    """The formulations: the paper's bound and the exact model over events, in their variants."""

    PAPER_MILP = "paper-milp"
    PAPER_MILP_STRENGTHENED = "paper-milp-strengthened"
    EVENTS = "events"
    EVENTS_STRENGTHENED = "events-strengthened"
    EVENTS_WITHOUT_IDLE = "events-without-idle"
    EVENTS_WITHOUT_IDLE_STRENGTHENED = "events-without-idle-strengthened"


def build_model(problem: WeightOffload, choice: ModelChoice) -> ArrayModel:
    """Build the model of a choice; formulations load when they are needed.

    The least period is sought up to that of L2L.
    """
    from jettison.formulations.milp.from_pulp import from_pulp
    from jettison.formulations.weight_offload.paper import Cut, WeightOffloadMilp
    from jettison.formulations.weight_offload.timed_events.least_period import (
        EventMilp,
        LeastPeriod,
        ValidRow,
        WithoutIdle,
    )
    from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer

    formulation = OffloadFormulation(choice.formulation)
    strengthened = frozenset[ValidRow]()
    match formulation:
        case OffloadFormulation.PAPER_MILP:
            return from_pulp(WeightOffloadMilp().build(problem).problem).model
        case OffloadFormulation.PAPER_MILP_STRENGTHENED:
            milp = WeightOffloadMilp(cuts=frozenset(Cut))
            return from_pulp(milp.build(problem).problem).model
        case OffloadFormulation.EVENTS | OffloadFormulation.EVENTS_WITHOUT_IDLE:
            pass
        case (
            OffloadFormulation.EVENTS_STRENGTHENED
            | OffloadFormulation.EVENTS_WITHOUT_IDLE_STRENGTHENED
        ):
            strengthened = frozenset(ValidRow)
        case other:
            assert_never(other)
    question: LeastPeriod | WithoutIdle = WithoutIdle()
    if formulation in {OffloadFormulation.EVENTS, OffloadFormulation.EVENTS_STRENGTHENED}:
        question = LeastPeriod(layer_to_layer(problem).period_ns)
    return from_pulp(EventMilp(question, strengthened=strengthened).build(problem).problem).model


MODEL_FILES = ModelFiles(formulations=tuple(OffloadFormulation), build=build_model)
