r"""Lower bound on the time of one unit: from its operators, the relaxation, then the model.

The model is in `jettison.formulations.multi_model.bound.model`. Its relaxation is evaluated in
exact arithmetic (`exact_dual_bound`): that bound is proved whatever the solver did. Small models
are then solved with their binaries; the solver's bound is lowered by its tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from jettison.formulations.multi_model.bound.model import MultiModelUnitBound, UnitBoundModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.multi_model.least_division import Sizes

# A dual bound of HiGHS is lowered by this much, absolute and relative: ten times its tolerances.
_ABSOLUTE_MARGIN = 1e-5
_RELATIVE_MARGIN = 1e-6


@dataclass(frozen=True, kw_only=True)
class UnitBoundParams(Params):
    """Parameters of the bound of a unit: the size of its models.

    Attributes
    ----------
    most_binaries
        Most binaries of a model that is solved with them: of larger ones the relaxation proves
        nearly as much.
    """

    most_binaries: int = 600


UNIT_BOUND = UnitBoundParams()


@dataclass
class UnitBound:
    """Lower bounds on the time of one unit.

    Attributes
    ----------
    sizes
        The models in each sub-array.
    exact_ns
        Proved in exact arithmetic.
    solver_ns
        The same or more, resting on the solver.
    built
        The model, once it has been built.
    is_relaxed, is_solved
        Whether the relaxation and the model have been solved.
    nodes
        Branch-and-bound nodes.
    """

    sizes: Sizes
    exact_ns: int
    solver_ns: int
    built: UnitBoundModel | None = None
    is_relaxed: bool = False
    is_solved: bool = False
    nodes: int = 0

    @classmethod
    def of_operators(cls, problem: MultiModelTraining, sizes: Sizes) -> UnitBound:
        """Return the bound that is the time of the operators, attained where everything fits."""
        arrays = [problem.sub_array(size) for size in sizes]
        compute_ns = sum(array.compute_ns for array in arrays)
        most_bytes = sum(
            array.static_bytes + array.idle_bytes + array.largest_peak_bytes for array in arrays
        )
        fits = most_bytes <= problem.memory_bytes
        return cls(sizes, compute_ns, compute_ns, is_relaxed=fits, is_solved=fits)

    def relax(
        self,
        problem: MultiModelTraining,
        formulation: MultiModelUnitBound,
        options: SolveOptions,
        clock: Clock,
        params: UnitBoundParams = UNIT_BOUND,
    ) -> Termination:
        """Raise the bound by the relaxation."""
        self.is_relaxed = True
        self.built = formulation.build(problem, self.sizes)
        relaxed = self.built.model.relaxed()
        solution = solve_in_time(relaxed, _highs_options(options, clock))
        if solution.row_duals is not None:
            proved = exact_dual_bound(relaxed, solution.row_duals)
            if proved is not None:
                self.exact_ns = max(self.exact_ns, self.built.time_ns(proved))
                self.solver_ns = max(self.solver_ns, self.exact_ns)
        self.is_solved = int(self.built.model.integer.sum()) > params.most_binaries
        return solution.termination

    def solve(self, options: SolveOptions, clock: Clock) -> Termination:
        """Raise the bound by the model with its binaries."""
        self.is_solved = True
        assert self.built is not None
        solution = solve_in_time(self.built.model, _highs_options(options, clock))
        self.nodes = solution.nodes
        if solution.dual_bound is not None:
            margin = max(_ABSOLUTE_MARGIN, _RELATIVE_MARGIN * abs(solution.dual_bound))
            proved = Fraction(solution.dual_bound - margin)
            self.solver_ns = max(self.solver_ns, self.built.time_ns(proved))
        return solution.termination


def _highs_options(options: SolveOptions, clock: Clock) -> HighsOptions:
    return HighsOptions(
        time_limit_s=None if math.isinf(clock.left_s) else clock.left_s,
        # HiGHS would count it of the whole time.
        gap=0,
        threads=options.threads,
        seed=options.seed,
    )
