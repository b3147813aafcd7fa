"""kiwi-elementwise: the reduced problem with elementwise operators that are recomputed together.

Not in the paper. KIWI's reduced problem recomputes no two neighbours, so that checkpoint_dots,
which recomputes all between two products of matrices, can be faster. Here neighbours that are no
products may both be recomputed (`formulations.remat_sharding.kiwi.elementwise`). HiGHS solves the
model with rows of memory for the forward pass, and for those backward computations at which the
plans of earlier models exceed the memory: most never bind. A plan that exceeds it gets the fastest
strategies with which its computations fit. The first plan of a solved model that fits is the best
one, and each model bounds the class; one that is not solved in its share of the work gets the rows
that its point lacks, or else more work. The baselines and the reduced problem come first, so that
the answer is no slower than what they find in their share of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.remat_sharding.kiwi.counted_moments import Moment, moments_of
from jettison.formulations.remat_sharding.kiwi.elementwise import (
    KiwiElementwise,
    KiwiElementwiseModel,
)
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphOperationKind
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import (
    Budget,
    ShareOfABudget,
    ShareParams,
    WorkShare,
    moves_of_a_limit,
    share_of_moves,
)
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_graph.cuts.stage_excess import worst_of_neighbours
from jettison.solvers.remat_sharding.kiwi.engine import BuiltKiwi, run_highs
from jettison.solvers.remat_sharding.kiwi.reduced import KIWI_REDUCED, find_by
from jettison.solvers.remat_sharding.kiwi.search import (
    KiwiParams,
    KiwiRounds,
    KiwiSearch,
    faster,
)
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter
from jettison.solvers.remat_sharding.strategies_of_computations import strategies_of_computations


@dataclass(frozen=True, kw_only=True)
class KiwiElementwiseParams(ShareParams, KiwiParams):
    """Parameters of kiwi-elementwise.

    Attributes
    ----------
    share_of_the_reduced
        Share of the time, or of the work of a usual machine in it, for the reduced problem.
    new_rows
        Most rows of memory that a round adds.
    reach
        Computations so close to one that exceeds the memory more get no row as well.
    """

    share_of_the_reduced: float = 0.3
    least_moves: int = 2_000_000
    times_all: int = 1
    new_rows: int = 6
    reach: int = 2


ELEMENTWISE = KiwiElementwiseParams()


def solve_kiwi_elementwise(
    problem: RematSharding, options: SolveOptions, params: KiwiElementwiseParams = ELEMENTWISE
) -> Outcome:
    """Find the fastest plan that recomputes single operators, or elementwise ones together.

    Returns
    -------
    Outcome
        Bounds for all schedules (the fastest sharding) and for plans of this class. A graph in
        which a forward operator comes after a backward one has no such plans; the note says so.
    """
    return find_by(problem, options, params, partial(_run, params=params))


def _run(
    problem: RematSharding, options: SolveOptions, clock: Clock, params: KiwiElementwiseParams
) -> Outcome:
    """Search from the best plan of the baselines and of the reduced problem."""
    search = ElementwiseSearch(
        "kiwi-elementwise", ScheduleClass.KIWI_ELEMENTWISE, _build, run_highs, params
    )
    known = search.best_of_baselines(problem, options, clock, params)
    share = params.share_of_the_reduced
    limited = replace(
        options.quiet(),
        time_limit_s=None if options.time_limit_s is None else share * options.time_limit_s,
        most_moves=share_of_moves(moves_of_a_limit(options), share),
    )
    reduced = KIWI_REDUCED.run(
        problem, limited, clock.share(share), KIWI_REDUCED.of_the_class(problem, known)
    )
    if isinstance(reduced.schedule, ShardedSchedule):
        known = faster(problem, known, reduced.schedule)
    if reduced.termination is Termination.INTERRUPTED:
        return Outcome(termination=reduced.termination, schedule=known)
    return search.run(problem, options, clock, known)


@dataclass(frozen=True)
class ElementwiseSearch(KiwiSearch[ArrayModel]):
    """Search whose models get rows of memory where plans exceed it.

    Attributes
    ----------
    params
        How many of them, and where.
    """

    params: KiwiElementwiseParams = ELEMENTWISE

    def rounds(
        self, problem: RematSharding, options: SolveOptions, clock: Clock
    ) -> ElementwiseRounds:
        """Return the rounds of a run."""
        return ElementwiseRounds(self, problem, options, clock, self.params)


class ElementwiseRounds(KiwiRounds[ArrayModel]):
    """Rounds in which the model gets rows of memory, until its plan fits."""

    def __init__(
        self,
        search: KiwiSearch[ArrayModel],
        problem: RematSharding,
        options: SolveOptions,
        clock: Clock,
        params: KiwiElementwiseParams,
    ) -> None:
        super().__init__(search, problem, options, clock)
        self._params = params
        self._share = ShareOfABudget(
            Budget(options.most_moves), WorkShare(params.least_moves, params.times_all)
        )
        self._budget = self._share
        self._computed: set[tuple[int, ...]] = set()
        self._looked_at: frozenset[Moment] = frozenset()
        self._above: dict[Moment, int] = {}

    def build(self) -> BuiltKiwi[ArrayModel]:
        """Return the model with the rows that were asked for so far."""
        self.clock.require_time()
        problem = with_sizes_that_matter(self.problem_with_margin)
        built = KiwiElementwise(self._looked_at).build(problem)
        return BuiltKiwi(built, built.model)

    def refine(self, model: BuiltKiwi[ArrayModel], solution: ModelSolution) -> bool:
        """Ask for rows where the plan of the best point exceeds the memory.

        Where it does although they are there, that is a solver's tolerance.
        """
        above = {
            place: size
            for place, (moment, size) in enumerate(self._above.items())
            if size and moment not in self._looked_at
        }
        self.tries_again = not self._share.is_spent
        if solution.values is None or not above:
            return super().refine(model, solution)
        if self._share.is_spent:
            self._note_the_search()
            return False
        moments = list(self._above)
        worst = worst_of_neighbours(above, self._params.reach)[: self._params.new_rows]
        self._looked_at = self._looked_at.union(moments[place] for place in worst)
        self._offer_other_strategies(model, solution)
        self._note_the_search()
        return True

    def _offer_other_strategies(
        self, model: BuiltKiwi[ArrayModel], solution: ModelSolution
    ) -> None:
        """Offer the fastest plan that fits with the computations of a point; each once."""
        computations = model.built.schedule(solution.by_name(model.model)).computations
        if computations in self._computed:
            return
        self._computed.add(computations)
        options = replace(self._options.quiet(), most_moves=self._params.least_moves)
        found = strategies_of_computations(self._problem, computations, options, self.clock)
        if found.plan is not None:
            self.incumbent.offer(found.plan)

    def _offered(self, model: BuiltKiwi[ArrayModel], values: Floats) -> int:
        over_bytes = super()._offered(model, values)
        names = model.model.column_names
        plan = model.built.schedule(dict(zip(names, values.tolist(), strict=True)))
        self._above = self._excess(plan)
        return over_bytes

    def _excess(self, plan: ShardedSchedule) -> dict[Moment, int]:
        """Return by how much each computation of a plan exceeds the memory, or 0, in order."""
        steps = plan.replay(self._problem.instance).steps
        during_bytes = [
            step.during_bytes
            for operation, step in zip(plan.operations, steps, strict=True)
            if operation.kind is GraphOperationKind.COMPUTE
        ]
        limit = self._problem.memory_bytes
        return {
            moment: max(0, size - limit)
            for moment, size in zip(moments_of(plan.computations), during_bytes, strict=True)
        }


def _build(problem: RematSharding, clock: Clock) -> tuple[KiwiElementwiseModel, ArrayModel]:
    clock.require_time()
    built = KiwiElementwise().build(problem)
    return built, built.model
