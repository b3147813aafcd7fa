"""Cuts and recomputation slots of the next model of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.params import Params
from jettison.solvers.remat_graph.cuts.stage_excess import Slot, StageExcess, cuts_beside


@dataclass(frozen=True, kw_only=True)
class RowParams(Params):
    """Parameters of the cuts and slots that rounds of models add.

    Attributes
    ----------
    new_cuts, new_slots
        Most cuts and slots that a round adds.
    reach
        Stages so close to one that exceeds the memory more do not become cuts as well.
    """

    new_cuts: int = 2
    new_slots: int = 8
    reach: int = 3


ROWS = RowParams()


@dataclass
class CutRows:
    """Cuts and slots of a model, and the class of schedules for which it holds.

    Attributes
    ----------
    cuts, slots
        As `WindowedFrontier` takes them, in any order.
    valid_for
        The class of schedules of the model.
    params
        How many are added at a time.
    """

    cuts: set[int] = field(default_factory=set)
    slots: set[Slot] = field(default_factory=set)
    valid_for: ScheduleClass = ScheduleClass.IN_ORDER
    params: RowParams = ROWS

    def add_cuts(self, excess: StageExcess, ns_per_byte: Mapping[int, float]) -> bool:
        """Add cuts at stages where a schedule exceeds the memory; tell if there are new ones."""
        params = self.params
        new_cuts = excess.new_cuts(self.cuts, params.new_cuts, params.reach, ns_per_byte)
        self.cuts.update(new_cuts)
        return bool(new_cuts)

    def add_slots(self, excess: StageExcess, last_cut: int | None) -> bool:
        """Add slots for recomputations that exceed the memory; tell if that changes the model.

        The model is then one for staged schedules. If only computations after the last first
        computation exceed the memory, that is enough: staged schedules have none there.

        Parameters
        ----------
        excess
            The excess of a schedule that fits at all first computations.
        last_cut
            The last node of a graph with kept values, after which staged schedules compute nothing;
            None without kept values.
        """
        new_slots = excess.new_slots(self.slots, self.params.new_slots)
        if not new_slots and self.valid_for is ScheduleClass.STAGED:
            return False
        self.valid_for = ScheduleClass.STAGED
        self.slots.update(new_slots)
        self.cuts.update(cuts_beside(new_slots))
        if last_cut is not None:
            self.cuts.add(last_cut)
        return True
