r"""moment-bound: what must be computed again or moved around some first starts of nodes.

The model is in `jettison.formulations.remat_offload_graph.first_starts`. Its moments are chosen by
what the step without recomputation holds there above the limit: first one alone, then several, as
long as one more makes the bound larger. The multipliers of the linear relaxations are evaluated in
exact arithmetic (`exact_dual_bound`): these bounds are proved whatever the solver did. The models
with binaries are then solved for the time that is left; these bounds rest on the solver. All of it
is done for all schedules, and again for those in the order of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from jettison.formulations.remat_offload_graph.first_starts import FirstStarts, FirstStartsModel
from jettison.formulations.remat_offload_graph.passed_moments import KnownOrder, PassedMoments
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.exact_dual_bound import exact_dual_bound
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_offload_graph.incumbent import LinkedIncumbent
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility

# By how much a dual bound of HiGHS may be too high, in a model whose times are up to 4096.
_SOLVER_TOLERANCE = 1e-4


@dataclass(frozen=True, kw_only=True)
class MomentParams(Params):
    """Parameters of the bound: how many moments it looks at.

    Attributes
    ----------
    candidates
        Moments that are tried alone, and then together with others.
    most_moments
        The most moments of one model.
    most_binaries
        Models with more binaries are not solved but relaxed.
    share_of_a_class
        Share of the time for the bound of all schedules, before that in the order of the graph.
    """

    candidates: int = 12
    most_moments: int = 5
    most_binaries: int = 4_000
    share_of_a_class: float = 0.5


MOMENTS = MomentParams()


def bound_moments(
    problem: RematOffloadGraph, options: SolveOptions, params: MomentParams = MOMENTS
) -> Outcome:
    """Bound the time of all schedules, and of those in order, by what some moments force.

    At the time limit and on Ctrl-C the bounds found by then are returned.

    Returns
    -------
    Outcome
        Bounds of relaxations in exact arithmetic, and larger ones of models with binaries that rest
        on the solver; or the proof that nothing fits.
    """
    clock = Clock(options.time_limit_s)
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    incumbent = LinkedIncumbent(problem, options, clock)
    search = MomentSearch(problem, options, params, incumbent.prove)
    with Ending() as ending:
        ending.termination = search.run(clock)
    return Outcome(
        termination=ending.termination,
        bounds=incumbent.bounds,
        work={"models": search.models, "rows": search.most_rows},
        note=search.note,
    )


@dataclass(eq=False)
class MomentSearch:
    """Search for the moments that prove most, which tells `prove` of each bound.

    Attributes
    ----------
    models, most_rows
        How many models were solved, and the rows of the largest.
    note
        A defect of the solver, or None.
    """

    problem: RematOffloadGraph
    options: SolveOptions
    params: MomentParams
    prove: Callable[[Bound], None]
    models: int = 0
    most_rows: int = 0
    note: str | None = None
    _clock: Clock = field(default_factory=lambda: Clock(None))

    def run(self, clock: Clock, *, with_binaries: bool = True) -> Termination:
        """Look for bounds of both classes until there are no more, or the time is up.

        Raises
        ------
        TimeoutError
            If the time is up.
        """
        self._prove(self.problem.base_time_ns, ScheduleClass.ALL, Evidence.EXACT)
        first = clock.share(self.params.share_of_a_class)
        ended = True
        for valid_for, share in ((ScheduleClass.ALL, first), (ScheduleClass.IN_ORDER, clock)):
            with Ending() as ending:
                self._clock = share
                self._bound_class(KnownOrder(self.problem.instance, valid_for), with_binaries)
            if ending.is_interrupted:
                raise KeyboardInterrupt
            ended = ended and ending.termination is Termination.COMPLETED
        if not ended:
            raise TimeoutError
        return Termination.COMPLETED if self.note is None else Termination.ERROR

    def _bound_class(self, order: KnownOrder, with_binaries: bool) -> None:
        alone: dict[int, int] = {}
        for node in self._candidates(order):
            alone[node] = self._relax(PassedMoments(order, (node,)))
        if not alone:
            return
        ranked = sorted(alone, key=lambda node: (-alone[node], node))
        chosen: tuple[int, ...] = (ranked[0],)
        best_ns = alone[ranked[0]]
        for node in ranked[1:]:
            if len(chosen) >= self.params.most_moments:
                break
            more = self._with(order, chosen, node)
            if more is not None:
                time_ns = self._relax(PassedMoments(order, more))
                if time_ns > best_ns:
                    chosen, best_ns = more, time_ns
        if not with_binaries:
            return
        for nodes in dict.fromkeys(((ranked[0],), *((node,) for node in ranked[1:3]), chosen)):
            self._solve(PassedMoments(order, nodes))

    def _candidates(self, order: KnownOrder) -> list[int]:
        """Return the nodes at whose start most is held above the limit, the worst first."""
        graph = order.graph
        excess: dict[int, int] = {}
        for node in range(len(graph)):
            if node % 64 == 0:
                self._clock.require_time()
            if graph.comes_in_a_run(node):
                continue
            missing = {node, *order.after(node)}
            here = graph.nodes[node]
            held_bytes = (
                here.output_bytes
                + here.workspace_bytes
                + sum(
                    graph.nodes[i].output_bytes
                    for i in order.before(node)
                    if graph.nodes[i].keep or not missing.isdisjoint(graph.users[i])
                )
            )
            if held_bytes > self.problem.memory_bytes:
                excess[node] = held_bytes
        return sorted(excess, key=lambda node: (-excess[node], node))[: self.params.candidates]

    def _with(
        self, order: KnownOrder, chosen: tuple[int, ...], node: int
    ) -> tuple[int, ...] | None:
        """Return the moments with one more, or None if it may come before and after one."""
        before = tuple(item for item in chosen if order.precedes(item, node))
        after = tuple(item for item in chosen if order.precedes(node, item))
        return (*before, node, *after) if len(before) + len(after) == len(chosen) else None

    def _built(self, moments: PassedMoments) -> FirstStartsModel:
        self._clock.require_time()
        built = FirstStarts(moments).build(self.problem)
        self.models += 1
        self.most_rows = max(self.most_rows, built.model.num_rows)
        return built

    def _relax(self, moments: PassedMoments) -> int:
        """Prove what the relaxation does, and return it."""
        built = self._built(moments)
        relaxed = built.model.relaxed()
        try:
            solution = solve_in_time(relaxed, self._highs_options())
        except SolverError as failed:
            self.note = f"a linear relaxation: {failed}"
            return 0
        if solution.row_duals is None:
            return 0
        exact = exact_dual_bound(relaxed, solution.row_duals)
        time_ns = 0 if exact is None else math.ceil(exact * built.time_unit_ns)
        self._prove(time_ns, moments.order.valid_for, Evidence.EXACT)
        return time_ns

    def _solve(self, moments: PassedMoments) -> None:
        built = self._built(moments)
        if int(built.model.integer.sum()) > self.params.most_binaries:
            return
        try:
            solution = solve_in_time(built.model, self._highs_options())
        except SolverError as failed:
            self.note = f"with binaries: {failed}"
            return
        if solution.dual_bound is not None and math.isfinite(solution.dual_bound):
            time_ns = math.ceil((solution.dual_bound - _SOLVER_TOLERANCE) * built.time_unit_ns)
            self._prove(time_ns, moments.order.valid_for, Evidence.SOLVER)

    def _prove(self, time_ns: int, valid_for: ScheduleClass, evidence: Evidence) -> None:
        bound = Bound(
            time_ns=time_ns, valid_for=valid_for, evidence=evidence, method="moment-bound"
        )
        self.prove(bound)

    def _highs_options(self) -> HighsOptions:
        left_s = self._clock.left_s
        return HighsOptions(
            time_limit_s=None if math.isinf(left_s) else left_s,
            gap=self.options.gap,
            threads=self.options.threads,
            seed=self.options.seed,
        )
