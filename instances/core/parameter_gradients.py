"""Treatment of parameter gradients between two training steps: made new, or accumulated."""

from __future__ import annotations

from enum import StrEnum


class ParameterGradients(StrEnum):
    """Whether a step makes new gradients of its parameters, or adds to those that are there.

    The chain model reserves memory for the gradient of every parameter. A new gradient is written
    there. A gradient that is added to another needs further memory until it has been added.
    """

    NEW = "new"
    """None is there when the step begins: ``zero_grad()``, which is PyTorch's default."""

    ACCUMULATED = "accumulated"
    """Gradients of earlier passes stay: accumulation, or ``zero_grad(set_to_none=False)``."""
