r"""Lower bounds for weight offloading from the paper's MILP: its own rows, and strengthened.

The model is in `jettison.formulations.weight_offload.paper`. ``paper-milp`` solves the paper's
program, its misprints corrected: with its rows, and with (8c), which they imply for integers. So
the optimum is the paper's, but the relaxation is closer to it: on the slow links of the paper's
Figure 4 HiGHS ends at the root, where it stayed open without (8c). ``paper-milp-strengthened`` has
the other inequalities of `Cut` as well, all of them for short chains. Only the solver's dual bound
counts: the objective of a run that hit its time limit is no bound.

A schedule without waiting is a point of the model whose objective is 0, and then no bound is above
the base time. So the paper's greedy algorithm runs first, with a margin of memory
(`exact.without_waiting`). Where it finds such a step, as it does on fast links, the model need
neither be built nor solved.

The relaxation comes next, in exact arithmetic (`exact_dual_bound`), then the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.paper import IMPLIED_CUTS, Cut, WeightOffloadMilp
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.any_model import (
    RelaxationParams,
    algorithm_for,
    bound_by_model,
    settled_without_model,
)
from jettison.solvers.weight_offload.exact.without_waiting import WithoutWaitingParams


@dataclass(frozen=True, kw_only=True)
class MilpParams(RelaxationParams, WithoutWaitingParams):
    """Parameters of paper-milp and paper-milp-strengthened: the sizes of their models.

    Attributes
    ----------
    most_coefficients
        Coefficients of the model, at most: three million take some minutes and 5 GB to build.
    most_coefficients_with_copies
        Coefficients up to which the inequalities (6c) are a part of it. They add half as many rows
        again, which is too slow where the relaxation takes seconds.
    seconds_per_coefficient
        Time to build a model and to hand it over, as measured; where it is more than is left, the
        model is not built.
    """

    most_coefficients: int = 3_000_000
    most_coefficients_with_copies: int = 100_000
    seconds_per_coefficient: float = 1e-5


MILP = MilpParams()


def bound_paper_milp(
    problem: WeightOffload, options: SolveOptions, params: MilpParams = MILP
) -> Outcome:
    """Bound the time by the paper's MILP; at the time limit by what has been proved of it.

    Models that are too large, and those that take longer to build than the time limit allows, are
    declined with a note.
    """
    return _bounded(problem, options, params, "paper-milp", WeightOffloadMilp(cuts=IMPLIED_CUTS))


def bound_paper_milp_strengthened(
    problem: WeightOffload, options: SolveOptions, params: MilpParams = MILP
) -> Outcome:
    """Bound the time by the paper's MILP with all rows of `Cut`, as `bound_paper_milp` does.

    For chains that are not short the inequalities (6c) are left out.
    """
    milp = WeightOffloadMilp(cuts=frozenset(Cut))
    if milp.estimated_coefficients(problem) > params.most_coefficients_with_copies:
        milp = replace(milp, cuts=milp.cuts - {Cut.COPIED})
    return _bounded(problem, options, params, "paper-milp-strengthened", milp)


def _bounded(
    problem: WeightOffload,
    options: SolveOptions,
    params: MilpParams,
    method: str,
    milp: WeightOffloadMilp,
) -> Outcome:
    clock = Clock(options.time_limit_s)
    settled = settled_without_model(problem, method, clock, params)
    if settled is not None:
        return settled
    coefficients = milp.estimated_coefficients(problem)
    declined = Outcome(
        termination=Termination.MEMORY_LIMIT,
        note=f"the model has about {coefficients:,} coefficients, too many to write down within "
        "the limits; use agg",
    )
    if coefficients > params.most_coefficients:
        return declined
    if coefficients * params.seconds_per_coefficient > clock.left_s:
        return replace(declined, termination=Termination.TIME_LIMIT)
    with Ending() as ending:
        built = milp.build(problem, clock.require_time)
        model = from_pulp(built.problem, clock.require_time).model
        algorithm = algorithm_for(model, params)
        return bound_by_model(model, built.scale, method, options, clock, algorithm)
    if ending.is_interrupted:
        return Outcome(termination=ending.termination)
    return replace(declined, termination=ending.termination)
