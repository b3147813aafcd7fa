"""Local search for weight offloading, from the best schedule of the other methods.

It starts with the best of L2L, Greedy, Greedy* and all margins. A plan is what is absent, and the
order of all operations and transfers; its period is that of the steps in which everything starts as
soon as this order allows. A change moves a transfer in the order, which also decides on early
uploads and the cut, or makes, drops or swaps choices. It is accepted if the period grows by no more
than a threshold that falls to nothing over a round of changes; each round starts from the best
plan. The search ends at a lower bound, that of the relaxation of AGG in exact arithmetic, or when
many changes were in vain and none of the other methods (`baselines_first`) knows a better one; a
note then says what ended it, for time may be left and a better step may exist.

The result is the same for a seed if no time limit ends it, or the models of `bound-guided`. That
baseline solves models with integers, for so many seconds each, and its bound to the end: its clock
is a part of what it finds wherever it is asked, with `MOST_FOR_BASELINES_S` at most where there is
no limit. It is asked last, so what was found before it does not depend on any clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.baselines_first import schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.aggregated import relaxed_fluid_ns
from jettison.solvers.weight_offload.greedy.selection import Choice, select_choices
from jettison.solvers.weight_offload.incumbent import run_within_kernels
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.margin_sweep import MarginSweep
from jettison.solvers.weight_offload.scheduler import Discount, WeightScheduler

# How many changes may be in vain for each layer, and how many come between two looks at the clock
# and the progress.
MOST_IN_VAIN = 1_000
CHANGES = 1_000
# Without a limit `bound-guided` would solve its models to the end, which can take hours.
MOST_FOR_BASELINES_S = 20.0
# Of the time that is left after the sweep, for a lower bound.
SHARE_OF_BOUND = 0.2


class WeightSearch:
    """The sweep over margins, and the local search from where it ends.

    Attributes
    ----------
    sweep
        Its incumbent is the best schedule of all.
    changes
        How many changes have been tried.
    what_ended_it
        Why a search that no limit ended leaves a gap open; None where it does not.
    """

    def __init__(self, problem: WeightOffload, options: SolveOptions) -> None:
        self.what_ended_it: str | None = None
        self.sweep = MarginSweep(problem)
        self.changes = 0
        self._problem = problem
        self._options = options
        self._clock = Clock(options.time_limit_s)

    def run(self) -> None:
        """Search until nothing more is to be expected.

        Raises
        ------
        TimeoutError, OverflowError
            As the sweep does.
        """
        for _ in self.sweep.run(self._clock):
            if self._is_over():
                return
        self._raise_floor()
        if self._is_over():
            return
        incumbent = self.sweep.incumbent
        scheduler = WeightScheduler(self._problem)
        choices = select_choices(self._problem)
        # In the least memory and more, all choices together are enough.
        assert choices is not None
        incumbent.offer(scheduler.schedule(choices, Discount.NOT_USED, self._clock.left_s))
        if self._has_changed_in_vain(scheduler, self.sweep.choices or choices):
            # The cheap ones have been tried above. The one that takes longest to ask, which solves
            # models, comes when the changes have nothing more to give.
            clock = Clock(min(self._clock.left_s, MOST_FOR_BASELINES_S))
            for schedule in schedules_of_baselines(
                self._problem, "local-search", self._options, clock
            ):
                assert isinstance(schedule, CyclicSchedule)
                incumbent.offer(schedule)
                if self._is_over():
                    return
            self.what_ended_it = (
                f"{MOST_IN_VAIN:,} changes a layer were in vain, and no baseline was better; "
                "there may be one"
            )

    def _has_changed_in_vain(self, scheduler: WeightScheduler, choices: Sequence[Choice]) -> bool:
        """Search from a selection, until nothing more is to be expected; tell if time is left."""
        incumbent = self.sweep.incumbent
        search = scheduler.search(choices, incumbent.floor_ns, self._options.seed)
        tried_before = self.changes
        try:
            while search.tried_in_vain < MOST_IN_VAIN * len(self._problem.instance):
                search.run(CHANGES, self._clock.left_s)
                if search.period_ns < incumbent.period_ns:
                    incumbent.offer(search.schedule)
                if self._is_over():
                    return False
        finally:
            self.changes = tried_before + search.tried
            incumbent.offer(search.schedule)
        return True

    def _raise_floor(self) -> None:
        """Prove how good the best schedule can be: the search ends there, and reports it."""
        clock = Clock(self._clock.left_s * SHARE_OF_BOUND)
        unseen = self._options.quiet()
        floor_ns = relaxed_fluid_ns(self._problem, unseen, clock)
        self.sweep.incumbent.raise_floor(floor_ns, "agg")

    def _is_over(self) -> bool:
        incumbent = self.sweep.incumbent
        if self._options.on_progress is not None:
            self._options.on_progress(incumbent.progress(self._clock))
        if incumbent.is_within(self._options):
            return True
        if not self._clock.left_s:
            raise TimeoutError
        return False


def solve_local_search(problem: WeightOffload, options: SolveOptions) -> Outcome:
    """Return the best schedule found, or the proof that none fits."""
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = WeightSearch(problem, options)
    termination = run_within_kernels(search.run)
    incumbent = search.sweep.incumbent
    is_open = incumbent.period_ns > incumbent.floor_ns
    if termination is Termination.COMPLETED and is_open and incumbent.is_within(options):
        termination = Termination.GAP_REACHED
    return Outcome(
        termination=termination,
        schedule=incumbent.schedule,
        bounds=(incumbent.floor,),
        work={"margins": search.sweep.tried, "changes": search.changes},
        note=search.what_ended_it,
    )
