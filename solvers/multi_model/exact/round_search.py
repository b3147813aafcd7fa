r"""The least time of a round for each state in which it can end: label setting, best bound first.

Labels are taken in the order of their lower bounds (`RoundMoves`). One that another one serves for
(`RoundLabel`) is dropped; there are finitely many contents, and each step back to the same contents
ends no earlier, so the search ends. The first complete label of some end state has its least time:
a bound never falls along a path.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from jettison.schedules.multi_model.operation import MultiModelOperation
from jettison.solvers.core.clock import Clock
from jettison.solvers.multi_model.exact.round_label import RoundLabel, path_to
from jettison.solvers.multi_model.exact.round_moves import RoundMoves
from jettison.solvers.multi_model.exact.training_round import TrainingRound

_LABELS_BETWEEN_LOOKS = 256

# What is in memory and what has a copy on the host, as masks over the feature maps of a round.
RoundState = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FoundRound:
    """A fastest round between two states."""

    time_ns: int
    operations: tuple[MultiModelOperation, ...]


class RoundSearch:
    """Fastest rounds from one state, found in the order of their times.

    Parameters
    ----------
    problem
        The round.
    idle, hosted
        What it finds in memory and on the host.

    Attributes
    ----------
    found
        For each state in which the round can end, a fastest one; all that end before `least_ns`.
    labels
        How many labels have been taken.
    """

    def __init__(self, problem: TrainingRound, idle: int, hosted: int) -> None:
        self.found: dict[RoundState, FoundRound] = {}
        self.labels = 0
        self._moves = RoundMoves(problem)
        self._kept: dict[tuple[int, int, int, int], list[RoundLabel]] = {}
        self._waiting: list[tuple[int, int, RoundLabel]] = []
        self._made = 0
        self._first: Iterator[RoundLabel] = self._moves.first(idle, hosted)

    @property
    def least_ns(self) -> int | None:
        """No round to a state that has not been found is faster; None if there is none."""
        while self._waiting and self._waiting[0][2].is_replaced:
            heapq.heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else None

    def run(self, limit_ns: float, clock: Clock) -> Iterator[tuple[RoundState, FoundRound]]:
        """Find rounds of up to `limit_ns`, and yield each state when it is reached.

        Raises
        ------
        TimeoutError
            When the time is over.
        """
        self._add_all(self._first, clock)
        while (least_ns := self.least_ns) is not None and least_ns <= limit_ns:
            reached = self._take(clock)
            if reached is not None:
                yield reached

    def _take(self, clock: Clock) -> tuple[RoundState, FoundRound] | None:
        label = heapq.heappop(self._waiting)[2]
        self.labels += 1
        self._add_all(self._moves.after(label), clock)
        if not self._moves.is_complete(label):
            return None
        state = self._moves.left_for_the_next(label)
        if state in self.found:
            return None
        self.found[state] = FoundRound(label.end_ns, path_to(label))
        return state, self.found[state]

    def _add_all(self, labels: Iterator[RoundLabel], clock: Clock) -> None:
        # One step can have very many outcomes, so that the clock is looked at between them.
        for label in labels:
            self._add(label)
            if self._made % _LABELS_BETWEEN_LOOKS == 0 and not clock.left_s:
                raise TimeoutError

    def _add(self, label: RoundLabel) -> None:
        self._made += 1
        alike = self._kept.setdefault(label.key, [])
        if any(other.serves_for(label) for other in alike):
            return
        for other in alike:
            if label.serves_for(other):
                other.is_replaced = True
        alike[:] = [other for other in alike if not other.is_replaced]
        alike.append(label)
        # Of equal bounds the newest first: as a rule it is the furthest.
        heapq.heappush(self._waiting, (label.least_ns, -self._made, label))
