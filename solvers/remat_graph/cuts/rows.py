"""The cuts and slots of the next model of windows, and what a run of it may take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.clock import Clock
from jettison.solvers.milp.highs_work import CHECK
from jettison.solvers.remat_graph.cuts.stage_excess import Slot, StageExcess, cuts_beside

_NEW_CUTS = 2
_NEW_SLOTS = 8
# Of one run: at least so many seconds, and a share of those that are left. A cut takes hundredths
# of a second up to some hundred nodes.
_LEAST_SHARE_S = 2.0
_SHARE_OF_LEFT = 0.4
# A model takes longer than the one before.
_TIMES_THE_LAST = 3
# Of one run where work is counted: at least so many moves, and some times what was done before.
_LEAST_MOVES = 4_000_000
_TIMES_ALL = 5


@dataclass
class CutRows:
    """Which rows a model has, and the class of schedules that it then holds for.

    Attributes
    ----------
    cuts, slots
        As `WindowedFrontier` takes them, in no order.
    valid_for
        The class of the model.
    """

    cuts: set[int] = field(default_factory=set)
    slots: set[Slot] = field(default_factory=set)
    valid_for: ScheduleClass = ScheduleClass.IN_ORDER

    def add_cuts(self, excess: StageExcess, ns_per_byte: Mapping[int, float]) -> bool:
        """Make stages at which a schedule exceeds the memory cuts; tell if there are new ones."""
        new_cuts = excess.new_cuts(self.cuts, _NEW_CUTS, ns_per_byte)
        self.cuts.update(new_cuts)
        return bool(new_cuts)

    def add_slots(self, excess: StageExcess, last_cut: int | None) -> bool:
        """Make slots of recomputations that exceed the memory; tell if that changes the model.

        The model is one for staged schedules then. Where only what comes after the last first
        computation exceeds the memory, that is enough: they have nothing there.

        Parameters
        ----------
        excess
            Of a schedule that fits at all first computations.
        last_cut
            The last node where something is kept, which staged schedules compute nothing after;
            None where nothing is.
        """
        new_slots = excess.new_slots(self.slots, _NEW_SLOTS)
        if not new_slots and self.valid_for is ScheduleClass.STAGED:
            return False
        self.valid_for = ScheduleClass.STAGED
        self.slots.update(new_slots)
        self.cuts.update(cuts_beside(new_slots))
        if last_cut is not None:
            self.cuts.add(last_cut)
        return True


class RunShare:
    """How long a run of HiGHS may take.

    Parameters
    ----------
    clock
        Of the method.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._least_s = _LEAST_SHARE_S

    @property
    def seconds(self) -> float:
        """The share of the next run: of the time that is left, but not too little."""
        left_s = self._clock.left_s
        return self._least_s if math.isinf(left_s) else max(self._least_s, _SHARE_OF_LEFT * left_s)

    def took(self, seconds: float) -> None:
        """Note how long a run took: the next one may take some times as long."""
        self._least_s = max(self._least_s, _TIMES_THE_LAST * seconds)

    def double(self) -> None:
        """Give twice as much to the same model, which did not end in its share."""
        self._least_s = 2 * self.seconds


class WorkShare:
    """How much work a run of HiGHS may do: five times what was done before it, but not too little.

    Work is counted in moves of annealing that take about as long, which is what they share a
    machine with.

    Attributes
    ----------
    moves
        The work so far.
    """

    def __init__(self) -> None:
        self.moves = 0

    def limit(self, columns: int) -> int:
        """Return the most work of a run on a model of so many columns, as HiGHS's is counted."""
        return max(_LEAST_MOVES, _TIMES_ALL * self.moves) * CHECK // max(1, columns)

    def add(self, work: int, columns: int) -> int:
        """Count work of HiGHS on a model of so many columns; return how many moves that is."""
        moves = work * columns // CHECK
        self.moves += moves
        return moves
