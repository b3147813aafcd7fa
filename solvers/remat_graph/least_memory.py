r"""Least memory in which a staged schedule of a graph exists.

First `annealing.least_peak` searches for a schedule with a small peak, for a share of the time;
then Checkmate's model with the memory as its objective is solved, unless it has too many
coefficients to be built in the time that is left. The solver's bound is rounded up to a multiple of
the greatest common divisor of the sizes, as every peak is one; where the peak of a replayed
schedule meets it, the least memory is known.

Where the work is limited (`SolveOptions.most_moves`), annealing alone searches, for so many moves:
what is found is then the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate, Peak
from jettison.formulations.remat_graph.checkmate_writer import CheckmateModel
from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import WrittenModelParams, highs_options
from jettison.solvers.remat_graph.annealing.least_peak import LeastPeak, least_peak_by_annealing
from jettison.solvers.remat_graph.baselines.simple import store_all_schedule


@dataclass(frozen=True, kw_only=True)
class LeastMemoryParams(WrittenModelParams):
    """Parameters of the search for the least memory: its time.

    Attributes
    ----------
    share_of_least_peak
        Share of the time of the search for the least memory in which annealing looks for a small
        peak, before the model.
    seconds_after_a_proof
        Time limit of the search for the least memory, once the given memory is proved too small.
    moves_after_a_proof
        Moves of that search where the work is limited, which end it instead of the time.
    """

    at_least: ClassVar[Mapping[str, float]] = {"seconds_after_a_proof": 0}

    share_of_least_peak: float = 0.5
    seconds_after_a_proof: float = 10.0
    moves_after_a_proof: int = 300_000


LEAST_MEMORY = LeastMemoryParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastMemory:
    """Bounds on the least memory of staged schedules.

    Attributes
    ----------
    lower_bytes
        Lower bound on the peak of staged schedules.
    schedule
        The staged schedule with the least known peak.
    peak_bytes
        Its replayed peak.
    """

    lower_bytes: int
    schedule: GraphSchedule
    peak_bytes: int

    @property
    def is_exact(self) -> bool:
        """Whether lower bound and peak meet."""
        return self.lower_bytes == self.peak_bytes

    def needed_by(self, graph: Graph) -> str:
        """Return the node whose computation first reaches the peak of the schedule."""
        steps = self.schedule.replay(graph).steps
        place = max(range(len(steps)), key=lambda place: steps[place].during_bytes)
        return graph.nodes[self.schedule.operations[place].node].name


def with_least_staged_memory(
    refused: Outcome,
    problem: RematGraph,
    options: SolveOptions,
    clock: Clock,
    params: LeastMemoryParams,
) -> Outcome:
    """Add to a proof that nothing fits how much memory would suffice, if time allows.

    Parameters
    ----------
    refused
        An outcome with a proof that nothing fits, or no staged schedule.
    problem
        The problem.
    options, clock
        As for `least_staged_memory`.
    params
        How much of the time is used at most, and for what.

    Returns
    -------
    Outcome
        If a schedule fits after all, that schedule, with an error: the solver was wrong, as the
        replay shows.
    """
    graph, proof = problem.instance, refused.infeasibility
    assert proof is not None
    share = Clock(min(clock.left_s, params.seconds_after_a_proof))
    floor = proof.least_memory_bytes or 0
    if options.most_moves is None:
        least = least_staged_memory(graph, floor, options, share, params)
    else:
        moves = min(options.most_moves, params.moves_after_a_proof)
        known = _known(graph, floor)
        least = known if known.is_exact else _annealed(known, graph, options.seed, clock, moves)
    if least.peak_bytes <= problem.memory_bytes:
        return Outcome(termination=Termination.ERROR, schedule=least.schedule)
    if least.is_exact:
        proof = replace(
            proof,
            least_memory_bytes=least.peak_bytes,
            is_exact=True,
            needed_by=least.needed_by(graph),
        )
        return replace(refused, infeasibility=proof)
    if proof.valid_for is ScheduleClass.STAGED:
        proof = replace(proof, least_memory_bytes=least.lower_bytes, evidence=Evidence.SOLVER)
    found = f"{format_bytes(least.peak_bytes)} ({least.peak_bytes} bytes) would do"
    note = f"{found}: a schedule is known that needs them for {least.needed_by(graph)}"
    return replace(refused, infeasibility=proof, note=note)


def least_staged_memory(
    graph: Graph,
    not_below_bytes: int,
    options: SolveOptions,
    clock: Clock,
    params: LeastMemoryParams = LEAST_MEMORY,
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
    params
        The share of annealing, and the largest model.
    """
    known = _known(graph, not_below_bytes)
    if known.is_exact:
        return known
    half = Clock(None if math.isinf(clock.left_s) else clock.left_s * params.share_of_least_peak)
    annealed = least_peak_by_annealing(graph, options.seed, half, stop_at_bytes=known.lower_bytes)
    known = _with_schedule(known, annealed)
    is_interrupted = annealed.termination is Termination.INTERRUPTED
    coefficients = Checkmate().estimated_coefficients(graph)
    most_in_time = clock.left_s / params.seconds_per_coefficient
    is_too_large = coefficients > min(params.most_coefficients, most_in_time)
    if known.is_exact or is_interrupted or is_too_large:
        return known
    try:
        built, model = _least_peak_model(graph, known, clock)
    except TimeoutError:
        return known
    solution = solve_in_time(model, highs_options(options, clock, gap=0))
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


def _annealed(
    known: LeastMemory, graph: Graph, seed: int, clock: Clock, most_moves: int
) -> LeastMemory:
    """Return what annealing finds in so many moves, unless the time is up before."""
    return _with_schedule(
        known,
        least_peak_by_annealing(
            graph, seed, clock, stop_at_bytes=known.lower_bytes, most_moves=most_moves
        ),
    )


def _with_schedule(known: LeastMemory, annealed: LeastPeak) -> LeastMemory:
    return LeastMemory(
        # A schedule refutes every lower bound above its peak.
        lower_bytes=min(known.lower_bytes, annealed.peak_bytes),
        schedule=annealed.schedule,
        peak_bytes=annealed.peak_bytes,
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
    try:
        built, model = _least_peak_model(graph, known, clock)
    except TimeoutError:
        return known.lower_bytes
    solution = solve_in_time(model.relaxed(), highs_options(options, clock, gap=0))
    if solution.dual_bound is None:
        return known.lower_bytes
    bound_bytes = built.memory_scale.bound_from_model(solution.dual_bound)
    return min(max(known.lower_bytes, bound_bytes), known.peak_bytes)


def _known(graph: Graph, not_below_bytes: int) -> LeastMemory:
    """Return the bound from the sizes alone, with the schedule without recomputation."""
    peak_bytes = graph.store_all_peak_bytes
    lower_bytes = max(not_below_bytes, graph.least_peak_bound_bytes)
    return LeastMemory(
        lower_bytes=min(lower_bytes, peak_bytes),
        schedule=store_all_schedule(graph),
        peak_bytes=peak_bytes,
    )


def _least_peak_model(
    graph: Graph, known: LeastMemory, clock: Clock
) -> tuple[CheckmateModel, ArrayModel]:
    objective = Peak(at_least_bytes=known.lower_bytes)
    problem = RematGraph(graph, known.peak_bytes)
    built = Checkmate(objective=objective).build(problem, clock.require_time)
    return built, from_pulp(built.problem, clock.require_time).model
