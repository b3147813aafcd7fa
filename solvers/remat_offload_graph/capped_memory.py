"""autocapper: recompute as in more memory, and move what is above the limit.

That is POFO's baseline of this name (Section 5.1), on graphs: for sizes of memory from the limit to
the peak without recomputation, annealing plans the recomputations that fit there (remat-graph's
`anneal`), and their values are moved where the limit asks for it (`eviction`). The least size is
a plan without transfers, the largest one that without recomputation; the fastest is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.annealing.method import annealing_of, run_annealing
from jettison.solvers.remat_offload_graph.eviction import decoded
from jettison.solvers.remat_offload_graph.eviction_method import choices_of_rules
from jettison.solvers.remat_offload_graph.incumbent import LinkedIncumbent
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility
from jettison.solvers.remat_offload_graph.plan_time import timer_of


@dataclass(frozen=True, kw_only=True)
class CappedParams(Params):
    """Parameters of autocapper: its sizes of memory, and the work on each.

    Attributes
    ----------
    sizes
        Sizes of memory between the limit and the peak without recomputation.
    moves_of_a_size
        Moves of annealing for each.
    """

    sizes: int = 10
    moves_of_a_size: int = 60_000


CAPPED = CappedParams()


def solve_capped(
    problem: RematOffloadGraph, options: SolveOptions, params: CappedParams = CAPPED
) -> Outcome:
    """Return the fastest plan of all sizes; a heuristic."""
    clock = Clock(options.time_limit_s)
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    incumbent = LinkedIncumbent(problem, options, clock)
    timer = timer_of(problem)
    with Ending() as ending:
        for computations in computations_of_sizes(problem, options, clock, params):
            plain = GraphSchedule.from_computations(problem.instance, computations)
            incumbent.offer(OffloadGraphSchedule.without_transfers(plain))
            for choices in choices_of_rules(problem, plain.computations, (0.0, 1.0)):
                schedule = decoded(problem, choices)
                if schedule is not None and (
                    timer is None or timer.is_faster(schedule.operations, incumbent.time_ns)
                ):
                    incumbent.offer(schedule)
                clock.require_time()
            if incumbent.is_optimal:
                break
    return incumbent.outcome(
        ending.termination,
        work={"plans": incumbent.offered},
        note="no size leads to a plan that fits" if incumbent.schedule is None else None,
    )


def computations_of_sizes(
    problem: RematOffloadGraph, options: SolveOptions, clock: Clock, params: CappedParams
) -> Iterator[tuple[int, ...]]:
    """Yield the computations that annealing plans in each size of memory, the largest first."""
    graph = problem.instance
    most, least = graph.store_all_peak_bytes, problem.memory_bytes
    yield tuple(range(len(graph)))
    for step in range(params.sizes):
        size = most - (most - least) * (step + 1) // params.sizes
        if size >= most:
            continue
        search = annealing_of(RematGraph(graph, size), options.seed, graph.base_time_ns)
        run_annealing(
            search,
            graph.base_time_ns,
            options.quiet(),
            clock.share(0.5),
            most_moves=params.moves_of_a_size,
        )
        if search.time_ns is not None:
            yield tuple(search.computations)
        clock.require_time()
