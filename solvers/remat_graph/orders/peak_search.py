r"""Search over sets of operators that have run: an order within a peak, or the proof of none.

What is in memory depends on the set of units that have run, not on their order. So an order within
:math:`P` bytes is a path from the empty set to the full one, along runs that take no more than
:math:`P`. The search goes deep first, the unit that adds least (or frees most) first, and keeps
the sets from which there is no way.

* *Free runs.* A unit that fits, and after which no more is stored than before, runs at once. In any
  order that continues from here it can be moved to the front: what it adds, up to its old place, is
  no more than what it frees, and no value stays for longer.
* *The next peak.* If there is no order within :math:`P`, then none within any peak below the least
  one at which a run was refused: the same runs would be allowed everywhere. So the bound rises to
  that, and with `PeakSearch.least` to the least peak of all.

There are up to :math:`2^n` sets; after free runs, few where a step is a chain with side branches,
or a tree whose branches fall. For trees and series-parallel graphs polynomial algorithms are known
(Liu 1987; Kayaaslan et al. 2018); the search does not need to know what a graph is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.orders.single_runs import SingleRuns


@dataclass(frozen=True, slots=True)
class Decision:
    """Answer to the question for one peak.

    Attributes
    ----------
    order
        An order of units within the peak, or None.
    least_bytes
        A bound on the peak of every order: above the peak asked for, if the search came to its end
        without an order; None otherwise.
    """

    order: list[int] | None
    least_bytes: int | None


class PeakSearch:
    """Search in one graph.

    Parameters
    ----------
    runs
        The graph as units.
    clock
        When it runs out, a question is left open.

    Attributes
    ----------
    left_sets
        Sets that may still be looked at, over all questions.
    """

    def __init__(self, runs: SingleRuns, clock: Clock, most_sets: int) -> None:
        self.left_sets = most_sets
        self._runs = runs
        self._clock = clock

    def least(self, peak_bytes: int, known_bytes: int) -> tuple[list[int] | None, int]:
        """Raise a bound on the peak as long as it can be refuted.

        Parameters
        ----------
        peak_bytes
            The bound to begin from.
        known_bytes
            The peak of a known order, at which it ends.

        Returns
        -------
        tuple
            An order that meets the bound, or None; and the bound.
        """
        while peak_bytes < known_bytes:
            decision = self.decide(peak_bytes, self.left_sets)
            if decision.order is not None:
                return decision.order, peak_bytes
            if decision.least_bytes is None:
                break
            peak_bytes = min(decision.least_bytes, known_bytes)
        return None, peak_bytes

    def decide(self, peak_bytes: int, most_sets: int) -> Decision:
        """Look for an order within a peak, and give up after so many sets."""
        state = _State(self._runs, peak_bytes)
        dead: set[int] = set()
        marks = [0]
        state.run_free()
        waiting: list[Iterator[int]] = [iter(state.choices())]
        left = min(most_sets, self.left_sets)
        while waiting:
            if state.is_over:
                return Decision(state.order, None)
            unit = next(waiting[-1], None)
            if unit is None:
                waiting.pop()
                state.back_to(marks.pop())
                continue
            marks.append(len(state.order))
            state.run(unit)
            state.run_free()
            if state.done in dead:
                state.back_to(marks.pop())
                continue
            if not left or not self._clock.left_s:
                return Decision(None, None)
            left -= 1
            self.left_sets -= 1
            dead.add(state.done)
            waiting.append(iter(state.choices()))
        # Every order has a run that was refused.
        assert state.refused_bytes is not None
        return Decision(None, state.refused_bytes)


class _State:
    """Units that have run, in an order, with what is stored after them.

    Attributes
    ----------
    order, done
        The order, and its units as a bit set.
    refused_bytes
        The least number of bytes of a run that was refused so far.
    """

    def __init__(self, runs: SingleRuns, peak_bytes: int) -> None:
        self.order: list[int] = []
        self.done = 0
        self.refused_bytes: int | None = None
        self._runs = runs
        self._peak_bytes = peak_bytes
        self._stored = 0
        self._unread = [len(value.readers) + value.is_kept for value in runs.values]
        self._waits_for = [len(before) for before in runs.before]
        self._ready = {unit for unit, count in enumerate(self._waits_for) if not count}

    @property
    def is_over(self) -> bool:
        return len(self.order) == len(self._runs)

    def adds(self, unit: int) -> int:
        """Return the bytes that are stored after a unit has run, less those before."""
        values = self._runs.values
        made = sum(values[item].size_bytes for item in self._runs.made[unit])
        return made - sum(
            values[item].size_bytes for item in self._runs.read[unit] if self._unread[item] == 1
        )

    def choices(self) -> list[int]:
        """Return the units that can run now, the best first, and note the others."""
        found = [unit for unit in self._ready if self._fits(unit)]
        return sorted(found, key=lambda unit: (self.adds(unit), unit))

    def run_free(self) -> None:
        """Run what fits and leaves no more in memory, until there is no such unit."""
        while True:
            unit = next(
                (item for item in sorted(self._ready) if self.adds(item) <= 0 and self._fits(item)),
                None,
            )
            if unit is None:
                return
            self.run(unit)

    def _fits(self, unit: int) -> bool:
        during = self._stored + self._runs.need_bytes[unit]
        if during <= self._peak_bytes:
            return True
        if self.refused_bytes is None or during < self.refused_bytes:
            self.refused_bytes = during
        return False

    def run(self, unit: int) -> None:
        self._stored += self.adds(unit)
        for item in self._runs.read[unit]:
            self._unread[item] -= 1
        self._ready.remove(unit)
        for reader in self._runs.after[unit]:
            self._waits_for[reader] -= 1
            if not self._waits_for[reader]:
                self._ready.add(reader)
        self.order.append(unit)
        self.done |= 1 << unit

    def back_to(self, count: int) -> None:
        """Take the last units back, until so many are left."""
        while len(self.order) > count:
            unit = self.order.pop()
            self.done ^= 1 << unit
            for reader in self._runs.after[unit]:
                if not self._waits_for[reader]:
                    self._ready.remove(reader)
                self._waits_for[reader] += 1
            self._ready.add(unit)
            for item in self._runs.read[unit]:
                self._unread[item] += 1
            self._stored -= self.adds(unit)
