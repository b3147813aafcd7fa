"""The formulation of sharding that is written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.model_files import ModelChoice, ModelFiles

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel

_ALPA = "alpa"


def build_model(problem: Sharding, choice: ModelChoice) -> ArrayModel:
    """Build Alpa's integer program, as it is given: nothing is presolved, and costs are whole.

    Time linear in the number of pairs of strategies.
    """
    from jettison.formulations.milp.from_pulp import from_pulp
    from jettison.formulations.sharding.alpa_ilp import alpa_ilp

    assert choice.formulation == _ALPA
    return from_pulp(alpa_ilp(problem)).model


MODEL_FILES = ModelFiles(formulations=(_ALPA,), build=build_model)
