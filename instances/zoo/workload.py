"""Workload of a profiler: a model with the batch and the loss of its training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.core.provenance import Scalar

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
    """Mean of the output: the loss where none is given."""

    def forward(self, output: Tensor) -> Tensor:
        """Return a scalar."""
        return output.mean()


class TrainingStep(nn.Module):
    """A model and its loss as one module, which maps a batch to a scalar."""

    def __init__(self, model: nn.Module, loss: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, batch: Tensor) -> Tensor:
        """Return the loss."""
        return self.loss(self.model(batch))


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """Workload: a model (for chains an ``nn.Sequential``), one batch, a loss, and their names."""

    model: nn.Module
    sample_input: Tensor
    loss: nn.Module
    model_name: str
    model_arguments: Mapping[str, Scalar]

    def to(self, device: torch.device | str) -> Workload:
        """Return the workload on `device`; the model and the loss are moved, not copied."""
        return Workload(
            model=self.model.to(device),
            sample_input=self.sample_input.to(device),
            loss=self.loss.to(device),
            model_name=self.model_name,
            model_arguments=self.model_arguments,
        )
