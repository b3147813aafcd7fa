"""poet: the plan of POET's integer program, replayed with copies beside the computations.

The model, and what it omits, is in `jettison.formulations.remat_offload_graph.poet`. Its plan says
for each stage what is computed, copied to the host and brought back. The schedule issues copies to
the host at the start of their stage and those from there at its end, and frees each value after its
last use in a stage unless it stays. That fits wherever the plan does. The replay then tells its
time here, which is not what the program minimizes: its optimum is no bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.remat_offload_graph.poet import Poet, PoetModel
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_offload_graph.incumbent import LinkedIncumbent
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility


@dataclass(frozen=True, kw_only=True)
class PoetParams(Params):
    """Parameters of POET: its costs, and the graphs that are tried.

    Attributes
    ----------
    compute_weight, transfer_weight
        The cost of a computation, and of a copy, for each nanosecond that it takes: their powers.
        Equal ones minimize the time of a step in which nothing overlaps.
    deadline
        The time of all computations at most, as a multiple of the base time.
    most_nodes
        Larger graphs are declined: their model has as many times their square of binaries.
    """

    compute_weight: float = 1.0
    transfer_weight: float = 1.0
    deadline: float = 100.0
    most_nodes: int = 80


POET = PoetParams()


def solve_poet(
    problem: RematOffloadGraph, options: SolveOptions, params: PoetParams = POET
) -> Outcome:
    """Return POET's plan as a schedule; its promise is for POET's own objective alone."""
    clock = Clock(options.time_limit_s)
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    graph = problem.instance
    if graph.results_after:
        return Outcome.not_applicable("POET's operators have one result each")
    if len(graph) > params.most_nodes:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            note=f"POET's model of {len(graph)} nodes is larger than the {params.most_nodes} that "
            "are tried",
        )
    form = Poet(params.compute_weight, params.transfer_weight, params.deadline)
    built = form.build(problem)
    left_s = clock.left_s
    asked = HighsOptions(
        time_limit_s=None if math.isinf(left_s) else left_s,
        gap=options.gap,
        threads=options.threads,
        seed=options.seed,
    )
    work = {"rows": built.model.num_rows, "columns": built.model.num_columns}
    try:
        solution = solve_in_time(built.model, asked)
    except SolverError as failed:
        return Outcome(termination=Termination.ERROR, work=work, note=f"POET's program: {failed}")
    if solution.values is None:
        note = "POET's program was not solved in the limits"
        if solution.answer is Answer.INFEASIBLE:
            note = "POET's stages have no plan in this memory"
        return Outcome(termination=solution.termination, work=work, note=note)
    incumbent = LinkedIncumbent(problem, options, clock)
    incumbent.offer(schedule_of_plan(problem, built, solution.values))
    return incumbent.outcome(solution.termination, work=work)


def schedule_of_plan(
    problem: RematOffloadGraph, built: PoetModel, values: Floats
) -> OffloadGraphSchedule:
    """Return the schedule of a point of POET's model."""
    graph = problem.instance
    computed = built.chosen(built.computed, values)
    stays = built.chosen(built.stays, values)
    sent = built.chosen(built.sent, values)
    back = built.chosen(built.back, values)
    found: list[GraphOperation | ValueTransfer] = []
    stored: set[int] = set()
    hosted: set[int] = set()
    last = len(graph) - 1

    def free(value: int) -> None:
        stored.discard(value)
        found.append(GraphOperation(GraphOperationKind.FREE, value))

    def outlasts(stage: int, value: int) -> bool:
        return graph.nodes[value].keep if stage == last else (stage + 1, value) in stays

    for stage in range(len(graph)):
        for value in sorted(stored):
            if (stage, value) in sent and value not in hosted:
                hosted.add(value)
                found.append(ValueTransfer(ValueTransferKind.OFFLOAD, value))
        runs = [i for i in range(stage + 1) if (stage, i) in computed and i not in stored]
        for at, node in enumerate(runs):
            found.append(GraphOperation(GraphOperationKind.COMPUTE, node))
            stored.add(node)
            for value in (*graph.inputs[node], node):
                is_read = any(value in graph.inputs[later] for later in runs[at + 1 :])
                if value in stored and not is_read and not outlasts(stage, value):
                    free(value)
        for value in sorted(stored):
            if not outlasts(stage, value):
                free(value)
        for value in sorted(hosted - stored):
            if (stage, value) in back and outlasts(stage, value):
                stored.add(value)
                found.append(ValueTransfer(ValueTransferKind.PREFETCH, value))
    return OffloadGraphSchedule(tuple(found))
