"""Weights, gradients and optimizer states of one stage, on the device and on the host."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.schedules.training_chain.event import StageTensor
from jettison.torch.host_copies import HostCopies, Storages
from jettison.torch.one_budget.optimizer_settings import (
    Settings,
    copies_of,
    set_settings,
    states_of,
    take_settings,
)
from jettison.torch.one_budget.own_storages import own_storages, twins_of
from jettison.torch.one_budget.stage_gradient import StageGradient
from jettison.torch.saved_storages import Place

OptimizerOf = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class StageWeights:
    """Weights of a stage with their gradient, their optimizer and its states.

    The parameters of the model stay what they are. While the weights are not on the device, their
    storages have no bytes: what refers to them, autograd's graphs as well, finds the weights where
    they were when they are back.

    The optimizer makes its states at its first update; until then, there is nothing that could
    move. States of one number (Adam counts its steps) stay where the optimizer has them.

    Parameters
    ----------
    number
        Number of the stage, from 1.
    parameters
        Its parameters, each once; they are moved to the device.
    device
        The device.
    optimizer_of
        Makes the optimizer of some parameters.
    copies
        The device's transfers.
    updates_on_host
        Whether the host updates the stage.

    Attributes
    ----------
    optimizer
        The optimizer, of the parameters or of their copies on the host; None where nothing is
        trained.
    settings
        Settings of its parameter groups, such as the learning rate, which may be changed: an update
        uses those of the time when its gradient was made.
    is_pending
        Whether there is a gradient of which no update has been made.
    """

    def __init__(
        self,
        number: int,
        parameters: Sequence[nn.Parameter],
        device: torch.device,
        optimizer_of: OptimizerOf,
        copies: HostCopies,
        *,
        updates_on_host: bool,
    ) -> None:
        self._names = {tensor: (tensor, number) for tensor in StageTensor}
        self._copies = copies
        self._parameters = list(parameters)
        self._trained = [item for item in parameters if item.requires_grad]
        self._weights = own_storages(self._parameters, device)
        self._weight_bytes = [int(storage.nbytes()) for storage in self._weights]
        self._states: Storages = []
        self._state_bytes: list[int] = []
        self._gradient = StageGradient(self._trained, device)
        self._settings_then: Settings = []
        self.is_pending = False
        self._twins: list[nn.Parameter] = []
        if updates_on_host and self._trained:
            self._twins = self._make_twins()
        self.optimizer = optimizer_of(self._subjects) if self._trained else None
        groups = [] if self.optimizer is None else self.optimizer.param_groups
        self.settings = copies_of(groups)
        self._gradient.forget()

    def _make_twins(self) -> list[nn.Parameter]:
        """Copy the weights to the host; return the trained parameters there."""
        self.offload(StageTensor.WEIGHTS)
        self._copies.release(self._names[StageTensor.WEIGHTS])
        hosted = self._copies.on_host(self._names[StageTensor.WEIGHTS])
        return twins_of(self._trained, self._weights, hosted)

    @property
    def updates_on_host(self) -> bool:
        """Whether the host updates the stage, and something in it is trained."""
        return bool(self._twins)

    @property
    def parameters(self) -> tuple[nn.Parameter, ...]:
        """The parameters."""
        return tuple(self._parameters)

    @property
    def trained(self) -> tuple[nn.Parameter, ...]:
        """Those of the parameters that are trained."""
        return tuple(self._trained)

    @property
    def groups(self) -> list[list[nn.Parameter]]:
        """The trained parameters of each group of the optimizer, with `settings` of as many."""
        if self.optimizer is None:
            return []
        own = dict(zip(map(id, self._subjects), self._trained, strict=True))
        return [
            [own[id(item)] for item in group["params"]] for group in self.optimizer.param_groups
        ]

    @property
    def _subjects(self) -> list[nn.Parameter]:
        """Parameters that the optimizer has in place of the trained ones."""
        return self._twins or self._trained

    @property
    def has_gradient(self) -> bool:
        """Whether a gradient is on the device, or arriving."""
        return self._gradient.exists

    def is_on_device(self, tensor: StageTensor) -> bool:
        """Tell whether weights or states are on the device, or arriving."""
        storages = self._weights if tensor is StageTensor.WEIGHTS else self._states
        return all(storage.nbytes() for storage in storages)

    def await_weights(self) -> None:
        """Make the device's next operation wait until the weights are there."""
        self._copies.await_arrival(self._names[StageTensor.WEIGHTS])

    def note_gradient(self) -> None:
        """Note that the backward operation has made a gradient; its update may run later."""
        if self.optimizer is None:
            return
        self._settings_then = copies_of(self.settings)
        self._gradient.places = []
        self._copies.outdate(self._names[StageTensor.GRADIENT])
        self.is_pending = True

    def offload(self, tensor: StageTensor) -> None:
        """Begin to copy a tensor to the host, if there is anything of it."""
        if tensor is StageTensor.GRADIENT:
            if not self.is_pending:
                return
            storages = self._gradient.note_places()
        else:
            storages = self._weights if tensor is StageTensor.WEIGHTS else self._states
        if storages:
            self._copies.offload(self._names[tensor], storages)

    def prefetch(self, tensor: StageTensor) -> None:
        """Begin to copy a tensor back from the host, if it has been there."""
        name = self._names[tensor]
        if tensor is StageTensor.GRADIENT:
            if self.is_pending and self._gradient.places:
                storages = self._gradient.new_storages()
                self._copies.prefetch(name, storages)
                self._gradient.put_on(storages)
            return
        is_weights = tensor is StageTensor.WEIGHTS
        storages = self._weights if is_weights else self._states
        sizes = self._weight_bytes if is_weights else self._state_bytes
        if not storages:
            return
        for storage, size_bytes in zip(storages, sizes, strict=True):
            if not storage.nbytes():
                storage.resize_(size_bytes)
        self._copies.prefetch(name, storages)

    def drop(self, tensor: StageTensor) -> None:
        """Free a tensor on the device."""
        name = self._names[tensor]
        self._copies.await_arrival(name)
        self._copies.release(name)
        if tensor is StageTensor.GRADIENT:
            self._gradient.forget()
            return
        for storage in self._weights if tensor is StageTensor.WEIGHTS else self._states:
            storage.resize_(0)

    def update(self, factor: Tensor | None) -> None:
        """Update on the device, if there is a gradient, which is multiplied by a factor before."""
        if not self.is_pending or self.optimizer is None:
            return
        for tensor in (StageTensor.WEIGHTS, StageTensor.STATES, StageTensor.GRADIENT):
            self._copies.await_arrival(self._names[tensor])
            self._copies.release(self._names[tensor])
        if factor is not None:
            for parameter in self._trained:
                if parameter.grad is not None:
                    parameter.grad.mul_(factor)
        set_settings(self.optimizer, self._settings_then)
        self.optimizer.step()
        self._gradient.forget()
        self.is_pending = False
        self._find_states()
        for tensor in (StageTensor.WEIGHTS, StageTensor.STATES):
            self._copies.outdate(self._names[tensor])

    def host_update(self, factor: Tensor | None) -> Callable[[], None]:
        """Return the update on the host, for the thread that runs it; nothing is pending then.

        The gradient is multiplied by a factor before.

        The gradient is on its way to the host or there. The copy of the weights on the device is an
        old one from now on.
        """
        if not self.is_pending or self.optimizer is None:
            # In the first period, updates of the step before have no gradient.
            return lambda: None
        self.is_pending = False
        optimizer, places, settings = self.optimizer, self._gradient.places, self._settings_then
        twin_of = {
            id(parameter): twin for parameter, twin in zip(self._trained, self._twins, strict=True)
        }

        def run() -> None:
            gradients = self._copies.on_host(self._names[StageTensor.GRADIENT]) if places else []
            self._copies.on_host(self._names[StageTensor.WEIGHTS])
            for parameter, place, index in places:
                gradient = place.on(gradients[index])
                if factor is not None:
                    gradient.mul_(factor.to(gradient.device))
                twin_of[id(parameter)].grad = gradient
            set_settings(optimizer, settings)
            optimizer.step()
            for twin in twin_of.values():
                twin.grad = None

        return run

    def bring_back(self) -> None:
        """Bring the weights and states to the device, where nothing is pending."""
        for tensor in (StageTensor.WEIGHTS, StageTensor.STATES):
            if not self.is_on_device(tensor):
                self.prefetch(tensor)
            self._copies.await_arrival(self._names[tensor])

    def newest(self, parameter: nn.Parameter) -> Tensor:
        """Return a copy of a parameter on the host, where nothing is pending."""
        storage = parameter.untyped_storage()
        if self._twins or not storage.nbytes():
            hosted = self._copies.on_host(self._names[StageTensor.WEIGHTS])
            index = [item._cdata for item in self._weights].index(storage._cdata)
            return Place.of(parameter).on(hosted[index]).clone()
        self.await_weights()
        return parameter.detach().to("cpu", copy=True)

    def newest_state(self, parameter: nn.Parameter) -> dict[str, Any]:
        """Return a copy of the optimizer's state of a trained parameter, on the host.

        Nothing may be pending.
        """
        assert self.optimizer is not None
        places = dict(zip(map(id, self._trained), self._subjects, strict=True))
        self._copies.await_arrival(self._names[StageTensor.STATES])
        return {
            name: self._newest(value) if isinstance(value, Tensor) else value
            for name, value in self.optimizer.state.get(places[id(parameter)], {}).items()
        }

    def _newest(self, value: Tensor) -> Tensor:
        storage = value.untyped_storage()
        indices = {item._cdata: index for index, item in enumerate(self._states)}
        if not storage.nbytes() and storage._cdata in indices:
            hosted = self._copies.on_host(self._names[StageTensor.STATES])
            return Place.of(value).on(hosted[indices[storage._cdata]]).clone()
        return value.detach().to("cpu", copy=True)

    def write_weights(self, given: Mapping[int, Tensor]) -> None:
        """Write parameters, given by their `id`; nothing may be pending.

        They are on the device afterwards, unless only the host had them and it updates them.
        """
        name = self._names[StageTensor.WEIGHTS]
        written = [item for item in self._parameters if id(item) in given]
        if self._twins:
            places = [storage._cdata for storage in self._weights]
            hosted = self._copies.on_host(name)
            for item in written:
                index = places.index(item.untyped_storage()._cdata)
                Place.of(item).on(hosted[index]).copy_(given[id(item)])
            if self.is_on_device(StageTensor.WEIGHTS):
                self.prefetch(StageTensor.WEIGHTS)
            return
        if not self.is_on_device(StageTensor.WEIGHTS):
            self.prefetch(StageTensor.WEIGHTS)
        self.await_weights()
        self._copies.release(name)
        for item in written:
            item.detach().copy_(given[id(item)])
        self._copies.outdate(name)

    def write_states(
        self, states: Mapping[int, Mapping[str, Any]], settings: Mapping[int, Mapping[str, Any]]
    ) -> None:
        """Give the optimizer states and settings, by the `id` of the parameters.

        Nothing may be pending. The states are where the optimizer has its parameters afterwards.
        """
        if self.optimizer is None:
            return
        groups, state, count = [], {}, 0
        for own in self.groups:
            numbers = range(count, count + len(own))
            groups.append({**settings[id(own[0])], "params": list(numbers)})
            for number, item in zip(numbers, own, strict=True):
                if id(item) in states:
                    # An optimizer keeps what it loads, and this one frees its states.
                    state[number] = copy.deepcopy(dict(states[id(item)]))
            count += len(own)
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        take_settings(self.settings, self.optimizer)
        if not self._twins:
            self._copies.await_arrival(self._names[StageTensor.STATES])
            self._copies.release(self._names[StageTensor.STATES])
            self._find_states()
            self._copies.outdate(self._names[StageTensor.STATES])

    def on_device(self) -> Iterator[Tensor]:
        """Yield the tensors of which something is on the device."""
        yield from self._parameters
        yield from self._gradient.on_device()
        if self.optimizer is not None and not self._twins:
            yield from states_of(self.optimizer)

    def _find_states(self) -> None:
        assert self.optimizer is not None
        storages = {
            storage._cdata: storage
            for tensor in states_of(self.optimizer)
            if (storage := tensor.untyped_storage()).nbytes()
        }
        self._states = list(storages.values())
        self._state_bytes = [int(storage.nbytes()) for storage in self._states]
