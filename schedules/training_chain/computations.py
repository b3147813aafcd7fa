"""Computations of a training step in its replay: what each expects, makes and ends."""

from __future__ import annotations

from jettison.schedules.core.replay import Rule
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.tensors import Block, StageTensors
from jettison.schedules.training_chain.training_state import CHANGED, Running, TrainingState
from jettison.schedules.training_chain.training_verdict import MemoryKind


class Computations:
    """Forward, backward and update operations in a replay.

    Parameters
    ----------
    state
        The state that they change.
    """

    def __init__(self, state: TrainingState) -> None:
        self._state = state

    def start(self, event: TrainingEvent) -> tuple[Running, int]:
        """Start an operation; return it with its duration."""
        stage = self._state.stages[event.stage - 1]
        if event.kind is TrainingEventKind.BACKWARD:
            running, duration_ns = self._backward(event, stage)
        elif event.kind is TrainingEventKind.UPDATE:
            running, duration_ns = self._update(event, stage)
        elif event.kind is TrainingEventKind.HOST_UPDATE:
            running, duration_ns = self._host_update(event, stage)
        else:
            running, duration_ns = self._forward(event, stage)
        for block in running.reads:
            block.users += 1
        if event.kind is not TrainingEventKind.HOST_UPDATE:
            self._state.on_device = running
        self._state.memory.add(MemoryKind.WORKING, running.working_bytes)
        return running, duration_ns

    def end(self, running: Running) -> None:
        """End an operation."""
        event = running.event
        stage = self._state.stages[event.stage - 1]
        for block in running.reads:
            block.users -= 1
        if self._state.on_device is running:
            self._state.on_device = None
        self._state.memory.add(MemoryKind.WORKING, -running.working_bytes)
        if event.kind.is_update:
            self._end_update(event, stage)
        elif event.kind is TrainingEventKind.BACKWARD:
            self._end_backward(event.stage, stage)
        else:
            stage.blocks[_made_by(event)].is_arriving = False

    def _forward(self, event: TrainingEvent, stage: StageTensors) -> tuple[Running, int]:
        state, number = self._state, event.stage
        given = state.chain.stage(number)
        if number > state.next_backward:
            state.broken(Rule.OUT_OF_ORDER, f"B {number} has run in this step")
        reads = self._read_forward(number, stage)
        made = _made_by(event)
        state.make(stage.blocks[made], made, number, stage.backwards + 1)
        repeated = number in state.forwards
        state.forwards.add(number)
        running = Running(
            event, reads=reads, working_bytes=given.forward_overhead_bytes, repeated=repeated
        )
        return running, given.forward_ns

    def _read_forward(self, number: int, stage: StageTensors) -> tuple[Block, ...]:
        """Return what the forward operation of a stage reads, all of which is expected."""
        reads = self._read_weights(number, stage)
        return (*reads, self._activation(number - 1)) if number > 1 else reads

    def _read_weights(self, number: int, stage: StageTensors) -> tuple[Block, ...]:
        state, weights = self._state, stage.blocks[StageTensor.WEIGHTS]
        if not state.chain.stage(number).is_trained:
            return ()
        if not stage.is_up_to_date:
            state.broken(Rule.OUT_OF_ORDER, f"stage {number} has not been updated")
        if weights.size_bytes and not weights.is_ready(stage.version):
            state.broken(Rule.NOT_IN_MEMORY, f"w {number}")
        return (weights,)

    def _activation(self, number: int) -> Block:
        """Return the block that has the output of a stage, in all that is saved or by itself."""
        stage = self._state.stages[number - 1]
        version = stage.backwards + 1
        saved, output = stage.blocks[StageTensor.SAVED], stage.blocks[StageTensor.OUTPUT]
        if not (saved.is_ready(version) or output.is_ready(version)):
            self._state.broken(Rule.INPUT_MISSING, f"output {number}")
        return saved if saved.is_ready(version) else output

    def _backward(self, event: TrainingEvent, stage: StageTensors) -> tuple[Running, int]:
        state, number = self._state, event.stage
        chain, given = state.chain, state.chain.stage(number)
        if number != state.next_backward:
            expected = f"B {state.next_backward}" if state.next_backward else "the next step"
            state.broken(Rule.OUT_OF_ORDER, f"expected {expected}")
        state.next_backward = number - 1
        reads = self._read_forward(number, stage)
        saved = stage.blocks[StageTensor.SAVED]
        if not saved.is_ready(stage.backwards + 1):
            state.broken(Rule.INPUT_MISSING, f"saved {number}")
        if number < len(chain) and number not in state.gradients:
            state.broken(Rule.WRONG_GRADIENT, f"the gradient of output {number}")
        gradient = stage.blocks[StageTensor.GRADIENT]
        state.make(gradient, StageTensor.GRADIENT, number, stage.backwards + 1)
        made = chain.backward_output_bytes(number)
        state.gradients[number - 1] = made
        state.memory.add(MemoryKind.ACTIVATION_GRADIENTS, made)
        # An overhead that holds the gradient is at least as large as the gradient that is left.
        left = chain.gradient_bytes(number - 1) if number > 1 else 0
        working_bytes = max(given.backward_overhead_bytes, left - made)
        running = Running(event, reads=(*reads, saved), working_bytes=working_bytes)
        return running, given.backward_ns

    def _update(self, event: TrainingEvent, stage: StageTensors) -> tuple[Running, int]:
        state, number = self._state, event.stage
        self._expect_new_gradient(number, stage)
        for name in CHANGED:
            block = stage.blocks[name]
            if block.size_bytes and not block.is_ready(stage.version):
                state.broken(Rule.NOT_IN_MEMORY, f"{name} {number}")
        gradient = stage.blocks[StageTensor.GRADIENT]
        if gradient.size_bytes and not gradient.is_ready(stage.backwards):
            state.broken(Rule.NOT_IN_MEMORY, f"g {number}")
        names = (*CHANGED, StageTensor.GRADIENT)
        for name in names:
            if stage.blocks[name].leaving_version is not None:
                state.broken(Rule.IN_USE, f"{name} {number}")
        reads = tuple(stage.blocks[name] for name in names)
        return Running(event, reads=reads), state.chain.stage(number).update_ns

    def _host_update(self, event: TrainingEvent, stage: StageTensors) -> tuple[Running, int]:
        state, number = self._state, event.stage
        self._expect_new_gradient(number, stage)
        given, gradient = state.chain.stage(number), stage.blocks[StageTensor.GRADIENT]
        if not given.host_can_update:
            state.broken(Rule.UNKNOWN_OPERATION, f"the host has no update of stage {number}")
        if gradient.size_bytes and gradient.hosted_version != stage.backwards:
            state.broken(Rule.NO_COPY, f"g {number}")
        weights = stage.blocks[StageTensor.WEIGHTS]
        if weights.leaving_version is not None or weights.is_arriving:
            state.broken(Rule.IN_USE, f"w {number}")
        weights.is_changing_on_host = True
        return Running(event), given.host_update_ns or 0

    def _expect_new_gradient(self, number: int, stage: StageTensors) -> None:
        if stage.is_up_to_date or stage.updating:
            self._state.broken(Rule.OUT_OF_ORDER, f"B {number} has made no new gradient")
        stage.updating = True

    def _end_backward(self, number: int, stage: StageTensors) -> None:
        state = self._state
        state.end_activation(stage.blocks[StageTensor.SAVED], StageTensor.SAVED, number)
        # The input by itself; where it is part of all that its stage saved, it stays.
        for place in (number, number - 1):
            if place:
                output = state.stages[place - 1].blocks[StageTensor.OUTPUT]
                state.end_activation(output, StageTensor.OUTPUT, place)
        # The input's gradient is read by nothing, others are from now on as large as they are.
        given = state.gradients.pop(number, 0)
        made = state.gradients.pop(number - 1, 0)
        left = state.chain.gradient_bytes(number - 1) if number > 1 else 0
        state.memory.add(MemoryKind.ACTIVATION_GRADIENTS, left - made - given)
        if number > 1:
            state.gradients[number - 1] = left
        gradient = stage.blocks[StageTensor.GRADIENT]
        gradient.is_arriving = False
        stage.backwards += 1
        if not state.chain.stage(number).is_trained:
            stage.version = stage.backwards
            state.free(gradient, StageTensor.GRADIENT)
        if number == 1:
            state.end_step()

    def _end_update(self, event: TrainingEvent, stage: StageTensors) -> None:
        state = self._state
        weights, states = (stage.blocks[name] for name in CHANGED)
        gradient = stage.blocks[StageTensor.GRADIENT]
        stage.updating = False
        stage.version = stage.backwards
        if event.kind is TrainingEventKind.HOST_UPDATE:
            weights.is_changing_on_host = False
            weights.hosted_version = states.hosted_version = stage.version
            # What is left of it on the device would belong to no step any more.
            if gradient.is_resident and gradient.size_bytes:
                state.broken(Rule.IN_MEMORY_ALREADY, f"g {event.stage}")
        else:
            weights.version = states.version = stage.version
        if gradient.hosted_version is not None:
            state.memory.add_on_host(StageTensor.GRADIENT, -gradient.size_bytes)
            gradient.hosted_version = None
        state.free(gradient, StageTensor.GRADIENT)


def _made_by(event: TrainingEvent) -> StageTensor:
    is_all = event.kind is TrainingEventKind.FORWARD_ALL
    return StageTensor.SAVED if is_all else StageTensor.OUTPUT
