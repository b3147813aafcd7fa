"""Multi-model schedules: several models trained in one memory."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import Key
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.multi_model.operation import MultiModelOperation
from jettison.schedules.multi_model.shared_unit_replay import SharedUnitReplay
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.schedules.multi_model.unit_replay import MultiModelReplay

Round = tuple[MultiModelOperation, ...]


@dataclass(frozen=True, slots=True)
class TrainingUnit:
    r"""Training unit: one or two sub-arrays trained together, with one iteration's operations.

    A training round, *round* for short, is what µ-TWO captures as one graph and launches as one:
    the next one starts when its last computation and its last transfer have ended. A pair has two,
    :math:`[BW_1, FW_2]` and :math:`[BW_2, FW_1]`, which repeat: what :math:`FW_1` leaves at the end
    of the second is what :math:`BW_1` finds at the start of the first. A sub-array alone has one
    round, its forward and then its backward pass.

    Attributes
    ----------
    sizes
        Models in each sub-array, or the key of one of another architecture; one or two entries.
    rounds
        As many as sub-arrays: the operations in the order in which they are issued.
    """

    sizes: tuple[Key, ...]
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class MultiModelSchedule:
    """Multi-model schedule: training units in order, which together hold every model once."""

    kind = "multi-model-schedule"

    units: tuple[TrainingUnit, ...]

    def __repr__(self) -> str:
        return short_repr(self, "units", self.units)

    def replay(self, problem: MultiModelTraining) -> TrainingReplay:
        r"""Execute one iteration in exact integers and name every broken rule.

        Parameters
        ----------
        problem
            The models, the memory of the device and the link.

        Notes
        -----
        Time :math:`O(n \log n)` for n operations, where few offloads wait for the link; where its
        directions share a total, :math:`O(n r)` with r amounts of memory that are to return.
        """
        if problem.link.is_shared:
            return SharedUnitReplay(problem).run(self.units)
        return MultiModelReplay(problem).run(self.units)
