"""Optimizer steps of several models at once, with hyperparameters of each (µ-TWO, B.1.3).

A step is a few elementwise operators on stacked tensors, which take the hyperparameters of all
models as one more tensor. The operators are those that round as the ones of ``torch.optim`` do: a
product with a number and a sum are one operator there, rounded once, and two would not be the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError

Coefficients = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class SGD:
    """Hyperparameters of stochastic gradient descent for one model, as ``torch.optim.SGD`` has."""

    lr: float = 1e-3
    momentum: float = 0.0
    weight_decay: float = 0.0


@dataclass(frozen=True, slots=True)
class Adam:
    """Hyperparameters of Adam for one model, as ``torch.optim.Adam`` has them."""

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0


Hyperparameters = SGD | Adam


class FusedOptimizer(Protocol):
    """Optimizer of several models, for stacked parameters."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of its states, each a tensor like the parameter, zero at first."""

    @property
    def temporaries(self) -> int:
        """Number of tensors like the parameter that `update` allocates at a time."""

    def coefficients(self, step: int) -> dict[str, list[float]]:
        """Return the numbers that step `step`, 1 for the first, needs, one for each model."""

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        states: Mapping[str, Tensor],
        coefficients: Coefficients,
    ) -> None:
        """Write to a stacked parameter and its states; coefficients broadcast over models."""


def fused_optimizer(
    hyperparameters: Sequence[Hyperparameters], *, like: Sequence[Hyperparameters] | None = None
) -> FusedOptimizer:
    """Return the optimizer of these models.

    Parameters
    ----------
    hyperparameters
        One entry for each model.
    like
        Of more models, whose optimizer shall have the same operators and states; without, of these.

    Raises
    ------
    InputError
        If the kinds differ, or a number is none that the optimizer can have.
    """
    all_of_them = tuple(like or hyperparameters)
    for place, item in enumerate(all_of_them):
        _check(item, place)
        if type(item) is not type(all_of_them[0]):
            raise InputError(
                f"{type(item).__name__}, and {type(all_of_them[0]).__name__} for the first model",
                field=f"optimizers[{place}]",
                expected="give all models one kind of optimizer; its numbers may differ",
            )
    has_decay = any(item.weight_decay for item in all_of_them)
    if isinstance(all_of_them[0], SGD):
        momentum = any(item.momentum for item in all_of_them if isinstance(item, SGD))
        return _FusedSGD(
            tuple(item for item in hyperparameters if isinstance(item, SGD)), momentum, has_decay
        )
    return _FusedAdam(tuple(item for item in hyperparameters if isinstance(item, Adam)), has_decay)


def _check(item: object, place: int) -> None:
    if not isinstance(item, SGD | Adam):
        raise InputError(
            f"a {type(item).__name__}",
            field=f"optimizers[{place}]",
            expected="give SGD(...) or Adam(...) of jettison.torch.multi_model",
        )
    for field in fields(item):
        value = getattr(item, field.name)
        is_share = field.name in {"beta1", "beta2"}
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < (1 if is_share else float("inf")):
            raise InputError(
                f"{value!r}",
                field=f"optimizers[{place}].{field.name}",
                expected="write a number from 0 on" + (", below 1" if is_share else ""),
            )


@dataclass(frozen=True, slots=True)
class _FusedSGD:
    """SGD; models without momentum or decay have a zero there, which changes no bit of theirs."""

    models: tuple[SGD, ...]
    has_momentum: bool
    has_decay: bool

    @property
    def states(self) -> tuple[str, ...]:
        return ("momentum",) if self.has_momentum else ()

    @property
    def temporaries(self) -> int:
        return int(self.has_decay)

    def coefficients(self, step: int) -> dict[str, list[float]]:
        return {
            "minus_lr": [-item.lr for item in self.models],
            "momentum": [item.momentum for item in self.models],
            "decay": [item.weight_decay for item in self.models],
        }

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        states: Mapping[str, Tensor],
        coefficients: Coefficients,
    ) -> None:
        if self.has_decay:
            gradient = torch.addcmul(gradient, parameter, coefficients["decay"])
        if self.has_momentum:
            gradient = states["momentum"].mul_(coefficients["momentum"]).add_(gradient)
        parameter.addcmul_(gradient, coefficients["minus_lr"])


@dataclass(frozen=True, slots=True)
class _FusedAdam:
    """Adam."""

    models: tuple[Adam, ...]
    has_decay: bool
    states: tuple[str, ...] = ("mean", "square")
    temporaries: int = 2

    def coefficients(self, step: int) -> dict[str, list[float]]:
        return {
            "minus_step": [-(item.lr / (1 - item.beta1**step)) for item in self.models],
            "root": [(1 - item.beta2**step) ** 0.5 for item in self.models],
            "eps": [item.eps for item in self.models],
            "new_mean": [1 - item.beta1 for item in self.models],
            "old_square": [item.beta2 for item in self.models],
            "new_square": [1 - item.beta2 for item in self.models],
            "decay": [item.weight_decay for item in self.models],
        }

    def update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        states: Mapping[str, Tensor],
        coefficients: Coefficients,
    ) -> None:
        if self.has_decay:
            gradient = torch.addcmul(gradient, parameter, coefficients["decay"])
        mean, square = states["mean"], states["square"]
        mean.lerp_(gradient, coefficients["new_mean"])
        square.mul_(coefficients["old_square"]).addcmul_(
            gradient * coefficients["new_square"], gradient
        )
        # The gradient with its decay is not held beside the two tensors that follow.
        del gradient
        deviation = square.sqrt().div_(coefficients["root"]).add_(coefficients["eps"])
        parameter.addcdiv_(mean * coefficients["minus_step"], deviation)
