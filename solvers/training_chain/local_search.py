r"""Joint local search: what is kept, sent or computed again, where weights are, where updates run.

It begins with the best of all baselines and of a family of joint plans: all weights streamed or
resident; updates on the device or on the host; the last stages keep their activations, of the
others every second, third or none is sent and the rest computed again; and of those that a descent
over a few parameters of all stages finds (`plan_families`). Then choices change: those of a stage,
of two stages that swap, of a run of neighbours, and the depths and orders of transfers. Each plan
is timed at once (`step_timing`); a change is accepted if the step grows by no more than a threshold
that falls to 0 over a round, and each round starts from the best plan, after idle rounds from one
some changes away from it. What is better is replayed. A plan for which one resource alone is busy
for too long is not timed. Without a limit it ends after some rounds; with one, on the time or the
work, it goes on until then, until rounds find no plan that was not tried, or until the plan is
proved to be the best: the longer nothing faster is found, the further away rounds begin. The result
depends on the seed alone, and on the time only where the limit ends it.

One clock has all of this. Baselines come first, in the order of what they cost, and the plans of
each are timed to their end (`steps_of_baselines`); what a replay takes is kept free, so that the
limit holds to a plan, unless it is too short for the first two baselines, of a plan each. So the
answer is no slower than that of a baseline, as long as its plans and those before it are timed
within the limit. The limit comes before that promise: where it ends the baselines, one of them may
find more in the same limit by itself. A limit on the work (`SolveOptions.most_moves`) is one on the
plans that are not of baselines; each of these has as many for itself, so that the promise holds at
any.

The bound is the largest of the cut bound, of the cycle and the peak bound (`cycle_method`), and of
that of the weights alone.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.bounds.activations_bound import bound_activations
from jettison.solvers.training_chain.bounds.cycle_method import CycleParams, bound_training_cycle
from jettison.solvers.training_chain.bounds.weights_bound import bound_training_weights
from jettison.solvers.training_chain.incumbent import TrainingIncumbent
from jettison.solvers.training_chain.joint_plans import joint_plans
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.plan_changes import changed
from jettison.solvers.training_chain.plan_codes import CodedPlan, PlanCodes, coded
from jettison.solvers.training_chain.plan_families import descend_families
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import JointPlan
from jettison.solvers.training_chain.step_timing import NO_MOST_NS, TimedStep
from jettison.solvers.training_chain.steps_of_baselines import steps_of_baselines
from jettison.solvers.training_chain.sweep_plans import plans_of_a_limit

# A bound that is asked for has at least this time, in which small models are solved.
_LEAST_S = 0.05
# Baselines before which no time is asked for. They have a plan each, and where that of the second
# fits, everything offloaded, there is a schedule whatever the limit is.
_WITHOUT_A_CLOCK = 2
# Replays of the answer that follow the search: the one that accepts it, and that of the result.
_REPLAYS = 2
# Slow plans that are remembered, with the limit that they exceed.
_MOST_SLOW_PLANS = 500_000
# Changes that are taken although the step grows, by this share each, before a round that follows
# idle ones. After as many idle rounds as there are kicks at most, the share is twice as large, up
# to some times; then it begins anew.
_MOST_KICKS = 24
_LARGEST_KICK = 0.004
_DOUBLINGS = 4


@dataclass(frozen=True, kw_only=True)
class TrainingSearchParams(CycleParams):
    """Parameters of local-search.

    Attributes
    ----------
    share_of_bound
        Share of the time left, after the joint plans, for the bounds.
    rounds
        Rounds of changes where there is no limit on the time or the work.
    most_rounds
        Rounds at most where there is one.
    rounds_of_known_plans
        Rounds in a row without a plan that was not tried before, after which a search with a limit
        ends before it.
    changes_per_stage
        Changes in a round, for each stage.
    first_threshold
        The threshold at the beginning of a round, as a share of the time of the step.
    """

    share_of_bound: float = 0.6
    rounds: int = 12
    most_rounds: int = 10**9
    rounds_of_known_plans: int = 48
    changes_per_stage: int = 60
    first_threshold: float = 0.003


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
        # Plans that are slower than this, and by how much is not known.
        self._slower: dict[CodedPlan, int] = {}
        self._replay_s: float | None = None
        self._best: tuple[int, CodedPlan] | None = None

    def run(self) -> None:
        """Search until schedule and bound are close enough, or all rounds are over.

        Raises
        ------
        TimeoutError
            When the time is up.
        """
        if self._begin_from_baselines():
            return
        self._require_time()
        for plan in joint_plans(self._problem):
            self._try(coded(plan))
            if self._is_over():
                return
        descend_families(self._problem.instance, self._try_in_time)
        if self._is_over():
            return
        self._prove()
        chance = random.Random(self._options.seed)
        rounds = idle = without_new = 0
        is_limited = not (math.isinf(self._clock.left_s) and math.isinf(self._most_plans))
        most = self._params.most_rounds if is_limited else self._params.rounds
        while self._best is not None and without_new < self._params.rounds_of_known_plans:
            if rounds >= most:
                return
            best_ns, tried = self._best[0], self.tried
            if self._search_round(chance, *_kicks_after(idle)):
                return
            idle = idle + 1 if self._best[0] == best_ns else 0
            without_new = without_new + 1 if self.tried == tried else 0
            rounds += 1

    def _begin_from_baselines(self) -> bool:
        """Time the plans of all baselines, replay the fastest; tell if the search is over.

        Raises
        ------
        TimeoutError
            When the time is up, after the replay.
        """
        found: list[TimedStep] = []
        most_plans = None if math.isinf(self._most_plans) else int(self._most_plans)
        try:
            for place, (_, steps) in enumerate(steps_of_baselines(self._problem, self._clock)):
                for step in itertools.islice(steps, most_plans):
                    if step is not None:
                        found.append(step)
                        if self._replay_s is None or self._settles(step):
                            self._replay(step)
                            if self.incumbent.is_settled:
                                return True
                    if place >= _WITHOUT_A_CLOCK or self._replay_s is not None:
                        self._require_time()
        finally:
            for step in sorted(found, key=lambda step: step.period_ns):
                if self._replay(step):
                    break
        self.incumbent.report()
        return self.incumbent.is_settled

    def _settles(self, step: TimedStep) -> bool:
        """Tell whether a step is close enough to the bound, if it is valid."""
        base_ns = self._problem.base_time_ns
        bound_ns = self.incumbent.lower_bound_ns
        return self._options.is_close_enough(step.period_ns, bound_ns, base_ns)

    def _replay(self, step: TimedStep) -> bool:
        """Offer a step; tell whether no slower one is of use. Note how long a replay takes."""
        if self.incumbent.time_ns is not None and self.incumbent.time_ns <= step.period_ns:
            return True
        began_s = self._clock.seconds
        is_valid = self.incumbent.offer_step(step)
        self._replay_s = self._clock.seconds - began_s
        return is_valid

    def _require_time(self) -> None:
        """Raise `TimeoutError` where no more time is left than replays of the answer take."""
        if self._clock.left_s <= _REPLAYS * (self._replay_s or 0.0):
            raise TimeoutError

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

    def _search_round(self, chance: random.Random, kicks: int, share: float) -> bool:
        """Change the best plan, after kicks of up to a share each; tell if the search is over."""
        assert self._best is not None
        time_ns, plan = self._best
        for _ in range(kicks):
            if self._is_over():
                return True
            candidate = changed(plan, chance)
            found_ns = self._try(candidate)
            if found_ns is not None and found_ns <= time_ns * (1 + share):
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
        if most_ns <= self._slower.get(key, -1):
            return None
        if self.tried >= self._most_plans:
            raise _WorkIsDoneError
        self.tried += 1
        step = self._timer.of_codes(key, most_ns)
        time_ns = None if step is None else step.period_ns
        if step is not None or most_ns == NO_MOST_NS:
            self._known[key] = time_ns
        elif len(self._slower) < _MOST_SLOW_PLANS:
            self._slower[key] = most_ns
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
        self._require_time()
        return found_ns

    def _is_over(self) -> bool:
        self.incumbent.report()
        if self.incumbent.is_settled:
            return True
        self._require_time()
        return False


def _kicks_after(idle: int) -> tuple[int, float]:
    """Return the kicks before a round, and by which share the step may grow with each.

    None while rounds find faster plans, then more and more, and larger ones. Every other round is
    without.
    """
    share = _LARGEST_KICK * 2 ** (idle // _MOST_KICKS % _DOUBLINGS)
    return (0 if idle % 2 == 0 else 2 + idle % _MOST_KICKS), share


def _within(options: SolveOptions, clock: Clock) -> SolveOptions:
    if math.isinf(clock.left_s):
        return replace(options, time_limit_s=None)
    return replace(options, time_limit_s=max(clock.left_s, _LEAST_S))
