r"""Label-setting search for the fastest rounds from one state to each state at the end.

Labels are taken in the order of their lower bounds (`RoundMoves`). A label in whose place another
one serves (`RoundLabel`) is dropped. There are finitely many contents, and a return to the same
contents never ends earlier, so the search is finite. The first complete label of an end state has
its least time, since bounds never fall along a path.
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

# State between rounds: feature maps in memory and those with a copy on the host, as bit masks.
RoundState = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FoundRound:
    """Fastest round between two states."""

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
    labels_between_looks
        Labels that are made between two looks at the clock.

    Attributes
    ----------
    found
        For each state in which the round can end, a fastest one; all that end before `least_ns`.
    labels
        How many labels have been taken.
    """

    def __init__(
        self, problem: TrainingRound, idle: int, hosted: int, labels_between_looks: int = 256
    ) -> None:
        self._labels_between_looks = labels_between_looks
        self.found: dict[RoundState, FoundRound] = {}
        self.labels = 0
        self._moves = RoundMoves(problem)
        self._kept: dict[tuple[int, int, int, int], list[RoundLabel]] = {}
        self._waiting: list[tuple[int, int, RoundLabel]] = []
        self._made = 0
        self._first: Iterator[RoundLabel] = self._moves.first(idle, hosted)

    @property
    def least_ns(self) -> int | None:
        """Lower bound on rounds to states that are not found yet; None if there are none."""
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
            if self._made % self._labels_between_looks == 0 and not clock.left_s:
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
        # Of equal bounds the newest label first: it is usually the most advanced.
        heapq.heappush(self._waiting, (label.least_ns, -self._made, label))
