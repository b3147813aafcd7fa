"""Moves of tensors in a replay: what an offload, a prefetch and a drop expect and change."""

from __future__ import annotations

from jettison.schedules.core.replay import Rule
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.tensors import Block, StageTensors
from jettison.schedules.training_chain.training_state import CHANGED, TrainingState


class Moves:
    """Transfers and drops in a replay.

    Parameters
    ----------
    state
        The state that they change.
    """

    def __init__(self, state: TrainingState) -> None:
        self._state = state

    def start_transfer(self, event: TrainingEvent) -> int:
        """Start a transfer; return its size."""
        tensor, stage, block = self._moved(event)
        name = f"{tensor} {event.stage}"
        if tensor is StageTensor.STATES and stage.updates_on_host:
            self._state.broken(Rule.NOT_IN_MEMORY, f"{name}, which the host updates,")
        if event.kind is TrainingEventKind.OFFLOAD:
            if not block.is_ready(_newest(tensor, stage)):
                self._state.broken(Rule.NOT_IN_MEMORY, name)
            if stage.updating and not tensor.is_activation:
                self._state.broken(Rule.IN_USE, name)
            if block.hosted_version is None and block.leaving_version is None:
                self._state.memory.add_on_host(tensor, block.size_bytes)
            block.leaving_version = block.version
        else:
            self._start_prefetch(tensor, stage, block, name)
        return block.size_bytes

    def _start_prefetch(
        self, tensor: StageTensor, stage: StageTensors, block: Block, name: str
    ) -> None:
        newest = _newest(tensor, stage)
        if block.hosted_version != newest:
            self._state.broken(Rule.NO_COPY, name)
        if block.is_changing_on_host:
            self._state.broken(Rule.IN_USE, name)
        # Weights that the host has changed take the place of the old ones.
        is_old = tensor is StageTensor.WEIGHTS and block.version < newest
        if not block.is_resident:
            self._state.reserve(block, tensor)
        elif not is_old:
            self._state.broken(Rule.IN_MEMORY_ALREADY, name)
        elif block.is_busy:
            self._state.broken(Rule.IN_USE, name)
        block.is_resident = block.is_arriving = True
        block.version = newest

    def end_transfer(self, event: TrainingEvent) -> None:
        """End a transfer."""
        _, _, block = self._moved(event)
        if event.kind is TrainingEventKind.PREFETCH:
            block.is_arriving = False
        elif block.leaving_version is not None:
            block.hosted_version, block.leaving_version = block.leaving_version, None

    def drop(self, event: TrainingEvent) -> None:
        """Drop a tensor."""
        tensor, stage, block = self._moved(event)
        name = f"{tensor} {event.stage}"
        if not block.is_resident:
            self._state.broken(Rule.NOT_IN_MEMORY, name)
            return
        if tensor.is_activation and block.users:
            self._state.read_elsewhere(tensor, event.stage)
        if block.is_busy:
            self._state.broken(Rule.IN_USE, name)
        if not tensor.is_activation and block.hosted_version != _newest(tensor, stage):
            self._state.broken(Rule.NO_COPY, name)
        self._state.free(block, tensor)

    def _moved(self, event: TrainingEvent) -> tuple[StageTensor, StageTensors, Block]:
        stage = self._state.stages[event.stage - 1]
        assert event.tensor is not None
        return event.tensor, stage, stage.blocks[event.tensor]


def _newest(tensor: StageTensor, stage: StageTensors) -> int:
    """Return the version of a tensor that the step needs next."""
    if tensor in CHANGED:
        return stage.version
    return stage.backwards + tensor.is_activation
