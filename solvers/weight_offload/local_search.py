"""Local search for weight offloading: changes to selections and to the order of transfers.

It starts with the best of L2L, Greedy, Greedy* and all margins. A plan is a selection of absences
and an order of all operations and transfers; its period is that of the steps in which everything
starts as soon as this order allows. A change moves a transfer in the order, which also decides on
early uploads and the cut, or makes, drops or swaps choices. It is accepted if the period grows by
no more than a threshold that falls to 0 over a round of changes; each round starts from the best
plan. The search ends at a lower bound, that of the relaxation of AGG in exact arithmetic. When many
changes bring no gain, the other methods run (`baselines_first`), and then the search begins again
and again, from other selections and with other seeds (`exact.starts`), until the time ends, or
until many steps from new starts are no better: a note says so, since a better one may exist.
Without a time limit there are a few new starts.

The result depends on the seed alone, and on the time only where the limit ends the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.baselines_first import BaselineParams, schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.aggregated import relaxed_fluid_ns
from jettison.solvers.weight_offload.bounds.any_model import RelaxationParams
from jettison.solvers.weight_offload.exact.restarts import StartParams, steps_from_new_starts
from jettison.solvers.weight_offload.greedy.selection import Choice, select_choices
from jettison.solvers.weight_offload.incumbent import run_within_kernels
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.margin_sweep import MarginSweep
from jettison.solvers.weight_offload.scheduler import Discount, WeightScheduler


@dataclass(frozen=True, kw_only=True)
class WeightSearchParams(StartParams, RelaxationParams, BaselineParams):
    """Parameters of local-search: its limits, and the time for a bound.

    Attributes
    ----------
    most_in_vain
        Most changes without gain for each layer, from the best schedule of the sweep.
    most_steps_in_vain
        Most steps from new starts without gain, after which the search ends.
    share_of_bound
        Share of the time left after the sweep for a lower bound.
    """

    most_in_vain: int = 1_000
    most_steps_in_vain: int = 2_000
    share_of_bound: float = 0.2


WEIGHT_SEARCH = WeightSearchParams()


class WeightSearch:
    """One run of the method: the sweep over margins, then local search from its best schedule.

    Attributes
    ----------
    sweep
        Its incumbent is the best schedule of all.
    changes
        How many changes have been tried, in the first search.
    new_steps
        How many steps later starts have reached.
    what_ended_it
        Why a search that no limit ended leaves a gap open; None where it does not.
    """

    def __init__(
        self, problem: WeightOffload, options: SolveOptions, params: WeightSearchParams
    ) -> None:
        self._params = params
        self.what_ended_it: str | None = None
        self.changes = self.new_steps = 0
        self._problem = problem
        self._options = options
        self._clock = Clock(options.time_limit_s)
        self.sweep = MarginSweep(problem, options, self._clock, params)
        self.sweep.incumbent.begin_from(options.start, CyclicSchedule, ScheduleClass.ALL)

    def run(self) -> None:
        """Search until a bound is met, or for as long as there is time.

        Raises
        ------
        TimeoutError, OverflowError
            As the sweep does.
        """
        if self.run_once():
            return
        incumbent = self.sweep.incumbent
        steps = steps_from_new_starts(
            self._problem, incumbent.floor_ns, self._options.seed, self._clock, self._params
        )
        in_vain = 0
        for schedule in steps:
            self.new_steps += 1
            in_vain = 0 if schedule.period_ns < incumbent.period_ns else in_vain + 1
            incumbent.offer(schedule)
            if self._is_over():
                return
            if in_vain == self._params.most_steps_in_vain:
                break
        if not self._clock.left_s:
            raise TimeoutError
        self.what_ended_it = (
            f"the last {in_vain:,} steps from new starts were no better; there may be a better one"
        )

    def run_once(self) -> bool:
        """Search from the best start until changes bring no more gain; tell if it is over.

        Raises
        ------
        TimeoutError, OverflowError
            As the sweep does.
        """
        for _ in self.sweep.run(self._clock):
            if self._is_over():
                return True
        self._raise_floor()
        if self._is_over():
            return True
        incumbent = self.sweep.incumbent
        scheduler = WeightScheduler(self._problem)
        choices = select_choices(self._problem)
        # With the least memory or more, the choices taken together always suffice.
        assert choices is not None
        incumbent.offer(scheduler.schedule(choices, Discount.NOT_USED, self._clock.left_s))
        if not self._has_changed_in_vain(scheduler, self.sweep.choices or choices):
            return True
        # The quick baselines have been tried above. The slowest one, which solves models, runs when
        # the changes bring no more gain.
        for schedule in schedules_of_baselines(
            self._problem, "local-search", self._options, self._clock, self._params
        ):
            assert isinstance(schedule, CyclicSchedule)
            incumbent.offer(schedule)
            if self._is_over():
                return True
        return False

    def _has_changed_in_vain(self, scheduler: WeightScheduler, choices: Sequence[Choice]) -> bool:
        """Search from a selection until changes bring no more gain; tell if time is left."""
        incumbent = self.sweep.incumbent
        search = scheduler.search(choices, incumbent.floor_ns, self._options.seed)
        tried_before = self.changes
        try:
            while search.tried_in_vain < self._params.most_in_vain * len(self._problem.instance):
                search.run(self._params.changes_at_once, self._clock.left_s)
                if search.period_ns < incumbent.period_ns:
                    incumbent.offer(search.schedule)
                if self._is_over():
                    return False
        finally:
            self.changes = tried_before + search.tried
            incumbent.offer(search.schedule)
        return True

    def _raise_floor(self) -> None:
        """Raise the lower bound, at which the search ends."""
        clock = Clock(self._clock.left_s * self._params.share_of_bound)
        unseen = self._options.quiet()
        floor_ns = relaxed_fluid_ns(self._problem, unseen, clock, self._params)
        self.sweep.incumbent.raise_floor(floor_ns, "agg")

    def _is_over(self) -> bool:
        incumbent = self.sweep.incumbent
        incumbent.report()
        if incumbent.is_settled:
            return True
        if not self._clock.left_s:
            raise TimeoutError
        return False


def solve_local_search(
    problem: WeightOffload, options: SolveOptions, params: WeightSearchParams = WEIGHT_SEARCH
) -> Outcome:
    """Return the best schedule found, or the proof that none fits."""
    return _outcome(problem, options, params, WeightSearch.run)


def first_steps(
    problem: WeightOffload, options: SolveOptions, params: WeightSearchParams = WEIGHT_SEARCH
) -> Outcome:
    """Return the best schedule from one start, for a search that goes on by itself."""
    return _outcome(problem, options, params, WeightSearch.run_once)


def _outcome(
    problem: WeightOffload,
    options: SolveOptions,
    params: WeightSearchParams,
    run: Callable[[WeightSearch], object],
) -> Outcome:
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = WeightSearch(problem, options, params)

    def search_steps() -> None:
        run(search)

    termination = run_within_kernels(search_steps)
    incumbent = search.sweep.incumbent
    is_open = incumbent.period_ns > incumbent.floor_ns
    if termination is Termination.COMPLETED and is_open and incumbent.is_settled:
        termination = Termination.GAP_REACHED
    return Outcome(
        termination=termination,
        schedule=incumbent.schedule,
        bounds=(incumbent.floor,),
        work={
            "margins": search.sweep.tried,
            "changes": search.changes,
            "new_steps": search.new_steps,
        },
        note=search.what_ended_it,
    )
