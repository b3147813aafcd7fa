r"""Exact search for the fastest schedule of one unit: a sub-array alone or a pair.

The search is over all operation lists that the replay accepts: any order of operators, transfers
and discards, any number of recomputations (`RoundSearch`).

A sub-array alone takes one search. The rounds of a pair depend on each other only through the
states in which they end: with :math:`T_1(s, e)` the least time of :math:`[BW_1, FW_2]` from state
s of the feature maps of sub-array 1 to state e of those of sub-array 2, and :math:`T_2(e, s)` that
of :math:`[BW_2, FW_1]`, the least time is

.. math:: \min_{s, e} T_1(s, e) + T_2(e, s) .

A state says of each feature map whether it is in memory and whether it has a copy on the host. For
each state s a bound below every :math:`T_1(s, \cdot) + T_2(\cdot, s)` is known from the start: that
of `RoundMoves`, and the time of the copies that s needs. States are taken in the order of this
bound; from each, first rounds are found in the order of their times as long as they could be part
of an improvement, and for each state in which they end, second rounds likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import TrainingUnit
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.multi_model.exact.round_moves import RoundMoves, members
from jettison.solvers.multi_model.exact.round_search import FoundRound, RoundSearch, RoundState
from jettison.solvers.multi_model.exact.training_round import TrainingRound, rounds_of


@dataclass(frozen=True, kw_only=True)
class LabelParams(Params):
    """Parameters of the search by labels for one unit: its limits.

    Attributes
    ----------
    most_tensors
        Most feature maps of a sub-array, for each round of its unit: with 10 there are a million
        states between two rounds.
    labels_between_looks
        Labels that are made between two looks at the clock.
    """

    most_tensors: int = 10
    labels_between_looks: int = 256


LABELS = LabelParams()


class ExactUnit:
    """Search for the fastest schedule of one unit.

    Parameters
    ----------
    problem
        The problem.
    unit, time_ns
        A schedule of it, and its time.
    params
        The limits.

    Attributes
    ----------
    unit, time_ns
        The best schedule so far.
    is_proved
        Whether no schedule is faster.
    labels
        Labels taken by all searches.
    """

    def __init__(
        self,
        problem: MultiModelTraining,
        unit: TrainingUnit,
        time_ns: int,
        params: LabelParams = LABELS,
    ) -> None:
        self._params = params
        self.unit = unit
        self.time_ns = time_ns
        self.is_proved = False
        self.labels = 0
        self._rounds = rounds_of(problem, unit.sizes)

    @property
    def is_too_large(self) -> bool:
        """Whether a sub-array has too many feature maps for a search."""
        return max(len(problem.tensors) for problem in self._rounds) > (
            self._params.most_tensors * len(self._rounds)
        )

    def offer(self, unit: TrainingUnit, time_ns: int) -> None:
        """Keep a schedule found elsewhere if it is better than the best so far."""
        if time_ns < self.time_ns:
            self.unit, self.time_ns = unit, time_ns

    def run(self, least_ns: int, clock: Clock) -> None:
        """Search until the best schedule is proved or the time is over.

        Parameters
        ----------
        least_ns
            A lower bound on the time: a schedule that meets it ends the search.
        clock
            The time that is left.
        """
        search = self._search_alone if len(self._rounds) == 1 else self._search_pair
        if self.time_ns <= least_ns:
            self.is_proved = True
            return
        if not clock.left_s:
            return
        try:
            search(least_ns, clock)
            self.is_proved = True
        except TimeoutError:
            # The best schedule so far stands, and is not proved.
            return

    def _search_alone(self, least_ns: int, clock: Clock) -> None:
        search = self._search_from(self._rounds[0], (0, 0))
        try:
            # The first one found is the fastest.
            for _, found in search.run(self.time_ns - 1, clock):
                self._take(found)
                return
        finally:
            self.labels += search.labels

    def _search_pair(self, least_ns: int, clock: Clock) -> None:
        first, second = self._rounds
        moves = RoundMoves(first)
        shortest_ns = second.forward_left_ns[0] + second.backward_left_ns[0]
        starts = []
        for idle, hosted in _states(first):
            if not clock.left_s:
                raise TimeoutError
            copies_ns = sum(first.tensors[place].swap_ns for place in members(hosted))
            second_ns = max(shortest_ns, copies_ns)
            bound_ns = moves.least_ns(idle, hosted) + second_ns
            starts.append((bound_ns, -first.size_bytes(idle), second_ns, (idle, hosted)))
        closing: dict[RoundState, RoundSearch] = {}
        # Of equal bounds the state that keeps most comes first.
        for bound_ns, _, second_ns, state in sorted(starts):
            if max(bound_ns, least_ns) >= self.time_ns:
                break
            opening = self._search_from(first, state)
            try:
                while max(bound_ns, least_ns) < self.time_ns and self._improve(
                    opening, state, second_ns, closing, clock
                ):
                    pass
            finally:
                self.labels += opening.labels

    def _improve(
        self,
        opening: RoundSearch,
        state: RoundState,
        second_ns: int,
        closing: dict[RoundState, RoundSearch],
        clock: Clock,
    ) -> bool:
        """Try the next first round from `state`; tell whether there was one."""
        for between, first in opening.run(self.time_ns - 1 - second_ns, clock):
            if between not in closing:
                closing[between] = self._search_from(self._rounds[1], between)
            search = closing[between]
            if state not in search.found:
                labels = search.labels
                try:
                    for reached, _ in search.run(self.time_ns - 1 - first.time_ns, clock):
                        if reached == state:
                            break
                finally:
                    self.labels += search.labels - labels
            second = search.found.get(state)
            if second is not None and first.time_ns + second.time_ns < self.time_ns:
                self._take(first, second)
            return True
        return False

    def _search_from(self, problem: TrainingRound, state: RoundState) -> RoundSearch:
        return RoundSearch(problem, *state, self._params.labels_between_looks)

    def _take(self, *rounds: FoundRound) -> None:
        self.unit = TrainingUnit(self.unit.sizes, tuple(found.operations for found in rounds))
        self.time_ns = sum(found.time_ns for found in rounds)


def _states(problem: TrainingRound) -> Iterator[RoundState]:
    """Yield the states at the start of the first round that fit in memory."""
    count = sum(tensor.first_backward is not None for tensor in problem.tensors)
    room_bytes = problem.memory_bytes - problem.static_bytes - problem.carried_bytes
    for idle, hosted in product(range(1 << count), repeat=2):
        if problem.size_bytes(idle) <= room_bytes:
            yield idle, hosted
