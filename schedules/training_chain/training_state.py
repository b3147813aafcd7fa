"""State of a training step in its replay: tensors, memory, and what has been found broken."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Rule
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent
from jettison.schedules.training_chain.memory_account import MemoryAccount
from jettison.schedules.training_chain.tensors import Block, StageTensors
from jettison.schedules.training_chain.training_verdict import MemoryKind

CHANGED = (StageTensor.WEIGHTS, StageTensor.STATES)
_KINDS = {
    StageTensor.WEIGHTS: MemoryKind.WEIGHTS,
    StageTensor.STATES: MemoryKind.STATES,
    StageTensor.GRADIENT: MemoryKind.GRADIENTS,
    StageTensor.SAVED: MemoryKind.ACTIVATIONS,
    StageTensor.OUTPUT: MemoryKind.ACTIVATIONS,
}


@dataclass(slots=True)
class Running:
    """Operation or transfer under way.

    Attributes
    ----------
    event
        What it is.
    period
        The period in which it started.
    reads
        What it reads to its end.
    working_bytes
        Its memory overhead.
    repeated
        Whether the same computation has run in this step.
    """

    event: TrainingEvent
    period: int = 0
    reads: tuple[Block, ...] = ()
    working_bytes: int = 0
    repeated: bool = False


class TrainingState:
    """State of a training step in its replay.

    Parameters
    ----------
    chain
        The instance.
    stages
        The tensors of each stage, as they are at first.
    memory
        The account of both memories.
    """

    def __init__(self, chain: Chain, stages: list[StageTensors], memory: MemoryAccount) -> None:
        self.chain = chain
        self.stages = stages
        self.memory = memory
        # Gradients of outputs that are on the device, by stage.
        self.gradients: dict[int, int] = {}
        self.next_backward = len(chain)
        # Stages whose forward operation has run in this step.
        self.forwards: set[int] = set()
        # The operation of the device that started last.
        self.on_device: Running | None = None
        self.position = 0
        self.is_judged = False
        self._findings = Findings()
        self._known: set[tuple[Rule, int, str]] = set()

    @property
    def findings(self) -> Findings:
        """Rules found broken so far."""
        return self._findings

    def at(self, position: int, operation: str) -> None:
        """Go on to an event of the schedule."""
        self.position = position
        self._findings.at(position, operation)

    def broken(self, rule: Rule, tensor: str, bytes_over: int = 0) -> None:
        """Record that the event at hand breaks a rule, once, and not while warming up."""
        place = (rule, self.position, tensor)
        if self.is_judged and place not in self._known:
            self._known.add(place)
            self._findings.broken(rule, tensor, bytes_over)

    def broken_at_end(self, rule: Rule, tensor: str) -> None:
        """Record that a period as a whole breaks a rule."""
        place = (rule, -1, tensor)
        if self.is_judged and place not in self._known:
            self._known.add(place)
            self._findings.broken_at_end(rule, tensor)

    def make(self, block: Block, name: StageTensor, number: int, version: int) -> None:
        """Reserve the memory of what an operation makes."""
        if block.is_resident:
            self.broken(Rule.IN_MEMORY_ALREADY, f"{name} {number}")
        else:
            self.memory.add(_KINDS[name], block.size_bytes)
        block.is_resident = block.is_arriving = True
        block.version = version

    def reserve(self, block: Block, name: StageTensor) -> None:
        """Reserve the memory of what comes from the host."""
        self.memory.add(_KINDS[name], block.size_bytes)

    def free(self, block: Block, name: StageTensor) -> None:
        """Give back the memory of a tensor, if it has any."""
        if block.is_resident:
            self.memory.add(_KINDS[name], -block.size_bytes)
        block.is_resident = block.is_arriving = False

    def read_elsewhere(self, name: StageTensor, number: int) -> None:
        """Let an operation that reads an output read it where it is as well, if it is."""
        blocks, running = self.stages[number - 1].blocks, self.on_device
        other = StageTensor.OUTPUT if name is StageTensor.SAVED else StageTensor.SAVED
        block, instead = blocks[name], blocks[other]
        is_reader = running is not None and running.event.stage == number + 1
        if not (is_reader and instead.is_ready(block.version)):
            return
        assert running is not None
        for read in running.reads:
            if read is block:
                block.users -= 1
                instead.users += 1
        running.reads = tuple(instead if read is block else read for read in running.reads)

    def end_activation(self, block: Block, name: StageTensor, number: int) -> None:
        """End the life of an activation on the device and on the host."""
        if block.is_busy:
            self.broken(Rule.IN_USE, f"{name} {number}")
        if block.hosted_version is not None or block.leaving_version is not None:
            self.memory.add_on_host(name, -block.size_bytes)
        block.hosted_version = None
        self.free(block, name)

    def end_step(self) -> None:
        """Begin the next step, in which no activation of this one is left."""
        self.next_backward = len(self.chain)
        self.forwards.clear()
        for number, stage in enumerate(self.stages, start=1):
            for name in (StageTensor.SAVED, StageTensor.OUTPUT):
                block = stage.blocks[name]
                if block.is_resident or block.is_busy:
                    self.broken(Rule.NOT_PERIODIC, f"{name} {number}")
                    self.end_activation(block, name, number)
