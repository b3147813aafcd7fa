"""Training step written in JAX, as the target of a profile; loads no JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jettison.instances.core.provenance import Scalar


@dataclass(frozen=True, eq=False, kw_only=True)
class JaxStep:
    """Training step in JAX: a loss, its parameters and its inputs.

    Attributes
    ----------
    loss
        A function of the parameters and the inputs that returns a scalar.
    parameters
        A tree of arrays or ``jax.ShapeDtypeStruct``, which are trained.
    inputs
        Trees of the same kind.
    model_name, model_arguments
        Names of the model and its arguments, for the provenance.
    """

    loss: Callable[..., Any]
    parameters: Any
    inputs: tuple[Any, ...]
    model_name: str
    model_arguments: Mapping[str, Scalar]
