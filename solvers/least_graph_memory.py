r"""The least memory in which a staged schedule of a graph exists.

First `least_peak_anneal` looks for a schedule with a small peak, for half of the time at most; then
comes Checkmate's model with the memory as its objective, unless it has too many coefficients. The
solver's bound is rounded up to a multiple of the greatest common divisor of the sizes, as every
peak is one; where the peak of a replayed schedule meets it, the least memory is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.formulations.checkmate import Checkmate, CheckmateModel, Peak
from jettison.formulations.from_pulp import from_pulp
from jettison.instances.graph import Graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.checkmate_highs import MOST_COEFFICIENTS, highs_options
from jettison.solvers.clock import Clock
from jettison.solvers.graph_baselines import store_all_schedule
from jettison.solvers.highs import solve_model
from jettison.solvers.least_peak_anneal import least_peak_by_annealing
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.status import Termination

_SHARE_OF_ANNEALING = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastMemory:
    """What is known of the least memory.

    Attributes
    ----------
    lower_bytes
        No staged schedule needs less.
    schedule
        The staged schedule with the least peak that is known.
    peak_bytes
        Its replayed peak.
    """

    lower_bytes: int
    schedule: GraphSchedule
    peak_bytes: int

    @property
    def is_exact(self) -> bool:
        """Whether the two meet."""
        return self.lower_bytes == self.peak_bytes


def least_staged_memory(
    graph: Graph, not_below_bytes: int, options: SolveOptions, clock: Clock
) -> LeastMemory:
    """Search for the least memory until it is known, the time is up or the user interrupts.

    Parameters
    ----------
    graph
        The instance.
    not_below_bytes
        A memory below which no staged schedule exists.
    options
        Threads and seed.
    clock
        The time that is left.
    """
    known = _known(graph, not_below_bytes)
    if known.is_exact:
        return known
    half = Clock(None if math.isinf(clock.left_s) else clock.left_s * _SHARE_OF_ANNEALING)
    annealed = least_peak_by_annealing(graph, options, half, stop_at_bytes=known.lower_bytes)
    known = LeastMemory(
        # A schedule refutes whatever claims more than its peak.
        lower_bytes=min(known.lower_bytes, annealed.peak_bytes),
        schedule=annealed.schedule,
        peak_bytes=annealed.peak_bytes,
    )
    is_interrupted = annealed.termination is Termination.INTERRUPTED
    is_too_large = Checkmate().estimated_coefficients(graph) > MOST_COEFFICIENTS
    if known.is_exact or is_interrupted or is_too_large:
        return known
    built = _least_peak_model(graph, known)
    model = from_pulp(built.problem).model
    solution = solve_model(model, highs_options(options, clock, gap=0))
    schedule, peak_bytes, lower_bytes = known.schedule, known.peak_bytes, known.lower_bytes
    if solution.values is not None:
        computations = built.computations(solution.by_name(model))
        found = GraphSchedule.from_computations(graph, computations)
        found_bytes = found.replay(graph).peak_bytes
        if found_bytes < peak_bytes:
            schedule, peak_bytes = found, found_bytes
    if solution.dual_bound is not None:
        lower_bytes = max(lower_bytes, built.memory_scale.bound_from_model(solution.dual_bound))
    return LeastMemory(
        lower_bytes=min(lower_bytes, peak_bytes), schedule=schedule, peak_bytes=peak_bytes
    )


def staged_memory_bound(
    graph: Graph, not_below_bytes: int, options: SolveOptions, clock: Clock
) -> int:
    """Return a lower bound in bytes on the least memory, from the linear relaxation.

    The parameters are those of `least_staged_memory`; where the time is up, the bound is
    `not_below_bytes` or what the sizes alone say.
    """
    known = _known(graph, not_below_bytes)
    if known.is_exact:
        return known.lower_bytes
    built = _least_peak_model(graph, known)
    model = from_pulp(built.problem).model.relaxed()
    solution = solve_model(model, highs_options(options, clock, gap=0))
    if solution.dual_bound is None:
        return known.lower_bytes
    bound_bytes = built.memory_scale.bound_from_model(solution.dual_bound)
    return min(max(known.lower_bytes, bound_bytes), known.peak_bytes)


def _known(graph: Graph, not_below_bytes: int) -> LeastMemory:
    """Return what the sizes alone say, and the schedule without recomputation."""
    peak_bytes = graph.store_all_peak_bytes
    lower_bytes = max(not_below_bytes, graph.least_peak_bound_bytes)
    return LeastMemory(
        lower_bytes=min(lower_bytes, peak_bytes),
        schedule=store_all_schedule(graph),
        peak_bytes=peak_bytes,
    )


def _least_peak_model(graph: Graph, known: LeastMemory) -> CheckmateModel:
    objective = Peak(at_least_bytes=known.lower_bytes)
    return Checkmate(objective=objective).build(RematGraph(graph, known.peak_bytes))
