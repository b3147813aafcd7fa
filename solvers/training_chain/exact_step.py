r"""exact: the least time of a short step, proved by a search through all states of its memory.

A first schedule comes from the joint local search. Then the question is whether there is a shorter
one, with every choice of the stages that the host updates: a step that repeats is the next
schedule, and where no choice has one, the last schedule is the best (`period_search`). States are
exact, so are times: whole tensors move, and everything starts when something ends.

What is proved holds for all training schedules: any order of recomputations, updates and moves, and
any number of steps after which something repeats. Where both directions of the link share a total,
or the memory of the host is limited, the search knows nothing of that: its bound holds, and the
schedule may be above it.

Chains of two stages take milliseconds, of three seconds, of four minutes if few of them have
weights; longer ones are declined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.incumbent import TrainingIncumbent
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.training_chain.local_search import (
    TrainingSearchParams,
    solve_joint_search,
)
from jettison.solvers.training_chain.period_search import (
    MOST_STAGES,
    Found,
    PeriodSearch,
)

# Questions for twice the time of the operations, four times, and so on, before that for any time.
_DOUBLINGS = 4


@dataclass(frozen=True, kw_only=True)
class TrainingExactParams(TrainingSearchParams):
    """Parameters of exact.

    Attributes
    ----------
    most_searched_stages
        Longer chains are declined, as are those of more than six stages.
    most_states
        States that are kept at a time, of about 200 bytes each.
    rounds, most_rounds
        Rounds of the local search that comes first, without a limit and with one.
    """

    most_searched_stages: int = 5
    most_states: int = 5_000_000
    rounds: int = 2
    most_rounds: int = 12


TRAINING_EXACT = TrainingExactParams()


def solve_training_exactly(
    problem: TrainingChain, options: SolveOptions, params: TrainingExactParams = TRAINING_EXACT
) -> Outcome:
    """Return the fastest schedule with its proof, or the proof that none fits.

    At the time limit, or when there are too many states, the outcome is that of the local search
    with what the search has found since.
    """
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    stages = len(problem.instance)
    most = min(params.most_searched_stages, MOST_STAGES)
    base = exact_bound(problem.base_time_ns, ScheduleClass.ALL, "base-time")
    if stages > most:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            bounds=(base,),
            note=f"the states of {stages} stages are too many to search, {most} stages are the "
            "most; use local-search, with the bounds cycle and cut-bound",
        )
    search = PeriodSearch(problem, params.most_states)
    if not search.is_precise:
        return Outcome(
            termination=Termination.MEMORY_LIMIT,
            bounds=(base,),
            note="the durations have too many digits in common units; round them to microseconds",
        )
    clock = Clock(options.time_limit_s)
    first = solve_joint_search(problem, _shared(options), params)
    if first.infeasibility is not None:
        return first
    incumbent = TrainingIncumbent(problem, options, clock)
    incumbent.begin_from(options.start, TrainingSchedule, ScheduleClass.ALL)
    for bound in first.bounds:
        incumbent.prove(bound)
    if isinstance(first.schedule, TrainingSchedule):
        incumbent.offer(first.schedule)
    proof = _Proof(problem, search, incumbent, clock)
    with Ending() as ending:
        ending.termination = proof.run()
    return proof.outcome(ending.termination)


def _shared(options: SolveOptions) -> SolveOptions:
    """Return the options of the local search, which gets a third of the time at most."""
    limit_s = options.time_limit_s
    return replace(options.quiet(), time_limit_s=None if limit_s is None else limit_s / 3)


class _Proof:
    """Questions to the search until the best schedule meets what they prove."""

    def __init__(
        self,
        problem: TrainingChain,
        search: PeriodSearch,
        incumbent: TrainingIncumbent,
        clock: Clock,
    ) -> None:
        self._problem = problem
        self._search = search
        self._incumbent = incumbent
        self._clock = clock
        # No schedule is below it by what has been answered, of the choices so far; None at first.
        self._proved_ns: int | None = None
        self._is_open = False
        self._states = self._questions = 0

    def run(self) -> Termination:
        """Ask about every choice of the stages that the host updates.

        Raises
        ------
        TimeoutError
            When the time is up.
        """
        for on_host in self._choices():
            termination = self._least_of(on_host)
            if termination is not Termination.COMPLETED:
                return termination
        self._is_open = False
        if self._proved_ns is not None:
            bound = exact_bound(self._proved_ns, ScheduleClass.ALL, "exact")
            self._incumbent.prove(bound)
        return Termination.COMPLETED

    def outcome(self, termination: Termination) -> Outcome:
        """Return the outcome."""
        incumbent, work = self._incumbent, {"states": self._states, "questions": self._questions}
        if termination is Termination.COMPLETED and self._proved_ns is None:
            nothing = Infeasibility(
                valid_for=ScheduleClass.ALL,
                least_memory_bytes=self._problem.memory_bytes + 1,
                is_exact=False,
            )
            return Outcome(termination=termination, infeasibility=nothing, work=work)
        note = None
        if termination is Termination.MEMORY_LIMIT:
            note = "more states than are kept at a time; raise most_states, or use local-search"
        elif termination is Termination.COMPLETED and not incumbent.is_best:
            note = "what was searched relaxes the link, the host's memory or the period"
        return incumbent.outcome(termination, work=work, note=note)

    def _choices(self) -> Iterator[tuple[int, ...]]:
        chain = self._problem.instance
        able = [
            number
            for number, stage in enumerate(chain, start=1)
            if stage.is_trained and stage.host_can_update
        ]
        for chosen in product((False, True), repeat=len(able)):
            yield tuple(number for number, is_chosen in zip(able, chosen, strict=True) if is_chosen)

    def _least_of(self, on_host: tuple[int, ...]) -> Termination:
        """Ask for shorter periods until there is none, or the search keeps too many states.

        Where the best known schedule is far above the time of the operations, as on a link so slow
        that no transfer ends within a step, the first questions are for some times that: they are
        answered soon, since few states can be reached in it.
        """
        most_ns = self._known_ns()
        trials = [self._problem.base_time_ns << doublings for doublings in range(1, _DOUBLINGS + 1)]
        while most_ns is None or most_ns >= self._problem.base_time_ns:
            if trials and most_ns is not None and trials[0] >= most_ns:
                trials.clear()
            asked_ns = trials.pop(0) if trials else most_ns
            limit_s = None if math.isinf(self._clock.left_s) else self._clock.left_s
            self._clock.require_time()
            answer = self._search.within(asked_ns, on_host, limit_s)
            self._questions += 1
            self._states += answer.states
            if answer.found is Found.TOO_MANY_STATES:
                return Termination.MEMORY_LIMIT
            if answer.found is Found.NONE:
                if asked_ns == most_ns:
                    break
                continue
            if answer.schedule is not None:
                self._incumbent.offer(answer.schedule)
            trials.clear()
            most_ns = answer.mean_ns - 1
        if most_ns is not None:
            least_ns = max(most_ns + 1, self._problem.base_time_ns)
            known_ns = self._proved_ns
            self._proved_ns = least_ns if known_ns is None else min(known_ns, least_ns)
        return Termination.COMPLETED

    def _known_ns(self) -> int | None:
        """Return the longest time that would be new, None for any."""
        known = [time_ns for time_ns in (self._incumbent.time_ns, self._proved_ns) if time_ns]
        return min(known) - 1 if known else None
