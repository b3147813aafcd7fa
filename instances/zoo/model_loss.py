"""Loss in the output of a model that computes its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError

_EXPECTED = (
    "return the loss, or a mapping or an object that holds it as `loss`, or give a loss that takes"
    " the output"
)


def own_loss(output: Any) -> Tensor:
    """Return the loss in the output of a model.

    That is the output itself, if it is a tensor; what a mapping or an object (a dataclass, say)
    holds as ``loss``; or the first item of a tuple.

    Raises
    ------
    InputError
        If there is none.
    """
    found: Any = output
    if isinstance(output, Mapping):
        found = output.get("loss")
    elif not isinstance(output, torch.Tensor) and hasattr(output, "loss"):
        found = output.loss
    elif isinstance(output, tuple) and output:
        found = output[0]
    if not isinstance(found, torch.Tensor):
        raise InputError(
            f"the model returns a {type(output).__name__} without a loss",
            field="loss",
            expected=f"{_EXPECTED}; some models need labels for it",
        )
    return found


def mean_or_own_loss(output: Any) -> Tensor:
    """Return the mean of an output that is a tensor, or the loss that it holds."""
    return output.mean() if isinstance(output, torch.Tensor) else own_loss(output)
