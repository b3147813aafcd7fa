r"""Local search for training several models: changes to decisions, and the best division.

A unit starts from the decisions of µ-TWO's policy, with and without a charge for copies to the
host, a sub-array alone also from those of its two arms and of Capuchin: with their prompts, or with
the prefetches of the executor, which are just in time. The first round of changes of a pair starts
from the best of these, and of what the arms decide, with three interleavings: that of the policy,
the forward pass after the backward pass, and both evenly.

A change gives one feature map another fate, lets two exchange theirs, or moves a forward operator
of a pair to another place. It is accepted if the iteration grows by no more than a threshold, which
falls to 0 over a round of changes; each round starts from the best. Two sub-arrays of one size have
the same decisions.

The units of µ-TWO's divisions, of HFTA's groups and of all models fused get their schedules first,
whatever the time limit: so no baseline of the table is faster than the result. Other units count
with the time of their operators, a lower bound; those that appear in the best division get
schedules, until every unit of the best division has one. Then the units of the best division by
these times are searched in turn. A unit that takes the time of its operators is optimal and needs
no search.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.multi_model.sub_array_key import key_of
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import run_to_its_end
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.baselines import hfta_groups
from jettison.solvers.multi_model.capuchin import capuchin_unit
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions, least_memory_decisions
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_division import (
    Sizes,
    best_division,
    units_that_fit,
)
from jettison.solvers.multi_model.least_memory import multi_model_infeasibility
from jettison.solvers.multi_model.mu_two.divisions import paired_divisions
from jettison.solvers.multi_model.mu_two.method import mixed_divisions, unit_both_ways
from jettison.solvers.multi_model.mu_two.policy import OutOfMemoryStrategy
from jettison.solvers.multi_model.mu_two.unit import PolicyParams, ScheduledUnit, scheduled_unit


@dataclass(frozen=True, kw_only=True)
class UnitSearchParams(PolicyParams):
    """Parameters of the search of each unit: limits on its rounds.

    Attributes
    ----------
    changes
        Changes that a round tries.
    most_rounds_in_vain
        Rounds without an improvement that end the search of a unit.
    share_of_moves
        Share of the changes of a pair that move a forward operator to another place.
    share_before_exchanges
        Share of the changes that move a forward operator or give a feature map another fate; in the
        others two feature maps exchange their fates.
    reach_divisor
        Divisor of the number of forward operators that gives how far one is moved at most.
    first_threshold
        By how much a change may be slower at the start of a round, as a share of the iteration's
        time; it falls to nothing in the round.
    """

    changes: int = 400
    most_rounds_in_vain: int = 3
    first_threshold: float = 0.01
    share_of_moves: float = 0.3
    share_before_exchanges: float = 0.65
    reach_divisor: int = 8


UNIT_SEARCH = UnitSearchParams()
# The strategies by which baselines schedule pairs.
_WITH_PAIRS = (OutOfMemoryStrategy.HYBRID, OutOfMemoryStrategy.BOTH_WAYS)

_Part = TypeVar("_Part")


class UnitSearch:
    """Local search for one unit, with its best schedule so far.

    Parameters
    ----------
    problem
        The problem.
    sizes
        Models in each sub-array, one or two; a schedule exists.
    seed
        Seed of the changes.
    params
        As for the method.

    Attributes
    ----------
    best
        The best schedule so far.
    changes
        How many have been tried.
    """

    def __init__(
        self,
        problem: MultiModelTraining,
        sizes: Sizes,
        seed: int,
        params: UnitSearchParams = UNIT_SEARCH,
    ) -> None:
        self._params = params
        self._problem = problem
        self.sizes = sizes
        self._executor = UnitExecutor(problem, sizes)
        self._arrays = self._executor.arrays
        self._floor_ns = sum(array.compute_ns for array in self._arrays)
        self._random = random.Random(f"{seed}/{sizes}")
        self._in_vain = 0
        self.changes = 0
        least = least_memory_decisions(self._arrays)
        executed = self._executor.execute(least)
        assert executed is not None
        self.best = ScheduledUnit(least, executed)
        is_pair = len(sizes) == 2
        for strategy in _WITH_PAIRS if is_pair else OutOfMemoryStrategy:
            self._policy(strategy)
        if not is_pair:
            self._offer_found(capuchin_unit(problem, sizes, params))
        self._is_widened = False

    @property
    def time_ns(self) -> int:
        """Time of the best schedule."""
        return self.best.executed.time_ns

    @property
    def is_over(self) -> bool:
        """Whether the search of the unit has ended: optimal, or too many rounds without gain."""
        return self.time_ns == self._floor_ns or self._in_vain >= self._params.most_rounds_in_vain

    def run_round(self, clock: Clock) -> None:
        """Try changes from the best decisions until the threshold is 0 or the time is up."""
        before_ns = self.time_ns
        if not self._is_widened:
            self._is_widened = True
            self._widen()
        current = self.best
        params = self._params
        for step in range(params.changes):
            if not clock.left_s or self.time_ns == self._floor_ns:
                break
            self.changes += 1
            decisions = self._changed(current.decisions)
            executed = self._executor.execute(decisions)
            if executed is None:
                continue
            left = 1 - step / params.changes
            threshold_ns = int(self.time_ns * params.first_threshold * left**2)
            if executed.time_ns <= current.executed.time_ns + threshold_ns:
                current = ScheduledUnit(decisions, executed)
                if executed.time_ns < self.time_ns:
                    self.best = current
        self._in_vain = 0 if self.time_ns < before_ns else self._in_vain + 1

    def _offer(self, decisions: UnitDecisions) -> None:
        executed = self._executor.execute(decisions)
        if executed is not None and executed.time_ns < self.time_ns:
            self.best = ScheduledUnit(decisions, executed)

    def _policy(self, strategy: OutOfMemoryStrategy) -> UnitDecisions | None:
        problem, params = self._problem, self._params
        if self.sizes != self.sizes[::-1]:
            # As in the divisions of `mu_two.divisions`: where two choices tie, the order counts.
            found = scheduled_unit(problem, self.sizes[::-1], strategy, params)
            if found is not None:
                self._offer(found.decisions.exchanged())
        return self._offer_found(scheduled_unit(problem, self.sizes, strategy, params))

    def _offer_found(self, found: ScheduledUnit | None) -> UnitDecisions | None:
        if found is None:
            return None
        self._offer(found.decisions)
        self._offer(replace(found.decisions, prompts=()))
        return found.decisions

    def _widen(self) -> None:
        """Offer the decisions of the policy's arms, also with other interleavings."""
        fates = {tuple((Fate.KEEP,) * len(array.tensors) for array in self._arrays)}
        fates |= {found.fates for found in map(self._policy, OutOfMemoryStrategy) if found}
        for forward_before in self._interleavings():
            for item in sorted(fates):
                self._offer(UnitDecisions(item, forward_before))

    def _interleavings(self) -> list[tuple[tuple[int, ...], ...]]:
        """Return the forward passes after the backward passes, and both evenly."""
        if len(self._arrays) == 1:
            return [()]
        first, second = self._arrays
        return [
            ((0,) * len(first.backward), (0,) * len(second.backward)),
            (_evenly(first, second), _evenly(second, first)),
        ]

    def _changed(self, decisions: UnitDecisions) -> UnitDecisions:
        draw = self._random
        number = draw.randrange(len(self._arrays))
        kind = draw.random()
        if len(self._arrays) == 2 and kind < self._params.share_of_moves:
            return self._moved_forward(decisions, number)
        tensors = range(len(self._arrays[number].tensors))
        if not tensors:
            return decisions
        fates = list(decisions.fates[number])
        place = draw.choice(tensors)
        if kind < self._params.share_before_exchanges:
            fates[place] = draw.choice([fate for fate in Fate if fate is not fates[place]])
        else:
            other = draw.choice(tensors)
            fates[place], fates[other] = fates[other], fates[place]
        return replace(
            decisions, fates=self._with(decisions.fates, number, tuple(fates)), prompts=()
        )

    def _moved_forward(self, decisions: UnitDecisions, number: int) -> UnitDecisions:
        """Let more or fewer forward operators run before one backward operator of a round."""
        draw = self._random
        before = list(decisions.forward_before[number])
        place = draw.randrange(len(before))
        most = len(self._arrays[1 - number].forward)
        reach = max(1, most // self._params.reach_divisor)
        wanted = min(max(before[place] + draw.randint(-reach, reach), 0), most)
        if wanted > before[place]:
            before[place:] = [max(done, wanted) for done in before[place:]]
        else:
            before[: place + 1] = [min(done, wanted) for done in before[: place + 1]]
        moved = self._with(decisions.forward_before, number, tuple(before))
        return replace(decisions, forward_before=moved)

    def _with(self, parts: tuple[_Part, ...], number: int, part: _Part) -> tuple[_Part, ...]:
        """Return the parts with one replaced; of equal sub-arrays, both."""
        if len(parts) == 2 and self.sizes[0] == self.sizes[1]:
            return (part, part)
        return (*parts[:number], part, *parts[number + 1 :])


def _evenly(backing: SubArray, forwarding: SubArray) -> tuple[int, ...]:
    """Return an interleaving in which both passes progress by the same share of their time."""
    total_ns = sum(work.run_ns for work in backing.backward)
    forward_ns = sum(work.run_ns for work in forwarding.forward)
    done, done_ns, passed_ns = 0, 0, 0
    before = []
    for work in backing.backward:
        while (
            done < len(forwarding.forward) and done_ns * max(total_ns, 1) < passed_ns * forward_ns
        ):
            done_ns += forwarding.forward[done].run_ns
            done += 1
        before.append(done)
        passed_ns += work.run_ns
    return tuple(before)


def solve_local_search(
    problem: MultiModelTraining, options: SolveOptions, params: UnitSearchParams = UNIT_SEARCH
) -> Outcome:
    """Return the best schedule found, or the proof that none fits."""
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = _DivisionSearch(problem, options, params)
    termination = run_to_its_end(search.run)
    return Outcome(
        termination=termination,
        schedule=search.best,
        work={"changes": sum(unit.changes for unit in search.units.values())},
    )


class _DivisionSearch:
    """Local searches of all units, and the best division by their schedules."""

    def __init__(
        self, problem: MultiModelTraining, options: SolveOptions, params: UnitSearchParams
    ) -> None:
        self._problem = problem
        self._params = params
        self._options = options
        self._clock = Clock(options.time_limit_s)
        self.units: dict[Sizes, UnitSearch] = {}
        self._incumbent: Incumbent[MultiModelSchedule] = Incumbent(
            lambda schedule: schedule.replay(problem), 0, options, self._clock
        )
        self._incumbent.begin_from(options.start, MultiModelSchedule, ScheduleClass.ALL)

    @property
    def schedule(self) -> MultiModelSchedule | None:
        """The best schedule so far."""
        found = best_division(self._problem.counts, self._times_ns())
        if found is None:
            return None
        return MultiModelSchedule(
            tuple(self.units[unit].best.executed.unit for unit in found.units)
        )

    @property
    def best(self) -> MultiModelSchedule | None:
        """The best schedule so far, or the start if that is faster."""
        found, known_ns = self.schedule, self._incumbent.time_ns
        if known_ns is None or (found and found.replay(self._problem).time_ns <= known_ns):
            return found
        return self._incumbent.schedule

    def _times_ns(self) -> dict[Sizes, int]:
        return {sizes: unit.time_ns for sizes, unit in self.units.items()}

    def _start(self) -> Termination | None:
        """Give the units of the best division their first schedules; tell if the time is up."""
        floors_ns = {
            sizes: sum(self._problem.sub_array(size).compute_ns for size in sizes)
            for sizes in units_that_fit(self._problem)
        }
        waiting = sorted(_units_of_baselines(self._problem) & floors_ns.keys())
        while True:
            if not waiting:
                if not self._clock.left_s and self.schedule is not None:
                    return Termination.TIME_LIMIT
                found = best_division(self._problem.counts, floors_ns | self._times_ns())
                assert found is not None
                waiting = [sizes for sizes in found.units if sizes not in self.units][:1]
                if not waiting:
                    return None
            sizes = waiting.pop()
            seed = self._options.seed
            self.units[sizes] = UnitSearch(self._problem, sizes, seed, self._params)
            self._report()

    def run(self) -> Termination:
        """Search until the units of the best division have ended, or the time is up."""
        ended = self._start()
        if ended is not None:
            return ended
        while True:
            found = best_division(self._problem.counts, self._times_ns())
            assert found is not None
            waiting = [self.units[sizes] for sizes in set(found.units)]
            waiting = [unit for unit in waiting if not unit.is_over]
            if not waiting:
                return Termination.COMPLETED
            for unit in sorted(waiting, key=lambda item: item.sizes):
                unit.run_round(self._clock)
                self._report()
                if not self._clock.left_s:
                    return Termination.TIME_LIMIT

    def _report(self) -> None:
        """Tell of a schedule that is faster, and of the progress."""
        found = best_division(self._problem.counts, self._times_ns())
        known_ns = self._incumbent.time_ns
        if found is not None and (known_ns is None or found.value < known_ns):
            schedule = self.schedule
            assert schedule is not None
            self._incumbent.offer(schedule)
        self._incumbent.report()


def _units_of_baselines(problem: MultiModelTraining) -> set[Sizes]:
    """Return the units that the schedules of the other heuristics consist of."""
    divisions: Iterable[tuple[Sizes, ...]]
    if problem.instance.others:
        divisions = [
            found.units
            for scheduler in (scheduled_unit, unit_both_ways)
            for found in deque(mixed_divisions(problem, scheduler, Clock(None)), maxlen=1)
        ]
    else:
        divisions = paired_divisions(problem.count, problem.instance.sizes)
    units = {tuple(sorted(unit)) for division in divisions for unit in division}
    fused = [key_of(place, count) for place, count in enumerate(problem.counts)]
    groups = hfta_groups(problem) or []
    return units | {(key,) for key in (*fused, *groups)}
