"""Gradients of a stage's parameters, prepared for a measured backward operation."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

import torch

from jettison.instances.profilers.torch_chains.stage import ChainStage


class StageGradients(AbstractContextManager["StageGradients"]):
    """Context that prepares the gradients of a stage's parameters, and drops them at its end.

    The chain model reserves memory for every gradient. A parameter of `with_gradient` has one to
    add to; the others have none, so that the new one takes the reserved place.
    """

    def __init__(self, stage: ChainStage) -> None:
        self._trainable = [item for item in stage.parameters if item.requires_grad]
        with_gradient = {id(item) for item in stage.with_gradient}
        self._kept = [item for item in self._trainable if id(item) in with_gradient]
        self._new = [item for item in self._trainable if id(item) not in with_gradient]

    def __enter__(self) -> StageGradients:
        for parameter in self._kept:
            parameter.grad = torch.zeros_like(parameter)
        return self

    def drop_new(self) -> None:
        """Drop the gradients that a backward operation has made, before another one runs."""
        for parameter in self._new:
            parameter.grad = None

    @property
    def new_bytes(self) -> int:
        """Size of the parameters that a backward operation has given a gradient."""
        return sum(
            int(parameter.numel()) * int(parameter.element_size())
            for parameter in self._new
            if parameter.grad is not None
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for parameter in self._trainable:
            parameter.grad = None
