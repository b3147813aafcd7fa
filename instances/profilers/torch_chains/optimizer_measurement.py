"""Measurement of the optimizer of each stage: bytes of its states, times of its updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.device.threads import threads_set
from jettison.instances.profilers.device.timing import LaunchTimer, counted
from jettison.instances.profilers.torch_chains.stage_memory import memory_meter
from jettison.instances.profilers.torch_graphs.storages import storage_bytes
from jettison.instances.remat_chain.chain import Chain

OptimizerOf = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


@dataclass(frozen=True, slots=True)
class StageUpdate:
    """Measured update of a stage.

    Attributes
    ----------
    gradient_bytes, state_bytes
        Gradients of what is trained, and states of more than a number.
    update_ns, host_update_ns
        Durations on the device and on the host.
    rise_bytes
        What an update on the device takes beside weights, gradients and states.
    """

    gradient_bytes: int = 0
    state_bytes: int = 0
    update_ns: int = 0
    host_update_ns: int | None = None
    rise_bytes: int = 0


def measure_updates(
    modules: Sequence[object],
    optimizer: OptimizerOf,
    device: torch.device,
    *,
    warmup: int,
    repeats: int,
    threads: int,
) -> list[StageUpdate]:
    """Measure the update of each stage on copies of its parameters, stage by stage.

    The first update makes the states; those after it are measured, with random gradients. A host
    that is the device takes as long as the device.

    Raises
    ------
    InputError
        If the optimizer needs a closure, or is none.
    """
    host = torch.device("cpu")
    found = []
    for module in modules:
        parameters = list(module.parameters()) if isinstance(module, nn.Module) else []
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        if not trained:
            found.append(StageUpdate())
            continue
        with left_as_found([], device):
            on_device = _Update(trained, optimizer, device)
            update_ns = on_device.time_ns(warmup, repeats, threads)
            rise_bytes = on_device.rise_bytes()
            sizes = on_device.gradient_bytes, on_device.state_bytes
            del on_device
            host_ns = update_ns
            if device != host:
                host_ns = _Update(trained, optimizer, host).time_ns(
                    warmup, repeats, torch.get_num_threads()
                )
        found.append(StageUpdate(*sizes, update_ns, host_ns, rise_bytes))
    return found


def with_updates(chain: Chain, updates: Sequence[StageUpdate]) -> Chain:
    """Return a chain with the measured updates of its stages."""
    stages = tuple(
        replace(
            stage,
            weight_gradient_bytes=update.gradient_bytes,
            optimizer_state_bytes=update.state_bytes,
            update_ns=update.update_ns,
            host_update_ns=update.host_update_ns,
        )
        for stage, update in zip(chain, updates, strict=True)
    )
    return replace(chain, stages=stages)


class _Update:
    """Optimizer of copies of some parameters, which has made its states."""

    def __init__(
        self, trained: Sequence[nn.Parameter], optimizer: OptimizerOf, device: torch.device
    ) -> None:
        self._device = device
        copies = [nn.Parameter(item.detach().to(device, copy=True)) for item in trained]
        for item in copies:
            item.grad = torch.randn_like(item)
        self._optimizer = optimizer(copies)
        try:
            self._optimizer.step()
        except TypeError as error:
            raise InputError(
                str(error),
                field="optimizer",
                expected="use one that updates each parameter from its gradient, such as AdamW",
            ) from error
        self.gradient_bytes = sum(
            storage_bytes(item.grad for item in copies if item.grad is not None).values()
        )
        self.state_bytes = sum(
            storage_bytes(
                value
                for state in self._optimizer.state.values()
                for value in state.values()
                if isinstance(value, torch.Tensor) and value.dim()
            ).values()
        )

    def time_ns(self, warmup: int, repeats: int, threads: int) -> int:
        """Return the duration of an update."""
        with threads_set(threads):
            timer = LaunchTimer(self._device)
            durations = timer.durations_ns([self._optimizer.step], warmup=warmup, repeats=repeats)
        return counted(durations)[1]

    def rise_bytes(self) -> int:
        """Return what an update takes beside what is there when it begins."""
        with memory_meter(self._device) as meter, meter.window() as window:
            self._optimizer.step()
        return window.rise_bytes
