r"""The least time of one unit of µ-TWO, proved, and a schedule that has it.

The search is over all operation lists that the replay accepts: any order of operators, transfers
and discards, any number of recomputations (`RoundSearch`).

A sub-array alone takes one search. The rounds of a pair depend on each other only through the
states in which they end: with :math:`T_1(s, e)` the least time of :math:`[BW_1, FW_2]` from state
s of the feature maps of sub-array 1 to state e of those of sub-array 2, and :math:`T_2(e, s)` that
of :math:`[BW_2, FW_1]`, the least time is

.. math:: \min_{s, e} T_1(s, e) + T_2(e, s) .

A state says of each feature map whether it is in memory and whether it has a copy. Of each state s
a bound below every :math:`T_1(s, \cdot) + T_2(\cdot, s)` is known at once: the one of `RoundMoves`,
and the time of the copies without which s is not reached. States are taken in its order; from each,
first rounds are found in the order of their times as long as they could be part of an improvement,
and for each state in which they end, second rounds likewise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from jettison.instances.multi_model_training import MultiModelTraining
from jettison.schedules.multi_model_schedule import TrainingUnit
from jettison.solvers.clock import Clock
from jettison.solvers.multi_model_units import Sizes
from jettison.solvers.round_moves import RoundMoves, members
from jettison.solvers.round_search import RoundSearch, RoundState
from jettison.solvers.training_round import TrainingRound, rounds_of


@dataclass
class ExactUnit:
    """The search for the fastest schedule of one unit.

    Attributes
    ----------
    problem, sizes
        The problem, and the models in each sub-array.
    unit
        The best schedule so far, or None.
    time_ns
        Its time.
    is_proved
        Whether no schedule is faster.
    labels
        Labels taken by all searches.
    """

    problem: MultiModelTraining
    sizes: Sizes
    unit: TrainingUnit | None = None
    time_ns: int | None = None
    is_proved: bool = False
    labels: int = 0
    _searches: dict[tuple[int, RoundState], RoundSearch] = field(default_factory=dict)

    def run(self, clock: Clock) -> None:
        """Search until the best schedule is proved or the time is over."""
        rounds = rounds_of(self.problem, self.sizes)
        try:
            if len(rounds) == 1:
                self._run_alone(rounds[0], clock)
            else:
                self._run_pair(rounds, clock)
            self.is_proved = self.time_ns is not None
        except TimeoutError:
            pass
        finally:
            self.labels = sum(search.labels for search in self._searches.values())

    def _run_alone(self, problem: TrainingRound, clock: Clock) -> None:
        search = self._searches.setdefault((0, (0, 0)), RoundSearch(problem, 0, 0))
        for _, found in search.run(math.inf, clock):
            self.unit = TrainingUnit(self.sizes, (found.operations,))
            self.time_ns = found.time_ns
            return

    def _run_pair(self, rounds: tuple[TrainingRound, ...], clock: Clock) -> None:
        first, second = rounds
        moves = RoundMoves(first)
        shortest_ns = second.forward_left_ns[0] + second.backward_left_ns[0]
        starts = []
        for idle, hosted in _states(first):
            copies_ns = sum(first.tensors[place].swap_ns for place in members(hosted))
            second_ns = max(shortest_ns, copies_ns)
            least_ns = moves.least_ns(idle, hosted) + second_ns
            starts.append((least_ns, -first.size_bytes(idle), second_ns, (idle, hosted)))
        # Of equal bounds first what keeps most.
        for least_ns, _, second_ns, state in sorted(starts):
            if least_ns >= self._limit_ns:
                return
            search = RoundSearch(first, *state)
            self._searches[0, state] = search
            while self._improve(search, state, second_ns, second, clock):
                pass

    def _improve(
        self,
        search: RoundSearch,
        state: RoundState,
        second_ns: int,
        second: TrainingRound,
        clock: Clock,
    ) -> bool:
        """Look at the next end of the first round from `state`; tell whether there was one."""
        for between, opening in search.run(self._limit_ns - 1 - second_ns, clock):
            if (1, between) not in self._searches:
                self._searches[1, between] = RoundSearch(second, *between)
            closing = self._searches[1, between]
            if state not in closing.found:
                for reached, _ in closing.run(self._limit_ns - 1 - opening.time_ns, clock):
                    if reached == state:
                        break
            end = closing.found.get(state)
            if end is not None and opening.time_ns + end.time_ns < self._limit_ns:
                self.time_ns = opening.time_ns + end.time_ns
                self.unit = TrainingUnit(self.sizes, (opening.operations, end.operations))
            return True
        return False

    @property
    def _limit_ns(self) -> float:
        return math.inf if self.time_ns is None else self.time_ns


def _states(problem: TrainingRound) -> Iterator[RoundState]:
    """Yield what the first round may find, as far as there is memory for it."""
    count = sum(tensor.first_backward is not None for tensor in problem.tensors)
    room_bytes = problem.memory_bytes - problem.static_bytes - problem.carried_bytes
    for idle, hosted in product(range(1 << count), repeat=2):
        if problem.size_bytes(idle) <= room_bytes:
            yield idle, hosted
