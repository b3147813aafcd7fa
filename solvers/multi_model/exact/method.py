r"""exact: the least iteration time of several models on small instances, proved.

The optimum over every schedule that the replay accepts: all divisions of the models into pairs and
sub-arrays alone, and for each unit all operation lists (`unit`). The values of units start at their
lower bounds (`bound.divisions`). In the division with the least sum, units without a proved time
are searched, by local search first, until there is none. Then no division is faster: searched units
count with their times, and the others with no more than theirs.

If the search stops early, the bound is the least sum of the values by then; the schedule is the
division with the least sum of the times of schedules, each unit with everything swapped, which
always fits, or better.

On a link that both directions share the answer is a bracket (`on_shared_link`).
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import run_to_its_end
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.bound.divisions import DivisionBound
from jettison.solvers.multi_model.decisions import least_memory_decisions
from jettison.solvers.multi_model.exact.on_shared_link import exact_on_shared_link
from jettison.solvers.multi_model.exact.unit import ExactUnit, LabelParams
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_division import (
    Sizes,
    best_division,
)
from jettison.solvers.multi_model.least_memory import multi_model_infeasibility
from jettison.solvers.multi_model.local_search import UnitSearch, UnitSearchParams


@dataclass(frozen=True, kw_only=True)
class ExactParams(LabelParams, UnitSearchParams):
    """Parameters of exact: limits of its search by labels, and the local search before it."""


EXACT = ExactParams()


def solve_multi_model_exact(
    problem: MultiModelTraining, options: SolveOptions, params: ExactParams = EXACT
) -> Outcome:
    """Return the fastest schedule, proved, of up to about five feature maps and eight operators.

    Returns
    -------
    Outcome
        With a bound that meets the time unless a limit was hit, or the link is shared; or the proof
        that nothing fits.
    """
    if problem.link.is_shared:
        return exact_on_shared_link(
            problem,
            options,
            params,
            lambda posed, half: solve_multi_model_exact(posed, half, params),
        )
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = _DivisionSearch(problem, options, params)
    termination = run_to_its_end(search.run)
    return search.outcome(termination)


def _bound(time_ns: int) -> Bound:
    return Bound(
        time_ns=time_ns,
        valid_for=ScheduleClass.ALL,
        evidence=Evidence.EXACT,
        method="exact",
    )


class _DivisionSearch:
    """Bounds and schedules of all units, improved in the division of least sum."""

    def __init__(
        self, problem: MultiModelTraining, options: SolveOptions, params: ExactParams
    ) -> None:
        self._params = params
        self._problem = problem
        self._options = options
        self._clock = Clock(options.time_limit_s)
        self._bounds = DivisionBound(problem, options, self._clock)
        self._exact: dict[Sizes, ExactUnit] = {}
        self._incumbent: Incumbent[MultiModelSchedule] = Incumbent(
            lambda schedule: schedule.replay(problem), 0, options, self._clock
        )
        self._incumbent.begin_from(options.start, MultiModelSchedule, ScheduleClass.ALL)
        for sizes in self._bounds.units:
            arrays = tuple(problem.sub_array(size) for size in sizes)
            executed = UnitExecutor(problem, sizes).execute(least_memory_decisions(arrays))
            # It always fits where the unit does.
            assert executed is not None
            self._exact[sizes] = ExactUnit(problem, executed.unit, executed.time_ns, params)

    def run(self) -> Termination:
        """Search until the best division is proved."""
        while self._clock.left_s:
            division = best_division(self._problem.counts, self._least_ns())
            assert division is not None
            if self._tell(division.value):
                return Termination.COMPLETED
            open_units = [sizes for sizes in division.units if not self._exact[sizes].is_proved]
            if not open_units:
                return Termination.COMPLETED
            loose = [sizes for sizes in open_units if not self._bounds.units[sizes].is_relaxed]
            if loose:
                if self._bounds.relax(loose[0]) is Termination.INTERRUPTED:
                    return Termination.INTERRUPTED
            else:
                sizes = open_units[0]
                unit, least_ns = self._exact[sizes], self._bounds.units[sizes].exact_ns
                self._search_near(sizes)
                if unit.is_too_large and unit.time_ns > least_ns:
                    return Termination.NODE_LIMIT
                unit.run(least_ns, self._clock)
        return Termination.TIME_LIMIT

    def _tell(self, least_ns: int) -> bool:
        """Tell of what is better than before; return whether the start is proved to be best."""
        incumbent = self._incumbent
        time_ns, schedule = self._schedule()
        if incumbent.time_ns is None or time_ns < incumbent.time_ns:
            incumbent.offer(schedule)
        incumbent.prove(_bound(min(least_ns, incumbent.time_ns or least_ns)))
        incumbent.report()
        return self._options.start is not None and incumbent.is_best

    def _search_near(self, sizes: Sizes) -> None:
        """Run local search first: a unit whose schedule meets its bound needs no labels."""
        search = UnitSearch(self._problem, sizes, self._options.seed, self._params)
        while not search.is_over and self._clock.left_s:
            search.run_round(self._clock)
        self._exact[sizes].offer(search.best.executed.unit, search.time_ns)

    def outcome(self, termination: Termination) -> Outcome:
        """Return the best schedule and the bound as an outcome."""
        time_ns, schedule = self._schedule()
        known, known_ns = self._incumbent.schedule, self._incumbent.time_ns
        if known is not None and known_ns is not None and known_ns < time_ns:
            time_ns, schedule = known_ns, known
        division = best_division(self._problem.counts, self._least_ns())
        assert division is not None
        return Outcome(
            termination=termination,
            schedule=schedule,
            bounds=(_bound(min(division.value, time_ns)),),
            work={
                **self._bounds.work,
                "searched": sum(unit.is_proved for unit in self._exact.values()),
                "labels": sum(unit.labels for unit in self._exact.values()),
            },
        )

    def _least_ns(self) -> dict[Sizes, int]:
        # Only bounds in exact arithmetic, so that the answer is exact.
        return {
            sizes: unit.time_ns if unit.is_proved else bound.exact_ns
            for (sizes, unit), bound in zip(
                self._exact.items(), self._bounds.units.values(), strict=True
            )
        }

    def _schedule(self) -> tuple[int, MultiModelSchedule]:
        times_ns = {sizes: unit.time_ns for sizes, unit in self._exact.items()}
        division = best_division(self._problem.counts, times_ns)
        assert division is not None
        units = tuple(self._exact[sizes].unit for sizes in division.units)
        return division.value, MultiModelSchedule(units)
