"""The formulations of remat-sharding that are written to files."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from jettison.solvers.core.model_files import ModelChoice, ModelFiles
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel
    from jettison.formulations.milp.quadratic_model import QuadraticModel
    from jettison.instances.remat_sharding.problem import RematSharding


class ShardedFormulation(StrEnum):
    """The formulations; products of columns are linearised in all but those called quadratic."""

    KIWI_REDUCED = "kiwi-reduced"
    KIWI_REDUCED_PRINTED = "kiwi-reduced-printed"
    KIWI_REDUCED_QUADRATIC = "kiwi-reduced-quadratic"
    KIWI_ELEMENTWISE = "kiwi-elementwise"
    KIWI_FULL = "kiwi-full"
    KIWI_FULL_QUADRATIC = "kiwi-full-quadratic"


def build_model(problem: RematSharding, choice: ModelChoice) -> ArrayModel | QuadraticModel:
    """Build the model of a choice; formulations load when they are needed.

    Sizes far above the memory are cut as the methods cut them, so that a solver's tolerance of the
    memory rows stays below a byte.

    Raises
    ------
    InputError
        If the graph has no reduced problem, and the formulation is of that.
    """
    problem = with_sizes_that_matter(problem)
    match ShardedFormulation(choice.formulation):
        case ShardedFormulation.KIWI_REDUCED:
            from jettison.formulations.remat_sharding.kiwi.compact import KiwiReducedCompact

            return KiwiReducedCompact().build(problem).model
        case ShardedFormulation.KIWI_REDUCED_PRINTED:
            from jettison.formulations.milp.from_pyomo import from_pyomo
            from jettison.formulations.remat_sharding.kiwi.products import Linearised
            from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced

            return from_pyomo(KiwiReduced(Linearised()).build(problem).concrete).model
        case ShardedFormulation.KIWI_REDUCED_QUADRATIC:
            from jettison.formulations.milp.quadratic_model import QuadraticModel
            from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced

            return QuadraticModel(KiwiReduced().build(problem).concrete)
        case ShardedFormulation.KIWI_ELEMENTWISE:
            from jettison.formulations.remat_sharding.kiwi.counted_moments import every_moment
            from jettison.formulations.remat_sharding.kiwi.elementwise import KiwiElementwise

            looked_at = every_moment(problem.instance)
            return KiwiElementwise(looked_at).build(problem).model
        case ShardedFormulation.KIWI_FULL:
            from jettison.formulations.milp.from_pyomo import from_pyomo
            from jettison.formulations.remat_sharding.kiwi.full import KiwiFull
            from jettison.formulations.remat_sharding.kiwi.products import Linearised

            return from_pyomo(KiwiFull(Linearised()).build(problem).concrete).model
        case ShardedFormulation.KIWI_FULL_QUADRATIC:
            from jettison.formulations.milp.quadratic_model import QuadraticModel
            from jettison.formulations.remat_sharding.kiwi.full import KiwiFull

            return QuadraticModel(KiwiFull().build(problem).concrete)
        case other:
            assert_never(other)


MODEL_FILES = ModelFiles(formulations=tuple(ShardedFormulation), build=build_model)
