"""Hooks of PyTorch that policies use, which move from one version to the next."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from jettison.instances.core.errors import InputError


def torch_hook(module: str, name: str) -> Any:
    """Return a name of a module of PyTorch that is no public interface.

    Raises
    ------
    InputError
        If this version of PyTorch does not have it; the message names both.
    """
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError):
        raise InputError(
            f"PyTorch {torch.__version__} has no {module}.{name}, which this policy needs",
            field="torch",
            expected="install PyTorch 2.13 or 2.14, in which it has been tried",
        ) from None
