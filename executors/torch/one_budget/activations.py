"""Activations of one training step: what its operations make, and what of it moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.instances.profilers.torch_graphs.storages import storage_bytes
from jettison.schedules.training_chain.event import StageTensor
from jettison.torch.chain_steps.run import RunStage
from jettison.torch.chain_steps.stage_graph import StageGraph
from jettison.torch.generator_log import GeneratorLog
from jettison.torch.host_copies import HostCopies
from jettison.torch.saved_storages import Place, SavedStorages
from jettison.torch.stage_runner import StageRunner


class StepActivations:
    r"""Activations of a step: outputs by themselves, and all that stages save.

    An output and what its stage saves are there independently of one another, as in the replay. An
    operation that reads an output takes the one that has arrived.

    Parameters
    ----------
    stages
        All stages, the loss last.
    model_input
        The batch, which stays.
    loss_arguments
        Further arguments of the loss, which stay as well.
    copies
        The device's transfers.
    runs
        How often each stage runs forward.
    stays
        Returns the tensors of a stage that its graph may hold: parameters and buffers.
    """

    def __init__(
        self,
        stages: Sequence[RunStage],
        model_input: Tensor,
        loss_arguments: Sequence[Any],
        copies: HostCopies,
        runs: Mapping[int, int],
        stays: Callable[[int], Sequence[Tensor]],
    ) -> None:
        autocast = AutocastState.current(model_input.device)
        log = GeneratorLog()
        self._stages = stages
        self._runners = []
        for number, stage in enumerate(stages, start=1):
            assert stage.call is not None
            runner = StageRunner(
                stage.name, stage.call, autocast, log, stage.modules, runs=runs[number]
            )
            self._runners.append(runner)
        self._input = model_input.detach()
        self._arguments = [item for item in loss_arguments if isinstance(item, Tensor)]
        self._copies = copies
        self._stays = stays
        self._plain: dict[int, Tensor] = {}
        self._saved: dict[int, StageGraph] = {}
        # The layouts of outputs on the host, and the graphs that saved what else is there: that of
        # a repeated run may save other storages, and cannot take these back.
        self._layouts: dict[int, Place] = {}
        self._hosted: dict[int, StageGraph] = {}
        self._sizes: dict[tuple[StageTensor, int], list[int]] = {}
        self._gradient: list[Tensor | None] = []

    def forward(self, number: int) -> Tensor:
        """Run a stage without saving; return its output."""
        output = self._runners[number - 1].run_checked(self._fresh_input(number)).detach()
        self._plain[number] = output
        return output

    def forward_all(self, number: int) -> Tensor:
        """Run a stage and save what its backward operation needs; return its output.

        Raises
        ------
        InputError
            If the stage trains what is not its parameter.
        """
        stage_input = self._fresh_input(number)
        stays = (*self._stays(number), *self._arguments)
        below = number > 1 and self._stages[number - 2].needs_gradient
        graph = StageGraph(
            self._runners[number - 1].run_checked,
            stage_input,
            needs_gradient=below and (stage_input.is_floating_point() or stage_input.is_complex()),
            saved=SavedStorages(stage_input, frozenset(storage_bytes(stays))),
        )
        if graph.has_backward and not self._stages[number - 1].needs_gradient:
            raise InputError(
                "the stage trains tensors that are not its parameters",
                field=self._stages[number - 1].name,
                expected="register them as parameters of the stage",
            )
        self._saved[number] = graph
        return graph.output

    def backward(self, number: int) -> None:
        """Run a stage back, after which its activations are gone."""
        graph = self._saved[number]
        self._copies.await_arrival((StageTensor.SAVED, number))
        stage_input = self._activation(number - 1)
        if number == len(self._stages):
            self._gradient = [torch.ones_like(graph.output)]
        gradient = graph.backward(self._gradient, stage_input)
        del stage_input
        self._gradient = [gradient]
        self._end(StageTensor.SAVED, number)
        self._end(StageTensor.OUTPUT, number)
        self._end(StageTensor.OUTPUT, number - 1)

    def offload(self, tensor: StageTensor, number: int) -> None:
        """Begin to copy an activation to the host."""
        if tensor is StageTensor.OUTPUT:
            storages = [self._plain[number].untyped_storage()]
            self._layouts[number] = Place.of(self._plain[number])
        else:
            storages = self._saved[number].storages()
            self._hosted.setdefault(number, self._saved[number])
        name = (tensor, number)
        self._sizes.setdefault(name, [int(storage.nbytes()) for storage in storages])
        self._copies.offload(name, storages)

    def prefetch(self, tensor: StageTensor, number: int) -> None:
        """Begin to copy an activation back from the host."""
        name = (tensor, number)
        storages = [
            torch.UntypedStorage(size_bytes, device=self._input.device)
            for size_bytes in self._sizes[name]
        ]
        self._copies.prefetch(name, storages)
        if tensor is StageTensor.OUTPUT:
            self._plain[number] = self._layouts[number].on(storages[0])
        else:
            graph = self._saved[number] = self._hosted[number]
            graph.arrive(storages)

    def drop(self, tensor: StageTensor, number: int) -> None:
        """Free an activation; of one that the host has, the nodes of the graph are kept."""
        name = (tensor, number)
        self._copies.await_arrival(name)
        self._copies.release(name)
        if tensor is StageTensor.OUTPUT:
            del self._plain[number]
            return
        graph = self._saved.pop(number)
        if graph is self._hosted.get(number):
            graph.leave()

    def storages(self) -> dict[int, int]:
        """Return the size of each storage on the device, by its address."""
        found = storage_bytes(
            item
            for item in (self._input, *self._plain.values(), *self._gradient)
            if item is not None
        )
        for graph in self._saved.values():
            found |= {storage.data_ptr(): int(storage.nbytes()) for storage in graph.storages()}
        return found

    def _end(self, tensor: StageTensor, number: int) -> None:
        name = (tensor, number)
        self._copies.await_arrival(name)
        self._copies.release(name)
        self._copies.outdate(name)
        if tensor is StageTensor.OUTPUT:
            self._plain.pop(number, None)
            self._layouts.pop(number, None)
        else:
            del self._saved[number]
            self._hosted.pop(number, None)

    def _activation(self, number: int) -> Tensor:
        """Return an output that has arrived, or wait for one; 0 is the input of the model."""
        if number == 0:
            return self._input
        names = [
            (tensor, number)
            for tensor, there in (
                (StageTensor.OUTPUT, self._plain),
                (StageTensor.SAVED, self._saved),
            )
            if number in there
        ]
        arrived = [name for name in names if not self._copies.is_arriving(name)]
        tensor, _ = name = (arrived or names)[0]
        self._copies.await_arrival(name)
        if tensor is StageTensor.OUTPUT:
            return self._plain[number]
        return self._saved[number].output

    def _fresh_input(self, number: int) -> Tensor:
        # A version counter of its own tells whether this very run changes it.
        return self._activation(number - 1).data
