"""Workload of a profiler: a model with the batch and the loss of its training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils import _pytree as pytree

from jettison.instances.core.provenance import Scalar
from jettison.instances.zoo.call_arguments import CallArguments, tensors_in
from jettison.instances.zoo.model_loss import mean_or_own_loss

# Labels that the loss skips: cross-entropy's own default.
IGNORED = -100


class CrossEntropy(nn.Module):
    """Mean cross-entropy against fixed labels, over all leading dimensions of the logits."""

    labels: Tensor

    def __init__(self, labels: Tensor) -> None:
        super().__init__()
        # As a buffer the labels move with the module, and count as resident.
        self.register_buffer("labels", labels)

    def forward(self, logits: Tensor) -> Tensor:
        """Return a scalar; `logits` has one more dimension than the labels."""
        return functional.cross_entropy(
            logits.flatten(0, -2), self.labels.flatten(), ignore_index=IGNORED
        )


class OwnLoss(nn.Module):
    """A user's loss function as a module; tensors that it holds do not move with the module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, output: Tensor) -> Tensor:
        """Return what the function returns."""
        return self.function(output)


class Mean(nn.Module):
    """Mean of the output, or the loss that it holds: the loss where none is given."""

    def forward(self, output: Any) -> Tensor:
        """Return a scalar."""
        return mean_or_own_loss(output)


class TrainingStep(nn.Module):
    """A model and its loss as one module, which maps the tensors of a batch to a scalar."""

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[Any], Tensor],
        arguments: CallArguments | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.arguments = arguments

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the loss."""
        if self.arguments is None:
            return self.loss(self.model(*batch))
        positional, keywords = self.arguments.call(batch)
        return self.loss(self.model(*positional, **keywords))


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """Workload: a model (for chains an ``nn.Sequential``), one batch, a loss, and their names.

    The batch is a tensor; for graphs also a tuple of positional or a mapping of keyword arguments.
    """

    model: nn.Module
    sample_input: Any
    loss: nn.Module
    model_name: str
    model_arguments: Mapping[str, Scalar]

    @property
    def batch(self) -> Tensor:
        """The first tensor of the batch, whose first dimension are the samples."""
        return tensors_in(self.sample_input)[0]

    def to(self, device: torch.device | str) -> Workload:
        """Return the workload on `device`; the model and the loss are moved, not copied."""
        return Workload(
            model=self.model.to(device),
            sample_input=pytree.tree_map_only(
                Tensor, lambda item: item.to(device), self.sample_input
            ),
            loss=self.loss.to(device),
            model_name=self.model_name,
            model_arguments=self.model_arguments,
        )
