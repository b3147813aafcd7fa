r"""torch-min-cut: the plans of torch's min-cut partitioner, over all memory budgets.

Source: PyTorch 2.13.0, ``torch._functorch.partitioners.min_cut_rematerialization_partition``, what
``torch.compile`` partitions with, and its knapsacks for ``activation_memory_budget``: *greedy*,
*ilp* and *dp*, the default. `saved_values` has the algorithm, `boundary_plan` its schedule.

A user of PyTorch guesses a budget between 0 and 1 and sees which peak comes out. Here all budgets
are tried that lead to different plans, each is measured, and the fastest that fits is returned:
what the partitioner can do at best. The peak is not monotone in the budget, so that no search by
bisection would find it.

Differences
-----------
* The times of operators are those of the graph, as with a ``CustomRuntimeEstimator``; PyTorch's
  own default counts floating-point operations.
* A `Graph` has no views, no parameters and no inputs (`joint_program.program_of_graph`). Distances
  from the backward pass, by which values are weighted, are shorter by the views on the way; what
  is small compared with a parameter that it reads (an embedding) is no reduction here; and budgets
  are shares of the activations alone, which changes their names but not the plans.
* Of plans of the same time that of the larger budget is taken.

Complexity: for each of :math:`b` plans a minimum cut, of which only the parts around what has
changed are computed again, and :math:`O((n + |E|) \log n)` for its peak. There are
:math:`b \le 10^4` for dp, whose budgets are ten-thousandths; greedy and ilp look at `most_budgets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary
from jettison.solvers.remat_graph.planners.joint_program import JointProgram, program_of_graph
from jettison.solvers.remat_graph.planners.knapsacks import (
    DynamicKnapsack,
    GreedyKnapsack,
    IntegerKnapsack,
    Knapsack,
)
from jettison.solvers.remat_graph.planners.refusals import not_for
from jettison.solvers.remat_graph.planners.saved_values import Saved, SavedValues


@dataclass(frozen=True, kw_only=True)
class GreedyBudgetParams(Params):
    """Parameters of the sweep over budgets, with the greedy knapsack.

    Attributes
    ----------
    most_budgets
        Number of budgets that are looked at below those that need no knapsack.
    """

    most_budgets: int = 2_000


@dataclass(frozen=True, kw_only=True)
class IntegerBudgetParams(Params):
    """Parameters of the sweep over budgets, with the integer knapsack.

    Attributes
    ----------
    most_budgets
        Number of budgets that are looked at below those that need no knapsack.
    """

    most_budgets: int = 400


GREEDY_BUDGETS = GreedyBudgetParams()
INTEGER_BUDGETS = IntegerBudgetParams()


def solve_torch_greedy(
    problem: RematGraph, options: SolveOptions, params: GreedyBudgetParams = GREEDY_BUDGETS
) -> Outcome:
    """Return the fastest plan that fits, with the greedy knapsack."""
    knapsack = GreedyKnapsack(params.most_budgets)
    return _solve(problem, "torch-min-cut-greedy", knapsack, options)


def solve_torch_integer(
    problem: RematGraph, options: SolveOptions, params: IntegerBudgetParams = INTEGER_BUDGETS
) -> Outcome:
    """Return the fastest plan that fits, with the integer program as knapsack."""
    knapsack = IntegerKnapsack(params.most_budgets)
    return _solve(problem, "torch-min-cut-ilp", knapsack, options)


def solve_torch_dynamic(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest plan that fits, with the dynamic program as knapsack."""
    return _solve(problem, "torch-min-cut-dp", DynamicKnapsack(), options)


def graph_nodes(program: JointProgram, saved: Saved) -> frozenset[int]:
    """Return the nodes of the graph whose values are in memory where these values are saved."""
    nodes = (program.values[position].graph_node for position in saved)
    return frozenset(node for node in nodes if node is not None)


def _solve(problem: RematGraph, method: str, knapsack: Knapsack, options: SolveOptions) -> Outcome:
    refused = not_for(problem, method)
    if refused is not None:
        return refused
    plans = _plans(problem, knapsack, Clock(options.time_limit_s))
    return fastest_that_fits(problem, method, plans, options)


def _plans(problem: RematGraph, knapsack: Knapsack, clock: Clock) -> Iterator[Plan]:
    """Yield a plan for each set of saved nodes, ranked in the order in which they come up.

    The clock is looked at in between as well: of a graph of 10 000 nodes the first plan alone takes
    more than a second.
    """
    boundary = PlanBoundary(problem.instance)
    program = program_of_graph(problem.instance)
    clock.require_time()
    seen: set[frozenset[int]] = set()
    for saved in SavedValues(program, knapsack, clock).all_choices():
        nodes = graph_nodes(program, saved)
        if nodes not in seen:
            seen.add(nodes)
            yield Plan(len(seen) - 1, partial(_computations, boundary, nodes))


def _computations(boundary: PlanBoundary, saved: frozenset[int], limit: PlanLimit) -> list[int]:
    del limit
    return boundary.computations(saved)
