r"""Rise of a step by a chain schedule: what it takes beyond what is there when it begins.

The replay of a chain is made for plans: it has no overhead below 0, and that of a profile's chain
counts a view as a copy, and reserves the gradients of all parameters elsewhere. This account
follows the same steps with what was measured of each operation by itself, adds gradients as they
come, and counts what the executor keeps to repeat a stage: states of the generator of random
numbers, and copies of buffers. A `StepChain` has views and gradients as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import torch

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.stage_rises import StageRises
from jettison.schedules.core.replay import Rule
from jettison.schedules.remat_chain.contents import ChainContents, Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.torch.errors import ExecutionError


def step_rise_bytes(
    chain: Chain, operations: Sequence[ChainOperation], buffer_bytes: Sequence[int]
) -> int | None:
    """Return the peak of a step above what is there before, the input excluded.

    :math:`O(n N)` for n operations and N stages.

    Parameters
    ----------
    chain
        The chain; without measured rises in its provenance the answer is None.
    operations
        A schedule that the replay accepts.
    buffer_bytes
        Size of the buffers of each stage, of which a stage that runs again has copies.
    """
    rises = _rises_of(chain)
    if rises is None:
        return None
    kept = _Kept(chain, operations, rises, buffer_bytes)
    storages = _Storages(chain, rises)
    gradient_bytes = peak_bytes = 0
    for operation in operations:
        known = rises[operation.stage - 1]
        match operation.kind:
            case ChainOperationKind.FORWARD_ALL:
                rise_bytes = known.saving_bytes
            case ChainOperationKind.FORWARD_CHECKPOINT | ChainOperationKind.FORWARD_NONE:
                rise_bytes = known.passing_bytes
            case ChainOperationKind.BACKWARD:
                rise_bytes = known.backward_bytes
            case _:
                rise_bytes = 0
        looking_bytes = storages.stored_bytes + gradient_bytes + kept.looking_bytes(operation)
        peak_bytes = max(peak_bytes, looking_bytes)
        beside_bytes = kept.beside_bytes(operation)
        there_bytes = storages.stored_bytes + gradient_bytes + beside_bytes
        peak_bytes = max(peak_bytes, there_bytes + rise_bytes)
        if operation.kind is ChainOperationKind.BACKWARD:
            gradient_bytes += known.gradient_bytes
        storages.run(operation)
    return peak_bytes - chain.input_bytes


def _rises_of(chain: Chain) -> list[StageRises] | None:
    """Return the measured rises of all stages, or None if some are not known."""
    measured: Mapping[str, tuple[int, ...]] = chain.provenance.rises
    if any(stage.name not in measured for stage in chain):
        return None
    return [StageRises(*measured[stage.name]) for stage in chain]


class _Storages:
    """Storages of the tensors in memory: a view of the input of its stage has that of the input."""

    def __init__(self, chain: Chain, rises: Sequence[StageRises]) -> None:
        self._chain = chain
        self._is_view = [
            stage.output_bytes > 0 and known.own_output_bytes == 0
            for stage, known in zip(chain, rises, strict=True)
        ]
        self._contents = ChainContents(chain, _refuse)
        # The storage of the input, or of the output of a stage, by a number, and its size.
        self._storage_of = {Tensor(TensorKind.PLAIN, 0): 0}
        self._size_bytes = [chain.input_bytes]

    @property
    def stored_bytes(self) -> int:
        """Bytes of all that is in memory."""
        tensors = self._contents.tensors
        shared = {self._storage_of[tensor] for tensor in tensors if tensor in self._storage_of}
        total = sum(self._size_bytes[number] for number in shared)
        for tensor in tensors:
            if tensor.kind is TensorKind.SAVED:
                stage = self._chain.stage(tensor.stage)
                total += stage.saved_bytes - stage.output_bytes
            elif tensor.kind is TensorKind.GRADIENT:
                total += tensor.size_bytes(self._chain)
        return total

    def run(self, operation: ChainOperation) -> None:
        """Run an operation."""
        number = operation.stage
        given = [Tensor(kind, number - 1) for kind in (TensorKind.PLAIN, TensorKind.SAVED)]
        of_input = [self._storage_of[t] for t in given if t in self._contents.tensors]
        effect = operation.apply_to(self._contents)
        for tensor in effect.adds:
            if tensor.kind is TensorKind.GRADIENT:
                continue
            if self._is_view[number - 1]:
                self._storage_of[tensor] = of_input[0]
            else:
                self._storage_of[tensor] = len(self._size_bytes)
                self._size_bytes.append(self._chain.activation_bytes(number))


def _refuse(rule: Rule, tensor: str) -> None:
    raise ExecutionError(f"the schedule breaks a rule ({rule}: {tensor}); replay it first")


class _Kept:
    """Memory that the executor keeps so that stages can run again, as `StageRunner` does it.

    The first run of a stage that will run again keeps its buffers and the state of the generator;
    the state only until it ends, if nothing was drawn from it. A repeated run of a stage that draws
    keeps the present state until it ends; all but the last work on a second copy of the buffers.
    """

    def __init__(
        self,
        chain: Chain,
        operations: Sequence[ChainOperation],
        rises: Sequence[StageRises],
        buffer_bytes: Sequence[int],
    ) -> None:
        self._runs_left = Counter(
            operation.stage for operation in operations if _is_forward(operation)
        )
        self._rises = rises
        self._buffer_bytes = buffer_bytes
        on_host = chain.provenance.device_kind == "cpu"
        self._state_bytes = torch.get_rng_state().nbytes if on_host else 0
        self._seen: set[int] = set()
        # The state that the last stage has found, as long as it is not known to be kept.
        self._held_bytes = self._last_bytes = 0
        self._is_to_be_looked_at = False

    def looking_bytes(self, operation: ChainOperation) -> int:
        """Return what is kept while the present state is compared with that of the last stage.

        That is before the next forward operation begins.
        """
        is_looking = self._is_to_be_looked_at and _is_forward(operation)
        return self._held_bytes + self._last_bytes + is_looking * self._state_bytes

    def beside_bytes(self, operation: ChainOperation) -> int:
        """Begin an operation, the next in order; return what is kept while it runs."""
        stage = operation.stage
        if not _is_forward(operation):
            return self._held_bytes + self._last_bytes
        state_bytes = self._state_bytes if self._rises[stage - 1].generator_bytes else 0
        buffer_bytes = self._buffer_bytes[stage - 1]
        self._last_bytes = 0
        self._is_to_be_looked_at = False
        self._runs_left[stage] -= 1
        if stage in self._seen:
            return self._held_bytes + state_bytes + buffer_bytes * (self._runs_left[stage] > 0)
        self._seen.add(stage)
        if not self._runs_left[stage]:
            return self._held_bytes
        self._last_bytes = self._state_bytes - state_bytes
        self._is_to_be_looked_at = True
        self._held_bytes += buffer_bytes + state_bytes
        return self._held_bytes + self._last_bytes


def _is_forward(operation: ChainOperation) -> bool:
    return operation.kind not in {ChainOperationKind.BACKWARD, ChainOperationKind.DROP}
