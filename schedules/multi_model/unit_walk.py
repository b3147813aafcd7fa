"""Walk over the operations of a multi-model schedule, with what each reads, takes and returns.

What an operation does follows from its place in the schedule, and when it does it from the link:
`MultiModelReplay` has directions that are independent, `SharedUnitReplay` a total for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray, Work
from jettison.instances.multi_model.sub_array_key import Key, models_taken, parts_of
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.sub_array_contents import SubArrayContents
from jettison.schedules.multi_model.training_replay import TrainingReplay

if TYPE_CHECKING:
    from jettison.schedules.multi_model.schedule import Round, TrainingUnit


@dataclass(frozen=True, slots=True)
class UnitComputation:
    """Computation of a round, with all that its times and the memory depend on.

    Attributes
    ----------
    operation
        Operation of the schedule.
    name
        Operator, or the feature map that is computed again.
    run_ns
        Duration.
    taken_bytes, returned_bytes
        Memory that it takes when it starts, and that returns when it ends.
    reads, makes
        Feature maps of its sub-array that have to be there, and that are idle from its end on.
    """

    operation: MultiModelOperation
    name: str
    run_ns: int
    taken_bytes: int
    returned_bytes: int
    reads: Sequence[int] = ()
    makes: Sequence[int] = ()


class UnitWalk(ABC):
    """Walk over training units that finds broken rules, and goes on after them.

    Parameters
    ----------
    problem
        The models, the memory of the device and the link.
    """

    def __init__(self, problem: MultiModelTraining) -> None:
        self._problem = problem
        self._limit_bytes = problem.memory_bytes
        self._findings = Findings()
        self._position = 0
        self._stored_bytes = self._peak_bytes = 0
        # No operation that is still to be issued starts before this time.
        self._started_ns = 0
        self._unit_ends_ns: list[int] = []
        self._round_ends_ns: list[int] = []
        self._unit_models: list[tuple[str, ...]] = []
        # Models of each architecture that earlier units have trained.
        self._trained = [0] * len(problem.instance.architectures)
        self._steps: list[Step] = []
        self._transfers: list[Transfer] = []
        self._profile: list[tuple[int, int]] = []
        self._busy_in_all_ns = self._recompute_ns = 0
        # Sub-arrays of the training unit, and the memory of the pass of each.
        self._arrays: list[SubArray] = []
        self._contents: list[SubArrayContents] = []
        self._pass_bytes: list[int] = []

    def run(self, units: Sequence[TrainingUnit]) -> TrainingReplay:
        """Execute one iteration."""
        for number, unit in enumerate(units, start=1):
            self._findings.at(self._position, f"start of unit {number}")
            if self._knows(unit, number):
                self._run_unit(unit)
            else:
                self._position += sum(map(len, unit.rounds))
        counts = self._problem.counts
        keys = [key for unit in units for key in unit.sizes]
        for place, trained in enumerate(models_taken(keys, len(counts))):
            if trained != counts[place]:
                of = f" of architecture {place}" if len(counts) > 1 else ""
                self._findings.broken_at_end(
                    Rule.UNFINISHED, f"{trained} models{of} are trained, not {counts[place]}"
                )
        return TrainingReplay(
            steps=tuple(self._steps),
            peak_bytes=self._peak_bytes,
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=ScheduleClass.ALL,
            transfers=tuple(self._transfers),
            period_ns=self._started_ns,
            memory_profile=tuple(self._profile),
            recompute_ns=self._recompute_ns,
            stall_ns=self._started_ns - self._busy_in_all_ns,
            unit_ends_ns=tuple(self._unit_ends_ns),
            round_ends_ns=tuple(self._round_ends_ns),
            unit_models=tuple(self._unit_models),
        )

    def _knows(self, unit: TrainingUnit, number: int) -> bool:
        if not 1 <= len(unit.sizes) == len(unit.rounds) <= 2:
            self._findings.broken(
                Rule.UNKNOWN_OPERATION,
                f"unit {number} has {len(unit.sizes)} sub-arrays and {len(unit.rounds)} rounds",
            )
            return False
        try:
            self._arrays = [self._problem.sub_array(size) for size in unit.sizes]
        except InputError:
            sizes = " and ".join(map(str, unit.sizes))
            self._findings.broken(Rule.UNKNOWN_OPERATION, f"unit {number} fuses {sizes} models")
            return False
        return True

    def _models_of(self, key: Key) -> str:
        """Return the models of a sub-array by name, the next ones of their architecture."""
        place, count = parts_of(key)
        first = self._trained[place] + 1
        self._trained[place] += count
        numbers = str(first) if count == 1 else f"{first}-{first + count - 1}"
        return f"{self._problem.instance.architectures[place].name} {numbers}"

    def _run_unit(self, unit: TrainingUnit) -> None:
        self._contents = [SubArrayContents(array, self._findings.broken) for array in self._arrays]
        self._pass_bytes = [0] * len(self._arrays)
        self._begin_unit()
        self._unit_models.append(tuple(map(self._models_of, unit.sizes)))
        self._stored_bytes = sum(array.static_bytes for array in self._arrays)
        if len(self._arrays) == 2:
            self._set_the_scene(unit.rounds[1])
        self._peak_bytes = max(self._peak_bytes, self._stored_bytes)
        self._note_memory(self._started_ns)
        if self._stored_bytes > self._limit_bytes:
            self._findings.broken(
                Rule.OUT_OF_MEMORY, "what is there", self._stored_bytes - self._limit_bytes
            )
        for number, operations in enumerate(unit.rounds):
            self._run_round(number, operations)
        self._unit_ends_ns.append(self._started_ns)

    def _set_the_scene(self, last: Round) -> None:
        """Find what the second round leaves of the first sub-array; violations come later."""
        array = self._arrays[0]
        contents = SubArrayContents(array, lambda rule, name: None)
        for operation in last:
            if (
                operation.array == 0
                and operation.action is not MultiModelAction.BACKWARD
                and self._exists(operation)
            ):
                contents.apply(operation.action, operation.position)
        self._contents[0].resume(contents)
        self._pass_bytes[0] = array.carried_bytes
        self._stored_bytes += array.carried_bytes
        for place in contents.idle:
            self._stored_bytes += array.tensors[place].size_bytes

    def _exists(self, operation: MultiModelOperation) -> bool:
        if not 0 <= operation.array < len(self._arrays):
            return False
        array = self._arrays[operation.array]
        if operation.action is MultiModelAction.FORWARD:
            return 0 <= operation.position < len(array.forward)
        if operation.action is MultiModelAction.BACKWARD:
            return 0 <= operation.position < len(array.backward)
        return 0 <= operation.position < len(array.tensors)

    def _run_round(self, number: int, operations: Round) -> None:
        # The sub-array whose backward pass runs, and the one whose forward pass does.
        backward = number
        forward = len(self._arrays) - 1 - number
        self._contents[forward].begin()
        for operation in operations:
            self._findings.at(self._position, str(operation))
            self._position += 1
            if not self._exists(operation):
                self._findings.broken(Rule.UNKNOWN_OPERATION, f"not in unit {self._unit_number}")
            elif (operation.action is MultiModelAction.FORWARD and operation.array != forward) or (
                operation.action is MultiModelAction.BACKWARD and operation.array != backward
            ):
                self._findings.broken(Rule.OUT_OF_ORDER, "it belongs to the other round")
            else:
                self._run(operation)
        # Memory that is exceeded is a finding of the operations of the round.
        self._end_round()
        self._note_memory(self._started_ns)
        self._round_ends_ns.append(self._started_ns)
        self._findings.at(self._position - 1, f"end of round {number + 1}")
        self._contents[forward].expect_complete_forward()
        self._contents[backward].expect_complete_backward()

    @property
    def _unit_number(self) -> int:
        return len(self._unit_ends_ns) + 1

    def _run(self, operation: MultiModelOperation) -> None:
        touched = self._contents[operation.array].apply(operation.action, operation.position)
        match operation.action:
            case MultiModelAction.FORWARD:
                self._run_forward(operation, touched)
            case MultiModelAction.BACKWARD:
                self._run_backward(operation, touched)
            case MultiModelAction.RECOMPUTE:
                self._recompute(operation, touched)
            case MultiModelAction.OFFLOAD if touched:
                self._offload(operation)
            case MultiModelAction.PREFETCH:
                self._prefetch(operation)
            case MultiModelAction.DISCARD if touched:
                self._discard(operation)

    def _run_forward(self, operation: MultiModelOperation, leaving: Sequence[int]) -> None:
        array = self._arrays[operation.array]
        work = array.forward[operation.position]
        left_bytes = sum(array.tensors[place].size_bytes for place in leaving)
        taken_bytes = work.peak_bytes - self._pass_bytes[operation.array]
        self._operate(operation, work, taken_bytes, left_bytes, makes=leaving)

    def _run_backward(self, operation: MultiModelOperation, arriving: Sequence[int]) -> None:
        array = self._arrays[operation.array]
        work = array.backward[operation.position]
        taken_bytes = work.peak_bytes - self._pass_bytes[operation.array]
        taken_bytes -= sum(array.tensors[place].size_bytes for place in arriving)
        self._operate(operation, work, taken_bytes, 0, reads=arriving)

    def _operate(
        self,
        operation: MultiModelOperation,
        work: Work,
        taken_bytes: int,
        left_bytes: int,
        *,
        reads: Sequence[int] = (),
        makes: Sequence[int] = (),
    ) -> None:
        returned_bytes = work.peak_bytes - work.active_bytes - left_bytes
        self._add(
            UnitComputation(
                operation, work.name, work.run_ns, taken_bytes, returned_bytes, reads, makes
            )
        )
        self._pass_bytes[operation.array] = work.active_bytes

    def _recompute(self, operation: MultiModelOperation, sources: Sequence[int]) -> None:
        tensor = self._arrays[operation.array].tensors[operation.position]
        self._add(
            UnitComputation(
                operation,
                tensor.name,
                tensor.recompute_ns,
                tensor.size_bytes + tensor.recompute_bytes,
                tensor.recompute_bytes,
                reads=sources,
                makes=(operation.position,),
            )
        )
        self._recompute_ns += tensor.recompute_ns

    def _add(self, item: UnitComputation) -> None:
        self._busy_in_all_ns += item.run_ns
        self._compute(item)

    @abstractmethod
    def _begin_unit(self) -> None:
        """Forget the times of the unit before."""

    @abstractmethod
    def _compute(self, item: UnitComputation) -> None:
        """Issue a computation."""

    @abstractmethod
    def _offload(self, operation: MultiModelOperation) -> None:
        """Issue the copy of a feature map to the host, from where it is in memory."""

    @abstractmethod
    def _prefetch(self, operation: MultiModelOperation) -> None:
        """Issue the copy of a feature map from the host."""

    @abstractmethod
    def _discard(self, operation: MultiModelOperation) -> None:
        """Return the memory of a feature map once nothing reads it any more."""

    @abstractmethod
    def _end_round(self) -> None:
        """Let everything end; `_started_ns` is the end of the round then."""

    def _size_bytes(self, operation: MultiModelOperation) -> int:
        return self._arrays[operation.array].tensors[operation.position].size_bytes

    def _name(self, operation: MultiModelOperation) -> str:
        return self._arrays[operation.array].tensors[operation.position].name

    def _note_memory(self, when_ns: int) -> None:
        if self._profile and self._profile[-1][0] == when_ns:
            self._profile.pop()
        self._profile.append((when_ns, self._stored_bytes))

    def _note_step(
        self,
        operation: MultiModelOperation,
        start_ns: int,
        end_ns: int,
        during_bytes: int,
        after_bytes: int,
    ) -> None:
        self._steps.append(
            Step(
                operation=str(operation),
                start_ns=start_ns,
                end_ns=end_ns,
                during_bytes=during_bytes,
                after_bytes=after_bytes,
                repeated=operation.action is MultiModelAction.RECOMPUTE,
            )
        )

    def _note_arrival(self, start_ns: int, size_bytes: int, stored_bytes: int) -> None:
        """Count what a prefetch takes for the computation beside which it starts."""
        if self._steps and start_ns < self._steps[-1].end_ns:
            running = self._steps[-1]
            self._steps[-1] = replace(
                running,
                during_bytes=max(running.during_bytes, stored_bytes),
                after_bytes=running.after_bytes + size_bytes,
            )
