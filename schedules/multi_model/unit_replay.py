r"""Replay of a multi-model schedule: several models trained in one memory.

Computations, offloads and prefetches each run one after the other, in the order in which they are
issued; a copy takes the time that the problem gives it. An operation starts as soon as

- the operation before it on its queue has ended;
- what it reads is there: computed, arrived, or, for a prefetch, complete on the host;
- every computation and prefetch issued before it has started, so that memory is given out in the
  order of issue;
- its memory is free. With :math:`p` an operator of a sub-array and :math:`p - 1` the one of its
  pass before it, :math:`p` takes
  :math:`\text{peak}(p) - \text{active}(p - 1) - \text{(idle feature maps that it uses first)}`; a
  recomputation takes the feature map and its workspace, a prefetch the feature map.

Memory returns at the end of an operator, all but :math:`\text{active}(p)` and the feature maps that
become idle there; at the end of a recomputation, its workspace; at the end of an offload, its
feature map; and at a discard, once all that was issued before it and reads the feature map has
ended. While memory is short, an operation waits for what is going to return; if that is not
enough, the memory is exceeded.

The next round of a training unit starts when all operations of the round have ended, and so does
the next unit. Of a pair, the first round finds what the second leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray, Work
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Rule, Step, Transfer
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.sub_array_contents import SubArrayContents
from jettison.schedules.multi_model.training_replay import TrainingReplay

if TYPE_CHECKING:
    from jettison.schedules.multi_model.schedule import Round, TrainingUnit


class MultiModelReplay:
    """Replay of training units in exact integers; it goes on after a violation."""

    def __init__(self, problem: MultiModelTraining) -> None:
        self._problem = problem
        self._limit_bytes = problem.memory_bytes
        self._findings = Findings()
        self._position = 0
        self._stored_bytes = self._peak_bytes = 0
        # Memory that returns later, as (when, bytes).
        self._returns: list[tuple[int, int]] = []
        # Time of the last start that took memory, and times from which each queue is free.
        self._started_ns = self._computed_ns = self._offloaded_ns = self._prefetched_ns = 0
        self._unit_ends_ns: list[int] = []
        self._round_ends_ns: list[int] = []
        self._steps: list[Step] = []
        self._transfers: list[Transfer] = []
        self._profile: list[tuple[int, int]] = []
        self._busy_in_all_ns = self._recompute_ns = 0
        # Sub-arrays of the training unit, and the memory of the pass of each.
        self._arrays: list[SubArray] = []
        self._swaps_ns: list[tuple[int, ...]] = []
        self._contents: list[SubArrayContents] = []
        self._pass_bytes: list[int] = []
        # By sub-array: times from which a feature map can be read, until which it is read or
        # written, and from which it is complete on the host.
        self._ready_ns: list[dict[int, int]] = []
        self._busy_ns: list[dict[int, int]] = []
        self._hosted_ns: list[dict[int, int]] = []

    def run(self, units: Sequence[TrainingUnit]) -> TrainingReplay:
        """Execute one iteration."""
        for number, unit in enumerate(units, start=1):
            self._findings.at(self._position, f"start of unit {number}")
            if self._knows(unit, number):
                self._run_unit(unit)
            else:
                self._position += sum(map(len, unit.rounds))
        trained = sum(sum(unit.sizes) for unit in units)
        if trained != self._problem.count:
            self._findings.broken_at_end(
                Rule.UNFINISHED, f"{trained} models are trained, not {self._problem.count}"
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

    def _run_unit(self, unit: TrainingUnit) -> None:
        self._swaps_ns = [self._problem.swap_ns(array) for array in self._arrays]
        self._contents = [SubArrayContents(array, self._findings.broken) for array in self._arrays]
        self._pass_bytes = [0] * len(self._arrays)
        self._ready_ns = [{} for _ in self._arrays]
        self._busy_ns = [{} for _ in self._arrays]
        self._hosted_ns = [{} for _ in self._arrays]
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
        self._findings.at(self._position - 1, f"end of round {number + 1}")
        self._contents[forward].expect_complete_forward()
        self._contents[backward].expect_complete_backward()
        self._end_round()

    @property
    def _unit_number(self) -> int:
        return len(self._unit_ends_ns) + 1

    def _end_round(self) -> None:
        end_ns = max(self._computed_ns, self._offloaded_ns, self._prefetched_ns, self._started_ns)
        while self._returns:
            self._return_next()
        self._started_ns = self._computed_ns = end_ns
        self._offloaded_ns = self._prefetched_ns = end_ns
        self._note_memory(end_ns)
        self._round_ends_ns.append(end_ns)

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
                busy_ns = self._busy_ns[operation.array].get(operation.position, 0)
                self._give_back(max(self._started_ns, busy_ns), self._size_bytes(operation))

    def _run_forward(self, operation: MultiModelOperation, leaving: Sequence[int]) -> None:
        array = self._arrays[operation.array]
        work = array.forward[operation.position]
        left_bytes = sum(array.tensors[place].size_bytes for place in leaving)
        taken_bytes = work.peak_bytes - self._pass_bytes[operation.array]
        end_ns = self._operate(operation, work, self._started_ns, taken_bytes, left_bytes)
        for place in leaving:
            self._ready_ns[operation.array][place] = self._busy_ns[operation.array][place] = end_ns

    def _run_backward(self, operation: MultiModelOperation, arriving: Sequence[int]) -> None:
        array = self._arrays[operation.array]
        work = array.backward[operation.position]
        taken_bytes = work.peak_bytes - self._pass_bytes[operation.array]
        ready_ns = self._started_ns
        for place in arriving:
            taken_bytes -= array.tensors[place].size_bytes
            ready_ns = max(ready_ns, self._ready_ns[operation.array].get(place, 0))
        self._operate(operation, work, ready_ns, taken_bytes, 0)

    def _operate(
        self,
        operation: MultiModelOperation,
        work: Work,
        ready_ns: int,
        taken_bytes: int,
        left_bytes: int,
    ) -> int:
        returned_bytes = work.peak_bytes - work.active_bytes - left_bytes
        end_ns = self._compute(
            operation, work.name, ready_ns, work.run_ns, taken_bytes, returned_bytes
        )
        self._pass_bytes[operation.array] = work.active_bytes
        return end_ns

    def _recompute(self, operation: MultiModelOperation, sources: Sequence[int]) -> None:
        tensor = self._arrays[operation.array].tensors[operation.position]
        ready, busy = self._ready_ns[operation.array], self._busy_ns[operation.array]
        end_ns = self._compute(
            operation,
            tensor.name,
            max([self._started_ns, *(ready.get(place, 0) for place in sources)]),
            tensor.recompute_ns,
            tensor.size_bytes + tensor.recompute_bytes,
            tensor.recompute_bytes,
        )
        self._recompute_ns += tensor.recompute_ns
        for place in sources:
            busy[place] = max(busy.get(place, 0), end_ns)
        ready[operation.position] = busy[operation.position] = end_ns

    def _compute(
        self,
        operation: MultiModelOperation,
        name: str,
        ready_ns: int,
        run_ns: int,
        taken_bytes: int,
        returned_bytes: int,
    ) -> int:
        start_ns = self._take(max(ready_ns, self._computed_ns), taken_bytes, name)
        during_bytes = self._stored_bytes
        end_ns = start_ns + run_ns
        self._computed_ns = end_ns
        self._busy_in_all_ns += run_ns
        self._give_back(end_ns, returned_bytes)
        after_bytes = during_bytes - sum(back for when, back in self._returns if when <= end_ns)
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
        return end_ns

    def _offload(self, operation: MultiModelOperation) -> None:
        place = operation.position
        ready, busy = self._ready_ns[operation.array], self._busy_ns[operation.array]
        start_ns = max(self._started_ns, self._offloaded_ns, ready.get(place, 0))
        end_ns = start_ns + self._swaps_ns[operation.array][place]
        size_bytes = self._size_bytes(operation)
        self._offloaded_ns = end_ns
        self._hosted_ns[operation.array][place] = end_ns
        self._give_back(max(end_ns, busy.get(place, 0)), size_bytes)
        self._transfers.append(Transfer(str(operation), start_ns, end_ns, size_bytes, True))

    def _prefetch(self, operation: MultiModelOperation) -> None:
        place = operation.position
        size_bytes = self._size_bytes(operation)
        earliest_ns = max(
            self._started_ns,
            self._prefetched_ns,
            self._hosted_ns[operation.array].get(place, 0),
        )
        tensor = self._arrays[operation.array].tensors[place]
        start_ns = self._take(earliest_ns, size_bytes, tensor.name)
        end_ns = start_ns + self._swaps_ns[operation.array][place]
        self._prefetched_ns = end_ns
        self._ready_ns[operation.array][place] = self._busy_ns[operation.array][place] = end_ns
        self._transfers.append(Transfer(str(operation), start_ns, end_ns, size_bytes, False))
        if self._steps and start_ns < self._steps[-1].end_ns:
            running = self._steps[-1]
            self._steps[-1] = replace(
                running,
                during_bytes=max(running.during_bytes, self._stored_bytes),
                after_bytes=running.after_bytes + size_bytes,
            )

    def _size_bytes(self, operation: MultiModelOperation) -> int:
        return self._arrays[operation.array].tensors[operation.position].size_bytes

    def _take(self, earliest_ns: int, size_bytes: int, name: str) -> int:
        """Take memory from `earliest_ns` on, as soon as there is enough; return when."""
        now_ns = earliest_ns
        # An operation without memory never waits, and does not break the limit.
        while self._returns and (
            self._returns[0][0] <= now_ns or (size_bytes > 0 and self._excess_bytes(size_bytes) > 0)
        ):
            now_ns = max(now_ns, self._return_next())
        excess_bytes = self._excess_bytes(size_bytes)
        if size_bytes > 0 and excess_bytes > 0:
            self._findings.broken(Rule.OUT_OF_MEMORY, name, excess_bytes)
        self._stored_bytes += size_bytes
        self._peak_bytes = max(self._peak_bytes, self._stored_bytes)
        self._started_ns = now_ns
        self._note_memory(now_ns)
        return now_ns

    def _excess_bytes(self, size_bytes: int) -> int:
        return self._stored_bytes + size_bytes - self._limit_bytes

    def _give_back(self, when_ns: int, size_bytes: int) -> None:
        if size_bytes:
            heapq.heappush(self._returns, (when_ns, size_bytes))

    def _return_next(self) -> int:
        when_ns, size_bytes = heapq.heappop(self._returns)
        self._stored_bytes -= size_bytes
        self._note_memory(when_ns)
        return when_ns

    def _note_memory(self, when_ns: int) -> None:
        if self._profile and self._profile[-1][0] == when_ns:
            self._profile.pop()
        self._profile.append((when_ns, self._stored_bytes))
