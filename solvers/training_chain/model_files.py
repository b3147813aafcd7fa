"""The formulation of training-chain that is written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.model_files import ModelChoice, ModelFiles

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel


def build_model(problem: TrainingChain, choice: ModelChoice) -> ArrayModel:
    """Build the cycle bound, the only formulation; it loads when it is needed."""
    from jettison.formulations.training_chain.cycle_bound import build_cycle_bound

    assert choice.formulation == "cycle-bound"
    return build_cycle_bound(problem).model


MODEL_FILES = ModelFiles(formulations=("cycle-bound",), build=build_model)
