"""Proof that no choice of strategies fits, with the least memory that would suffice."""

from __future__ import annotations

from jettison.formulations.sharding.peak import sharding_peak
from jettison.instances.sharding.problem import Sharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.status import Answer, SolverError, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.sharding.params import ShardingParams
from jettison.solvers.sharding.presolve.reduced_graph import NoChoiceError, ReducedGraph


def no_choice(
    problem: Sharding,
    error: NoChoiceError | None,
    options: SolveOptions,
    clock: Clock,
    params: ShardingParams,
    work: dict[str, int] | None = None,
) -> Outcome:
    """Return the proof that nothing fits, with the least memory that would suffice, if found.

    HiGHS searches for the least peak for some seconds at most. Without an answer the least memory
    is one byte more than there is, or the peak of the least usages.

    Parameters
    ----------
    problem, options, clock, params
        Those of the method.
    error
        The error by which exact arithmetic proved it; None if the proof is HiGHS's.
    work
        Counts of the effort.
    """
    graph = problem.instance
    evidence = Evidence.SOLVER if error is None else Evidence.EXACT
    needed_by = None if error is None else graph.nodes[error.node].name
    everything = graph.usage_sum_bytes
    unlimited = ReducedGraph(problem, everything)
    try:
        unlimited.reduce("keep_consistent", Clock(None), params.most_more_pairs)
    except NoChoiceError as forbidden:
        return _refused(
            Infeasibility(
                valid_for=ScheduleClass.ALL,
                least_memory_bytes=None,
                is_exact=False,
                needed_by=graph.nodes[forbidden.node].name,
            ),
            work,
        )
    # `keep_consistent` has subtracted the least usages from the rows.
    floor = max((everything - room for room in unlimited.native.capacity()), default=0)
    least = max(problem.memory_bytes + 1, floor)
    is_exact = False
    termination = Termination.COMPLETED
    solution = None
    whole = ReducedGraph(problem, everything)
    try:
        share = Clock(min(clock.left_s, params.seconds_after_a_proof))
        size = whole.size
        # A larger model would take all memory before it is solved.
        if share.left_s and size.nodes * size.rows + size.pairs <= params.most_entries_of_a_model:
            data, nodes = whole.written()
            built = sharding_peak(data, everything)
            solution = solve_in_time(built.model, highs_options(options, share, gap=0))
    except SolverError:
        solution = None
    if solution is not None:
        termination = solution.termination
        if solution.answer is Answer.INFEASIBLE:
            return _refused(
                Infeasibility(
                    valid_for=ScheduleClass.ALL,
                    least_memory_bytes=None,
                    is_exact=False,
                    evidence=Evidence.SOLVER,
                    needed_by=needed_by,
                ),
                work,
            )
        if solution.dual_bound is not None:
            least = max(least, built.bytes_scale.bound_from_model(solution.dual_bound))
        if solution.values is not None:
            choice = StrategyChoice(whole.decode_places(nodes, built.choice(solution.values)))
            replay = choice.replay(graph)
            is_exact = replay.valid and replay.peak_bytes == least
    if termination is not Termination.INTERRUPTED:
        # The proof is complete, whether or not the least memory is found.
        termination = Termination.COMPLETED
    return _refused(
        Infeasibility(
            valid_for=ScheduleClass.ALL,
            least_memory_bytes=least,
            is_exact=is_exact,
            evidence=evidence,
            needed_by=needed_by,
        ),
        work,
        termination,
    )


def _refused(
    infeasibility: Infeasibility,
    work: dict[str, int] | None,
    termination: Termination = Termination.COMPLETED,
) -> Outcome:
    return Outcome(termination=termination, infeasibility=infeasibility, work=work or {})
