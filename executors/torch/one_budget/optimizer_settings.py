"""Settings and states of an optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

Settings = list[dict[str, Any]]


def states_of(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """Yield the states of an optimizer that are more than a number."""
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor) and value.dim():
                yield value


def copies_of(groups: Settings) -> Settings:
    """Return copies of parameter groups, without the parameters."""
    return [
        {
            key: value.clone() if isinstance(value, Tensor) else value
            for key, value in group.items()
            if key != "params"
        }
        for group in groups
    ]


def set_settings(optimizer: torch.optim.Optimizer, settings: Settings) -> None:
    """Give the parameter groups of an optimizer other settings."""
    for group, given in zip(optimizer.param_groups, settings, strict=True):
        group.update(given)


def take_settings(settings: Settings, optimizer: torch.optim.Optimizer) -> None:
    """Give settings that somebody may hold the values of an optimizer's parameter groups."""
    for own, group in zip(settings, copies_of(optimizer.param_groups), strict=True):
        own.clear()
        own.update(group)
