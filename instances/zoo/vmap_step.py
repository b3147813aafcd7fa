"""Training step of several models of one architecture, fused through ``vmap``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from jettison.instances.profilers.torch_graphs.tensor_places import first_names


class FusedStep(nn.Module):
    """Fused training step: the sum of the losses of several models, each on its own batch.

    Parameters and buffers of all models are stacked, and the step is mapped over them: every
    operation runs once for all models. Each model draws its own random numbers.

    Parameters
    ----------
    steps
        The models, each with its loss; modules of one architecture that map a batch, and whatever
        else they take, to a scalar. One may stand several times, and is that many models.
    """

    def __init__(self, steps: Sequence[nn.Module]) -> None:
        super().__init__()
        parameters, buffers = torch.func.stack_module_state(list(steps))
        self.models = len(steps)
        self._parameter_names = list(parameters)
        self._buffer_names = list(buffers)
        # A name with a dot would be that of a module inside.
        for place, tensor in enumerate(parameters.values()):
            self.register_parameter(
                f"p{place}", nn.Parameter(tensor.detach(), tensor.requires_grad)
            )
        for place, tensor in enumerate(buffers.values()):
            self.register_buffer(f"b{place}", tensor)
        # In a list, for it is no part of this module: it only says what to compute.
        self._step = [steps[0]]

    @property
    def parameter_names(self) -> dict[str, str]:
        """Names of parameters in one of the models, by their names here."""
        return {f"p{place}": name for place, name in enumerate(self._parameter_names)}

    @property
    def buffer_names(self) -> dict[str, str]:
        """Names of buffers in one of the models, by their names here."""
        return {f"b{place}": name for place, name in enumerate(self._buffer_names)}

    def forward(self, *batches: Tensor) -> Tensor:
        """Return the sum; each of `batches` has one entry for each model."""
        parameters = {
            name: getattr(self, f"p{place}") for place, name in enumerate(self._parameter_names)
        }
        buffers = {
            name: getattr(self, f"b{place}") for place, name in enumerate(self._buffer_names)
        }
        # The fused kernels of attention cannot be mapped: products and a softmax can.
        with sdpa_kernel(SDPBackend.MATH):
            losses = torch.func.vmap(self._one, randomness="different")(
                parameters, buffers, *batches
            )
        return losses.sum()

    def _one(self, parameters: Any, buffers: Any, *batch: Tensor) -> Tensor:
        step = self._step[0]
        given = {**parameters, **buffers}
        places = {name: given[first] for name, first in first_names(step).items()}
        loss: Tensor = torch.func.functional_call(step, places, batch, tie_weights=False)
        return loss

    def static_bytes(self, *batches: Tensor) -> int:
        """Return the size of all weights, buffers and batches; gradients are not counted."""
        resident = (*self.parameters(), *self.buffers(), *batches)
        return sum(int(tensor.numel()) * int(tensor.element_size()) for tensor in resident)
