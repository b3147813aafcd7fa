"""Model for the command line of the tests of policies."""

from __future__ import annotations

from typing import Any

from tests.torch.policy_models import batch, layers, squares


def build() -> tuple[Any, Any, Any]:
    """Return a model, a batch and a loss."""
    return layers(), batch(), squares
