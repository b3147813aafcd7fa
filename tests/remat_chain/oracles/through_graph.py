r"""The fastest of all schedules of a chain, drops included, by an integer program on its graph.

A way to it that shares nothing with searches on the chain: the chain becomes a graph
(`chain_to_graph`), the graph a model of ascending runs (`ascending_runs`), the point
of the model a schedule of the graph, and that one of the chain (`chain_schedule_of_graph`).
Checkmate's stages would not do: they fix the order of the first computations, in which
:math:`S_\ell` comes before :math:`A_\ell`, so that every :math:`\bar a` must fit at the first
forward of its stage.

The bound
---------
For :math:`T` runs let :math:`z` be a lower bound on the optimum of the model. No schedule of the
chain takes less than

.. math::
    \min\Bigl( z,\;\; \sum_\ell (u_f^\ell + u_b^\ell) + T \min_\ell u_f^\ell \Bigr).

*Proof.* A schedule of the chain has an image on the graph that is no slower (`chain_to_graph`). It
computes each :math:`B` once, and :math:`S_\ell` and :math:`A_\ell` only right after
:math:`F_\ell`, in this order. So where nodes do not ascend an :math:`F_\ell` follows. It is not the
first run of :math:`F_\ell`, for that is what every node above is computed from. If the image falls
into more than :math:`T` ascending runs it hence computes :math:`T` forwards again; else it is a
point of the model. :math:`\square`

It is a matter of three to five stages: `unrestricted` is the method for more.
"""

from __future__ import annotations

from dataclasses import replace

from jettison import Bound, RematChain, RematGraph, ScheduleClass
from jettison.instances.remat_graph.chain_to_graph import graph_memory_bytes
from jettison.remat_graph import GraphSchedule, chain_to_graph
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_of_a_method import highs_options
from tests.remat_chain.oracles.ascending_runs import AscendingRuns
from tests.remat_chain.oracles.from_graph import chain_schedule_of_graph


def solve_through_graph(problem: RematChain, options: SolveOptions, *, runs: int) -> Outcome:
    """Solve the model of so many ascending runs and bring its point back to the chain.

    Parameters
    ----------
    problem
        A chain of a few stages, and its memory.
    options
        Gap, time limit, threads and seed for HiGHS.
    runs
        The number :math:`T`. More runs hold more schedules and take longer.

    Returns
    -------
    Outcome
        The schedule if the replay on the chain accepts it, and the bound for all schedules.
    """
    chain = problem.instance
    graph = chain_to_graph(chain)
    on_graph = RematGraph(graph, graph_memory_bytes(chain, problem.memory_bytes))
    built = AscendingRuns(runs).build(on_graph)
    clock = Clock(options.time_limit_s)
    solution = solve_model(built.model, highs_options(options, clock, gap=0))
    work = {"rows": built.model.num_rows, "columns": built.model.num_columns}
    beyond_ns = chain.base_time_ns + runs * min(stage.forward_ns for stage in chain)
    lower_ns = chain.base_time_ns
    if solution.answer is Answer.INFEASIBLE:
        lower_ns = beyond_ns
    elif solution.dual_bound is not None:
        model_ns = built.time_scale.bound_from_model(solution.dual_bound)
        lower_ns = max(lower_ns, min(model_ns, beyond_ns))
    bound = Bound(
        time_ns=lower_ns,
        valid_for=ScheduleClass.ALL,
        evidence=Evidence.SOLVER,
        method="through-graph",
    )
    outcome = Outcome(termination=solution.termination, bounds=(bound,), work=work)
    if solution.values is None:
        return replace(outcome, note=f"no schedule of {runs} ascending runs was found")
    computed = GraphSchedule.from_computations(graph, built.computations(solution.values))
    schedule = chain_schedule_of_graph(chain, computed)
    if not schedule.replay(chain, problem.memory_bytes).valid:
        return replace(outcome, note="what the graph allows does not fit the chain")
    return replace(outcome, schedule=schedule)
