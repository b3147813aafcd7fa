"""event-milp: the least period by the exact MILP over events, with HiGHS.

The model is in `jettison.formulations.weight_offload.timed_events.least_period`. A local search
gives the first schedule, whose period is the largest one that the model looks at, and from whose
order of events HiGHS starts. Where no bound is above the time of all operations, the question
whether a step without idle time exists comes first: its model is a fraction of the size, and much
tighter. Then comes the least period.

Of a point only the binaries are read: they are an order of events, of which the fastest schedule is
computed in integers (`EventOrder`), and the replay judges it. The bound is HiGHS's own, lowered by
its tolerance: it rests on the solver, and not on exact arithmetic as that of `exact` does, which is
also faster: on random steps of four, five and six layers (`benchmarks/weight_exact.py`, five seeds
each) by a median factor of 59, 73 and 41 in CPU time, of 2 to 318 in single steps. This method is
there as an independent check, and for steps in which `exact` meets too many states.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.formulations.weight_offload.timed_events.least_period import EventMilp
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on, run_to_its_end
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.tolerance import left_open
from jettison.solvers.weight_offload.events.idle_free import IDLE_FREE, seek_without_idle
from jettison.solvers.weight_offload.events.least_period_search import (
    least_period_milp,
    seek_least_period,
)
from jettison.solvers.weight_offload.events.order_of_schedule import order_of_schedule
from jettison.solvers.weight_offload.events.params import EVENT_MILP, EventMilpParams
from jettison.solvers.weight_offload.incumbent import WeightIncumbent
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.local_search import first_steps
from jettison.solvers.weight_offload.shared_bracket import bracket_on_shared_link


def solve_event_milp(
    problem: WeightOffload, options: SolveOptions, params: EventMilpParams = EVENT_MILP
) -> Outcome:
    """Return the fastest schedule, with the bound of HiGHS; up to about eight layers in a minute.

    Models of more coefficients than the parameters allow, and those that take longer to build than
    the time limit allows, are declined with a note; what the local search found remains.
    """
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    if problem.link.is_shared:
        return bracket_on_shared_link(
            problem, options, lambda posed, half: solve_event_milp(posed, half, params)
        )
    search = _EventSearch(problem, options, params)
    try:
        termination = run_to_its_end(search.run)
    except SolverError as failed:
        termination, search.note = Termination.ERROR, str(failed)
    outcome = search.incumbent.outcome(termination, work=search.work, note=search.note)
    is_closed = search.incumbent.is_settled or search.note is not None
    return outcome if is_closed else left_open(outcome)


class _EventSearch:
    """Search by the event model: a start, the question without idle time, the least period.

    Attributes
    ----------
    incumbent
        The best schedule and the bounds.
    work
        Size of the last model, and nodes of all.
    note
        Why no model was solved to its end; None where limits say it.
    """

    def __init__(
        self, problem: WeightOffload, options: SolveOptions, params: EventMilpParams
    ) -> None:
        self._problem = problem
        self._options = options
        self._params = params
        self._clock = Clock(options.time_limit_s)
        self.incumbent = WeightIncumbent(problem, options, self._clock)
        self.work: dict[str, int] = {"rows": 0, "columns": 0, "coefficients": 0, "nodes": 0}
        self.note: str | None = None

    def run(self) -> Termination:
        """Search until the period is settled or a limit is hit; return what ended it."""
        incumbent = self.incumbent
        incumbent.begin_from(self._options.start, CyclicSchedule, ScheduleClass.ALL)
        self._search_locally()
        if incumbent.is_settled:
            return incumbent.end
        if incumbent.lower_bound_ns == self._problem.base_time_ns:
            ended = self._declined(IDLE_FREE) or self._seek_without_idle()
            if ended is not None or incumbent.is_settled:
                return ended or incumbent.end
        milp = least_period_milp(incumbent.period_ns, incumbent.lower_bound_ns)
        return self._declined(milp) or self._seek_least(milp)

    def _search_locally(self) -> None:
        limit_s = self._options.time_limit_s
        share = self._params.share_of_start
        options = replace(
            self._options.quiet(), time_limit_s=None if limit_s is None else limit_s * share
        )
        outcome = first_steps(self._problem, options, self._params)
        assert isinstance(outcome.schedule, CyclicSchedule)
        for bound in outcome.bounds:
            self.incumbent.raise_floor(bound.time_ns, bound.method)
        self.incumbent.offer(outcome.schedule)
        pass_interrupt_on(outcome.termination)
        assert self.incumbent.schedule is not None
        # The same order of events, everything at the earliest time that it allows.
        self.incumbent.offer(order_of_schedule(self._problem, self.incumbent.schedule).schedule())

    def _declined(self, milp: EventMilp) -> Termination | None:
        """Return the limit that a model would exceed, with a note; None where it can be built."""
        coefficients = milp.estimated_coefficients(self._problem)
        size = f"the model over events has about {coefficients:,} coefficients"
        if coefficients > self._params.most_coefficients:
            most = self._params.most_coefficients
            self.note = f"{size}, more than the {most:,} that are tried; use local-search"
            return Termination.MEMORY_LIMIT
        seconds = coefficients * self._params.seconds_per_coefficient
        if seconds > self._clock.left_s:
            self.note = f"{size}, which take {seconds:.0f} s to write down; allow more time"
            return Termination.TIME_LIMIT
        return None

    def _seek_without_idle(self) -> Termination | None:
        """Ask for a step without idle time; return what ended the search, None if it goes on."""
        answer = seek_without_idle(self._problem, self._options, self._clock)
        self.work["nodes"] += answer.nodes
        self.incumbent.offer(answer.schedule)
        if answer.is_refuted:
            self.incumbent.prove(answer.bound(self._problem, "event-milp"))
        return None if answer.termination.is_regular else answer.termination

    def _seek_least(self, milp: EventMilp) -> Termination:
        """Minimise the period; return what ended the search."""
        incumbent = self.incumbent
        assert incumbent.schedule is not None
        model, solution = seek_least_period(
            self._problem,
            milp,
            incumbent.schedule,
            _Listener(incumbent),
            self._options,
            self._clock,
        )
        self.work["rows"], self.work["columns"] = model.num_rows, model.num_columns
        self.work["coefficients"] = model.num_nonzeros
        self.work["nodes"] += solution.nodes
        return incumbent.end if incumbent.is_settled else solution.termination


class _Listener:
    """Listener to a search for the least period that tells the incumbent."""

    def __init__(self, incumbent: WeightIncumbent) -> None:
        self._incumbent = incumbent

    def take(self, schedule: CyclicSchedule | None) -> None:
        """Offer a schedule."""
        self._incumbent.offer(schedule)

    def raise_by_solver(self, time_ns: int) -> None:
        """Keep a bound of HiGHS."""
        bound = Bound(
            time_ns=min(time_ns, self._incumbent.period_ns),
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.SOLVER,
            method="event-milp",
        )
        self._incumbent.prove(bound)

    @property
    def is_closed(self) -> bool:
        """Whether schedule and bound are as close as was asked for."""
        return self._incumbent.is_settled
