"""Schedule interpreter of µ-TWO (Section 3.2, 7, and Algorithm H): merged graphs on three streams.

Nodes are issued one after the other. Computations and swap-ins wait on their streams for what they
read and for memory; swap-outs and removals return memory once they and all readers have ended. So
operations begin in the order in which the replay lets them begin, and memory is taken likewise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram
from jettison.instances.profilers.torch_graphs.fused.swapping_run import unmeasured_graph
from jettison.instances.profilers.torch_graphs.host_values import HostValue
from jettison.instances.profilers.torch_graphs.operator_calls import Tensors
from jettison.instances.profilers.torch_graphs.step_tensors import StepTensors
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.multi_model.operation import MultiModelAction
from jettison.torch.multi_model.device_memory import DeviceMemory, Slot
from jettison.torch.multi_model.graph_rewriter import MergedNode, MergedRound
from jettison.torch.multi_model.streams import Begin, Event, Lane, Streams, Work, busy_ns


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Measured times of a round: from its begin to the end of its last operation.

    Attributes
    ----------
    time_ns
        All of it.
    compute_ns
        Operators, recomputations included.
    to_host_ns, from_host_ns
        Copies.
    """

    time_ns: int
    compute_ns: int
    to_host_ns: int
    from_host_ns: int


class SubArrayRun:
    """Sub-array that is being trained: what is resident, its values, and their host copies.

    Parameters
    ----------
    program, tensors
        The program, and what is in memory all the time.
    """

    def __init__(self, program: FusedProgram, tensors: StepTensors) -> None:
        self.program = program
        self.tensors = tensors
        self.graph: Graph = unmeasured_graph(program)
        # By the operator that makes it: where a value is, and of an idle feature map when it can be
        # read, who reads it last, and when its copy is on the host.
        self.slots: dict[int, Slot] = {}
        self.kept: dict[int, Slot] = {}
        self.ready: dict[int, Event] = {}
        self.used: dict[int, Event] = {}
        self.hosted: dict[int, Event] = {}
        self.host: dict[int, HostValue] = {}

    @property
    def host_bytes(self) -> int:
        """Size of the buffers on the host."""
        return sum(value.size_bytes for value in self.host.values())


class ScheduleInterpreter:
    """Interpreter of the merged graphs of one training unit.

    Parameters
    ----------
    runs
        The sub-arrays.
    streams, memory
        Streams that it issues to, and the memory of the device.
    device
        The device.
    """

    def __init__(
        self,
        runs: Sequence[SubArrayRun],
        streams: Streams,
        memory: DeviceMemory,
        device: torch.device,
    ) -> None:
        self._runs = runs
        self._streams = streams
        self._memory = memory
        self._device = device
        self._issued: dict[Lane, list[Event]] = {lane: [] for lane in Lane}

    def run(self, nodes: MergedRound) -> RoundTimes:
        """Run the nodes of a round, and wait until all have ended."""
        self._issued = {lane: [] for lane in Lane}
        self._streams.drain()
        begin_ns = self._streams.now_ns()
        for node in nodes:
            match node.action:
                case MultiModelAction.OFFLOAD:
                    self._swap_out(node)
                case MultiModelAction.PREFETCH:
                    self._swap_in(node)
                case MultiModelAction.DISCARD:
                    self._remove(node)
                case _:
                    self._compute(node)
        self._streams.drain()
        end_ns = self._streams.now_ns()
        self._memory.collect()
        events = self._issued
        return RoundTimes(
            time_ns=end_ns - begin_ns,
            compute_ns=busy_ns(events[Lane.COMPUTE]),
            to_host_ns=busy_ns(events[Lane.TO_HOST]),
            from_host_ns=busy_ns(events[Lane.FROM_HOST]),
        )

    def _compute(self, node: MergedNode) -> None:
        run, memory = self._runs[node.array], self._memory
        after = [run.ready[value] for value in node.waits if value in run.ready]
        begin = memory.taking(node.taken_bytes, node.name)
        sources = {
            above: run.kept[above] if above in run.kept else run.slots[above]
            for above in node.reads
        }
        target = Slot(memory.held)
        if run.graph.nodes[node.value].keep:
            # The old value is gone when the new one is made: only one is resident.
            target = run.kept.setdefault(node.value, target)
        else:
            run.slots[node.value] = target
        ending = [run.slots.pop(value) for value in node.ends]

        def work() -> None:
            self._run_chain(run, node.chain, sources, target)
            for slot in ending:
                slot.empty()

        event = self._submit(Lane.COMPUTE, work, after, begin)
        memory.give_back(node.returned_bytes, (event,))
        run.ready.update(dict.fromkeys(node.idle, event))
        run.used.update(dict.fromkeys((*node.idle, *node.waits), event))

    def _run_chain(
        self, run: SubArrayRun, chain: Sequence[int], sources: Mapping[int, Slot], target: Slot
    ) -> None:
        program, graph, held = run.program, run.graph, self._memory.held
        last_read = {above: place for place in chain for above in graph.inputs[place]}
        local: dict[int, Tensors] = {}
        target.empty()
        for place in chain:
            frame = dict(run.tensors.registers)
            for above in graph.inputs[place]:
                frame |= local[above] if above in local else sources[above].tensors
            if place >= len(program.calls):
                number = place - len(program.calls)
                program.update(run.tensors, number, program.gradients[number].on(frame))
                continue
            made = program.calls[place].on(frame)
            held.hold((*made.stored.values(), *made.unread))
            if place == program.loss:
                run.tensors.losses.copy_(program.losses(frame))
            local[place] = made.stored
            held.release(made.unread)
            # What nothing reads is not held while the next operator runs.
            del made
            for above in graph.inputs[place]:
                if above in local and last_read[above] == place:
                    held.release(local.pop(above).values())
        for place, tensors in local.items():
            if place == chain[-1]:
                target.fill(tensors)
            held.release(tensors.values())

    def _swap_out(self, node: MergedNode) -> None:
        run, streams = self._runs[node.array], self._streams
        slot = run.slots.pop(node.value)

        def work() -> None:
            if node.value not in run.host:
                run.host[node.value] = HostValue(slot.tensors)
            run.host[node.value].copy_out(slot.tensors)
            streams.uses(Lane.TO_HOST, slot.tensors.values())

        event = self._submit(Lane.TO_HOST, work, [run.ready[node.value]])
        run.hosted[node.value] = event
        self._memory.give_back(node.returned_bytes, (event, run.used[node.value]), slot.empty)

    def _swap_in(self, node: MergedNode) -> None:
        run, streams = self._runs[node.array], self._streams
        begin = self._memory.taking(node.taken_bytes, node.name)
        slot = run.slots[node.value] = Slot(self._memory.held)

        def work() -> None:
            host = run.host[node.value]
            slot.fill(host.allocate(self._device))
            host.copy_in(slot.tensors)
            streams.uses(Lane.COMPUTE, slot.tensors.values())

        event = self._submit(Lane.FROM_HOST, work, [run.hosted[node.value]], begin)
        run.ready[node.value] = run.used[node.value] = event

    def _remove(self, node: MergedNode) -> None:
        run = self._runs[node.array]
        slot = run.slots.pop(node.value)
        self._memory.give_back(node.returned_bytes, (run.used[node.value],), slot.empty)

    def _submit(
        self, lane: Lane, work: Work, after: Sequence[Event], begin: Begin | None = None
    ) -> Event:
        event = self._streams.submit(lane, work, after, begin)
        self._issued[lane].append(event)
        return event
