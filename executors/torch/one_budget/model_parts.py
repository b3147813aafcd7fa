"""Parts of a model that is trained in one budget: parameters by stage, device, optimizer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import StageTensor


def parameters_of_stages(
    modules: Sequence[Callable[..., Any]], names: Sequence[str]
) -> list[list[nn.Parameter]]:
    """Return the parameters of each stage, each once.

    Raises
    ------
    InputError
        If two stages share one, or parts of one memory: it would have two places and two updates.
    """
    owner: dict[int, tuple[str, str]] = {}
    found = []
    for module, stage in zip(modules, names, strict=True):
        own: list[nn.Parameter] = []
        if isinstance(module, nn.Module):
            for name, parameter in module.named_parameters():
                key = parameter.untyped_storage()._cdata
                other, first = owner.setdefault(key, (stage, name))
                if other != stage:
                    raise InputError(
                        f"{name} of {stage} is {first} of {other}: tied weights",
                        field="model",
                        expected="merge the stages that share weights into one, or give each its"
                        " own: in one budget, weights belong to one stage",
                    )
                own.append(parameter)
        found.append(own)
    return found


def device_of(parameters: Sequence[Sequence[nn.Parameter]]) -> torch.device:
    """Return the device of the first parameter.

    Raises
    ------
    InputError
        If there is none.
    """
    for own in parameters:
        for parameter in own:
            return parameter.device
    raise InputError("it has no parameters", field="model", expected="give a model to train")


def check_optimizer(optimizer: object) -> None:
    """Check that an optimizer updates parameters from their gradients alone.

    Raises
    ------
    InputError
        If it is no optimizer, or calls the model again.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InputError(
            f"it makes a {type(optimizer).__name__}",
            field="optimizer",
            expected="give a function of parameters that returns a torch.optim.Optimizer, such as"
            " lambda parameters: torch.optim.AdamW(parameters, lr=1e-4)",
        )
    given = inspect.signature(optimizer.step).parameters.get("closure")
    if given is not None and given.default is inspect.Parameter.empty:
        raise InputError(
            f"{type(optimizer).__name__} computes the loss again in its update",
            field="optimizer",
            expected="use one that updates each parameter from its gradient, such as AdamW",
        )


def sizes_of_tensors(chain: Chain) -> dict[tuple[StageTensor, int], int]:
    """Return the bytes of each tensor that can move."""
    return {
        (tensor, number): size_bytes
        for number, stage in enumerate(chain, start=1)
        for tensor, size_bytes in (
            (StageTensor.WEIGHTS, stage.weight_bytes),
            (StageTensor.STATES, stage.optimizer_state_bytes),
            (StageTensor.GRADIENT, stage.gradient_of_weights_bytes),
            (StageTensor.SAVED, stage.saved_bytes),
            (StageTensor.OUTPUT, stage.output_bytes),
        )
    }


def check_arguments(batch: object, loss_arguments: Sequence[Any], device: torch.device) -> None:
    """Refuse arguments of a step that are on another device or have a gradient.

    Raises
    ------
    InputError
        Naming the argument.
    """
    if not isinstance(batch, Tensor):
        raise InputError(
            f"a {type(batch).__name__} is not a tensor",
            field="batch",
            expected="give one batch as a tensor",
        )
    for item in (batch, *loss_arguments):
        if isinstance(item, Tensor) and item.device.type != device.type:
            raise InputError(
                f"a tensor on {item.device}",
                field="batch",
                expected=f'move it with .to("{device}")',
            )
        if isinstance(item, Tensor) and item.requires_grad:
            raise InputError(
                "a tensor that requires a gradient, which no stage would pass on",
                field="batch",
                expected="detach() it",
            )
