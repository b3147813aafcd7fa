"""Sizes and arithmetic of equations of JAX, and the kinds of equations that compilers fuse."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from jettison.instances.importers.jax_subscripts import ELEMENTWISE, REDUCTIONS, flops_of

# A change of shape, or nothing at all: the result is the operand.
VIEWS = frozenset(
    {
        "copy",
        "copy_p",
        "expand_dims",
        "name",
        "optimization_barrier",
        "reduce_precision",
        "reshape",
        "sharding_constraint",
        "squeeze",
        "stop_gradient",
        "transpose",
    }
)
# Computed element by element, inside whatever reads them.
FUSIBLE = (ELEMENTWISE | {"broadcast_in_dim", "iota", "slice", "rev", "mul_high"}) - VIEWS
# These read what is fused into them.
FUSING = FUSIBLE | REDUCTIONS | {"argmax", "argmin"}
# Too dear to be computed once for each reader.
EXPENSIVE = frozenset(
    {
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh",
        "digamma", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "lgamma", "log", "log1p",
        "logistic", "pow", "sin", "sinh", "tan", "tanh",
    }
)  # fmt: skip


def aval_bytes(aval: Any) -> int:
    """Return the size of an array; of a key of random numbers, that of its data."""
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):
        data = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        size: int = aval_bytes(data)
        return size
    return int(math.prod(aval.shape) * np.dtype(aval.dtype).itemsize)


def equation_flops(source: Any) -> int:
    """Return the floating-point operations of an equation, with those of what it calls.

    A loop has those of its body for each iteration, or for one iteration where their number is not
    known; a branch those of its dearest case.
    """
    params = source.params
    inner = [_flops(jaxpr) for jaxpr in _jaxprs(params)]
    if source.primitive.name == "scan":
        return int(params["length"]) * sum(inner)
    if source.primitive.name == "cond":
        return max(inner, default=0)
    if inner:
        return sum(inner)
    if not source.outvars:
        return 0
    shapes = [tuple(atom.aval.shape) for atom in source.invars]
    result = tuple(source.outvars[0].aval.shape)
    return flops_of(source.primitive.name, params, shapes, result)


def _flops(jaxpr: Any) -> int:
    return sum(equation_flops(source) for source in jaxpr.eqns)


def _jaxprs(params: dict[str, Any]) -> list[Any]:
    """Return the jaxprs among the parameters of an equation."""
    found = []
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(item, "jaxpr", item)
            if hasattr(inner, "eqns"):
                found.append(inner)
    return found
