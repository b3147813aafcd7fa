r"""Joint local search: what is kept, sent or computed again, where weights are, where updates run.

It begins with the best of all baselines and of a family of joint plans: all weights streamed or
resident; updates on the device or on the host; the last stages keep their activations, of the
others every second, third or none is sent and the rest computed again; and of those that a descent
over a few parameters of all stages finds (`plan_families`). Then choices change: those of a stage,
of two stages that swap, of a run of neighbours, and the depths and orders of transfers. Each plan
is timed at once (`step_timing`); a change is accepted if the step grows by no more than a threshold
that falls to 0 over a round, and each round starts from the best plan, after idle rounds from one
some changes away from it. What is better is replayed. A plan for which one resource alone is busy
for too long is not timed. Without a limit on the time it ends after some rounds; with one it goes
on until then, until many rounds have found nothing faster, or until the plan is proved to be the
best. The result depends on the seed alone, and on the time only where the limit ends it.

The bound is the largest of the cut bound, of the cycle and the peak bound (`cycle_method`), and of
that of the weights alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.bounds.activations_bound import bound_activations
from jettison.solvers.training_chain.bounds.cycle_method import CycleParams, bound_training_cycle
from jettison.solvers.training_chain.bounds.weights_bound import bound_training_weights
from jettison.solvers.training_chain.incumbent import TrainingIncumbent
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.plan_changes import changed
from jettison.solvers.training_chain.plan_codes import CodedPlan, PlanCodes, coded
from jettison.solvers.training_chain.plan_families import descend_families
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
    possible,
)
from jettison.solvers.training_chain.step_timing import NO_MOST_NS
from jettison.solvers.training_chain.sweep_plans import plans_of_a_limit

# A bound that is asked for has at least this time, in which small models are solved.
_LEAST_S = 0.05
# Changes that are taken although the step grows, by this share each, before a round that follows
# idle ones.
_MOST_KICKS = 24
_LARGEST_KICK = 0.004


@dataclass(frozen=True, kw_only=True)
class TrainingSearchParams(CycleParams):
    """Parameters of local-search.

    Attributes
    ----------
    share_of_bound
        Share of the time left, after the joint plans, for the bounds.
    rounds
        Rounds of changes where there is no time limit.
    idle_rounds
        Rounds without a faster plan after which a search with a time limit ends before it.
    changes_per_stage
        Changes in a round, for each stage.
    first_threshold
        The threshold at the beginning of a round, as a share of the time of the step.
    """

    share_of_bound: float = 0.6
    rounds: int = 12
    idle_rounds: int = 48
    changes_per_stage: int = 60
    first_threshold: float = 0.001


TRAINING_SEARCH = TrainingSearchParams()


def solve_joint_search(
    problem: TrainingChain, options: SolveOptions, params: TrainingSearchParams = TRAINING_SEARCH
) -> Outcome:
    """Return the best schedule found with the bounds, or the proof that none fits."""
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = _Search(problem, options, params)
    with Ending() as ending:
        try:
            search.run()
        except _WorkIsDoneError:
            ending.termination = Termination.WORK_LIMIT
    termination = ending.termination
    incumbent = search.incumbent
    if termination is Termination.COMPLETED and incumbent.is_settled and not incumbent.is_best:
        termination = Termination.GAP_REACHED
    note = None
    if incumbent.schedule is None:
        note = "no plan fits that was tried; a schedule may exist"
    elif termination is Termination.COMPLETED and not incumbent.is_best:
        note = f"{search.tried:,} plans were tried; there may be a better one"
    return incumbent.outcome(termination, work={"plans": search.tried}, note=note)


class _WorkIsDoneError(Exception):
    """No more plans may be tried."""


class _Search:
    def __init__(
        self, problem: TrainingChain, options: SolveOptions, params: TrainingSearchParams
    ) -> None:
        self._problem = problem
        self._options = options
        self._params = params
        self._clock = Clock(options.time_limit_s)
        self.incumbent = TrainingIncumbent(problem, options, self._clock)
        self.incumbent.begin_from(options.start, TrainingSchedule, ScheduleClass.ALL)
        self._timer = PlanTimer(problem)
        self._codes = PlanCodes(problem.instance)
        self._most_plans = plans_of_a_limit(options)
        self.tried = 0
        self._known: dict[CodedPlan, int | None] = {}
        self._best: tuple[int, CodedPlan] | None = None

    def run(self) -> None:
        """Search until schedule and bound are close enough, or all rounds are over.

        Raises
        ------
        TimeoutError
            When the time is up.
        """
        # Each has the limit that it has by itself, so that the promise to be no worse holds
        # whatever the limit is. Where that is short, they take longer than it together.
        for name in find_method(self._problem.problem, "local-search").baselines:
            found = find_method(self._problem.problem, name).run(
                self._problem, self._options.quiet()
            )
            if isinstance(found.schedule, TrainingSchedule):
                self.incumbent.offer(found.schedule)
            pass_interrupt_on(found.termination)
            self.incumbent.report()
            if self.incumbent.is_settled:
                return
        self._clock.require_time()
        for plan in joint_plans(self._problem):
            self._try(coded(plan))
            if self._is_over():
                return
        descend_families(self._problem.instance, self._try_in_time)
        if self._is_over():
            return
        self._prove()
        chance = random.Random(self._options.seed)
        rounds = idle = 0
        is_limited = not math.isinf(self._clock.left_s)
        while self._best is not None and idle < self._params.idle_rounds:
            if rounds >= self._params.rounds and not is_limited:
                return
            best_ns = self._best[0]
            if self._search_round(chance, _kicks_after(idle)):
                return
            idle = idle + 1 if self._best[0] == best_ns else 0
            rounds += 1

    def _prove(self) -> None:
        """Prove the bounds in a share of the time that is left.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C.
        """
        clock = self._clock.share(self._params.share_of_bound)
        quiet = self._options.quiet()
        for method in (bound_activations, self._cycle, bound_training_weights):
            found = method(self._problem, _within(quiet, clock))
            for bound in found.bounds:
                self.incumbent.prove(bound)
            pass_interrupt_on(found.termination)

    def _cycle(self, problem: TrainingChain, options: SolveOptions) -> Outcome:
        return bound_training_cycle(problem, options, self._params)

    def _search_round(self, chance: random.Random, kicks: int) -> bool:
        """Change the best plan, after some kicks; tell if the search is over."""
        assert self._best is not None
        time_ns, plan = self._best
        for _ in range(kicks):
            candidate = changed(plan, chance)
            found_ns = self._try(candidate)
            if found_ns is not None and found_ns <= time_ns * (1 + _LARGEST_KICK):
                time_ns, plan = found_ns, candidate
        count = self._params.changes_per_stage * len(self._problem.instance)
        for place in range(count):
            if self._is_over():
                return True
            candidate = changed(plan, chance)
            threshold = self._params.first_threshold * (1 - place / count)
            most_ns = int(time_ns * (1 + threshold))
            found_ns = self._try(candidate, most_ns)
            if found_ns is not None and found_ns <= most_ns:
                time_ns, plan = found_ns, candidate
        return False

    def _try(self, plan: CodedPlan, most_ns: int = NO_MOST_NS) -> int | None:
        """Time a plan, and offer its step; return its time, if it fits.

        Slower plans than `most_ns` may have no time.
        """
        key = self._codes.essential(plan)
        if key in self._known:
            return self._known[key]
        if self.tried >= self._most_plans:
            raise _WorkIsDoneError
        self.tried += 1
        step = self._timer.of_codes(key, most_ns)
        time_ns = None if step is None else step.period_ns
        if step is not None or most_ns == NO_MOST_NS:
            self._known[key] = time_ns
        if time_ns is not None and (self._best is None or time_ns < self._best[0]):
            is_no_better = self.incumbent.time_ns is not None and time_ns >= self.incumbent.time_ns
            if is_no_better or self.incumbent.offer_step(step):
                self._best = time_ns, plan
            else:
                # A step whose replay finds fault is no start either.
                self._known[key] = time_ns = None
        return time_ns

    def _try_in_time(self, plan: JointPlan) -> int | None:
        found_ns = self._try(coded(plan))
        self.incumbent.report()
        self._clock.require_time()
        return found_ns

    def _is_over(self) -> bool:
        self.incumbent.report()
        if self.incumbent.is_settled:
            return True
        self._clock.require_time()
        return False


def _kicks_after(idle: int) -> int:
    """Return the kicks before a round: none while rounds find faster plans, then more and more.

    Every other round is without.
    """
    return 0 if idle % 2 == 0 else 2 + idle % _MOST_KICKS


def _within(options: SolveOptions, clock: Clock) -> SolveOptions:
    if math.isinf(clock.left_s):
        return replace(options, time_limit_s=None)
    return replace(options, time_limit_s=max(clock.left_s, _LEAST_S))


def joint_plans(problem: TrainingChain) -> Iterator[JointPlan]:
    """Yield the family of joint plans: some hundreds on a long chain, the promising ones first.

    The depths of prefetching are left to changes.
    """
    count = len(problem.instance)
    kept_stages = sorted({1, *(count * part // 12 for part in range(1, 13))})
    absences = [(False, False)]
    if any(stage.weight_bytes for stage in problem.instance):
        absences = [(True, True), (False, True), (False, False), (True, False)]
    have_states = any(stage.optimizer_state_bytes for stage in problem.instance)
    bases = []
    if any(stage.host_can_update for stage in problem.instance):
        bases.append(StageChoice(update=UpdatePlace.HOST, states_away=True))
    bases += [StageChoice(states_away=True)] * have_states + [StageChoice()]
    for base in bases:
        for between, after in absences:
            for every in (2, 0, 3, 1):
                for kept in kept_stages:
                    stages = tuple(
                        base._replace(
                            saved=_way(number, count - kept, every),
                            away_between=between,
                            away_after=after,
                        )
                        for number in range(1, count + 1)
                    )
                    yield possible(problem.instance, JointPlan(stages, 3, 3))


def _way(number: int, last_not_kept: int, every: int) -> Way:
    if number > last_not_kept:
        return Way.KEPT
    return Way.SENT if every and number % every == 0 else Way.AGAIN
