r"""Tracer of training steps that are written in JAX, into tensor programs.

The step is the loss and its gradient, as ``jax.vjp`` gives them in two stages, on abstract values:
no array is ever made, so that a model of any size can be traced. Functions that are compiled,
rematerialised or have derivatives of their own are inlined.

An operation is *backward* if it depends on the gradient of the loss with respect to itself, and
*forward* otherwise. So what the backward pass needs and JAX computes from forward values alone, a
derivative of an activation say, is forward. All forward operations come first.

Left out, exactly: what depends on neither a parameter nor an input (literals, ranges, masks, the
gradient of the loss with respect to itself, which is 1), because compilers fold or fuse it; and
what neither the loss nor a gradient needs. A reduction over dimensions of size 1 counts as a change
of shape.

Which operation splits how: products and convolutions by their dimension numbers, elementwise
operations along every dimension, reductions along those they keep and those they reduce,
reshaping along the major part of what is split or merged. Other operations that keep some
dimensions, slices say, split along these; all else, a gather say, is not split at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import util
from types import MappingProxyType
from typing import Any

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.importers.jax_subscripts import REDUCTIONS, flops_of, subscripts_of
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram

# What JAX's transformations add to the scopes of a model.
_WRAPPERS = re.compile(
    r"\b(?:jvp|transpose|vmap|checkpoint|remat|rematted_computation|jit)\b(?=\()|[()]"
)

_CALLS = frozenset(
    {
        "jit",
        "pjit",
        "closed_call",
        "core_call",
        "checkpoint",
        "remat",
        "remat2",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
    }
)


def trace_training_step(
    loss: Callable[..., Any],
    parameters: Any,
    inputs: tuple[Any, ...],
    *,
    name: str,
    model_name: str = "jax",
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
) -> TensorProgram:
    """Return the program of the loss and its gradient with respect to the parameters.

    `trace_equations` documents the arguments and errors.
    """
    return trace_equations(
        loss,
        parameters,
        inputs,
        name=name,
        model_name=model_name,
        model_arguments=model_arguments,
    )[0]


def trace_equations(
    loss: Callable[..., Any],
    parameters: Any,
    inputs: tuple[Any, ...],
    *,
    name: str,
    model_name: str = "jax",
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
) -> tuple[TensorProgram, Mapping[str, Any]]:
    """Return the program of a step, and the equation of JAX that each operation comes from.

    Parameters
    ----------
    loss
        A function of the parameters and the inputs that returns a scalar.
    parameters
        A tree of arrays or ``jax.ShapeDtypeStruct``; the path of a leaf is the name of its
        operation.
    inputs
        Trees of the same kind; no gradient goes into them. The first dimension of the first leaf is
        the batch.
    name
        Name of the program.
    model_name, model_arguments
        Names of the model and its arguments, for the provenance.

    Raises
    ------
    MissingExtraError
        If JAX is not installed.
    InputError
        If the loss is no scalar or depends on values in Python, or the step holds a loop, a branch,
        or another operation with several results.
    """
    if util.find_spec("jax") is None:
        raise MissingExtraError("JAX", "jax", "tracing a training step")
    import jax

    try:
        value = jax.eval_shape(loss, parameters, *inputs)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise InputError(
            f"the step cannot be traced: {str(error).splitlines()[0]}",
            field="loss",
            expected="let neither control flow nor shapes depend on values",
        ) from error
    if getattr(value, "shape", None) != ():
        raise InputError(f"{value}", field="loss", expected="return one number")

    def step(parameters: Any, inputs: tuple[Any, ...], gradient: Any) -> tuple[Any, Any]:
        value, pull_back = jax.vjp(lambda tree: loss(tree, *inputs), parameters)
        return value, pull_back(gradient)[0]

    gradient = jax.ShapeDtypeStruct((), value.dtype)
    closed = jax.make_jaxpr(step)(parameters, inputs, gradient)
    batches = [leaf for place, tree in enumerate(inputs) for leaf in _leaves(tree, f"input{place}")]
    given = [
        *((Role.PARAMETER, path, leaf) for path, leaf in _leaves(parameters, "parameter")),
        *((Role.INPUT, path, leaf) for path, leaf in batches),
    ]
    trace = _Trace()
    arguments = [trace.add_given(role, path, leaf) for role, path, leaf in given]
    results = trace.run(closed.jaxpr, [*arguments, _Value(None, backward=True)], "")
    kept = {result.name for result in results if result.name is not None}
    first = batches[0][1] if batches else value
    program = TensorProgram(
        name,
        trace.operations(kept),
        Provenance(
            source="jax",
            exporter="jettison",
            libraries={"jax": jax.__version__},
            model=model_name,
            model_arguments=model_arguments,
            batch=first.shape[0] if first.shape else None,
            input_shape=tuple(first.shape),
            dtype=str(first.dtype),
        ),
    )
    return program, trace.equations


@dataclass(frozen=True, slots=True)
class _Value:
    """Value of a JAX variable: the result of an operation, or a constant without a name."""

    name: str | None
    backward: bool


@dataclass
class _Trace:
    found: list[TensorOperation] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    equations: dict[str, Any] = field(default_factory=dict)

    def add_given(self, role: Role, path: str, leaf: Any) -> _Value:
        letters = "".join(map(chr, range(ord("a"), ord("a") + len(leaf.shape))))
        self.found.append(
            TensorOperation(
                name=path,
                role=role,
                primitive=str(role),
                subscripts=f"->{letters}",
                shape=tuple(leaf.shape),
                element_bytes=leaf.dtype.itemsize,
                scope=path.rpartition("/")[0],
            )
        )
        return _Value(path, backward=False)

    def run(self, jaxpr: Any, arguments: list[_Value], scope: str) -> list[_Value]:
        """Add the operations of a jaxpr; return the values of its results."""
        constant = _Value(None, backward=False)
        known: dict[Any, _Value] = dict(zip(jaxpr.invars, arguments, strict=True))
        known.update(dict.fromkeys(jaxpr.constvars, constant))

        def value(atom: Any) -> _Value:
            return constant if type(atom).__name__ == "Literal" else known[atom]

        for equation in jaxpr.eqns:
            values = [value(atom) for atom in equation.invars]
            here = _joined(scope, str(equation.source_info.name_stack))
            inner = _inner(equation)
            if inner is not None:
                results = self.run(inner, values, here)
            elif all(item.name is None for item in values):
                backward = any(item.backward for item in values)
                results = [_Value(None, backward)] * len(equation.outvars)
            else:
                results = [self.add(equation, values, here)]
            known.update(zip(equation.outvars, results, strict=True))
        return [value(atom) for atom in jaxpr.outvars]

    def add(self, equation: Any, values: list[_Value], scope: str) -> _Value:
        primitive: str = equation.primitive.name
        if len(equation.outvars) != 1:
            raise InputError(
                f"{primitive} has {len(equation.outvars)} results",
                field=scope or "loss",
                expected="write the step without loops, branches and operations of several results",
            )
        result = equation.outvars[0].aval
        shape = tuple(result.shape)
        shapes = [tuple(atom.aval.shape) for atom in equation.invars]
        if (
            primitive in REDUCTIONS
            and shapes[0]
            and math.prod(shapes[0]) == math.prod(result.shape)
        ):
            primitive = "squeeze"
        subscripts = subscripts_of(primitive, equation.params, shapes, shape)
        read = [place for place, item in enumerate(values) if item.name is not None]
        operands = [values[place].name for place in read]
        left = subscripts[0]
        backward = any(item.backward for item in values)
        stem = f"{scope}/{primitive}" if scope else primitive
        name = f"{stem}.{self.count[stem]}"
        self.count[stem] += 1
        self.equations[name] = equation
        self.found.append(
            TensorOperation(
                name=name,
                role=Role.BACKWARD if backward else Role.FORWARD,
                primitive=primitive,
                operands=tuple(item for item in operands if item is not None),
                subscripts=f"{','.join(left[place] for place in read)}->{subscripts[1]}",
                shape=shape,
                element_bytes=result.dtype.itemsize,
                flops=flops_of(primitive, equation.params, shapes, shape),
                scope=scope,
            )
        )
        return _Value(name, backward)

    def operations(self, kept: set[str]) -> tuple[TensorOperation, ...]:
        """Return the operations that the kept values need, forward ones first."""
        needed = set(kept)
        for operation in reversed(self.found):
            if operation.name in needed:
                needed.update(operation.operands)
        order = [Role.PARAMETER, Role.INPUT, Role.FORWARD, Role.BACKWARD]
        return tuple(
            replace(operation, keep=operation.name in kept)
            for operation in sorted(self.found, key=lambda item: order.index(item.role))
            if operation.name in needed or operation.role is Role.PARAMETER
        )


def _leaves(tree: Any, default: str) -> list[tuple[str, Any]]:
    from jax import tree_util

    found = []
    for path, leaf in tree_util.tree_flatten_with_path(tree)[0]:
        text = tree_util.keystr(path, simple=True, separator="/")
        found.append((text or default, leaf))
    return found


def _inner(equation: Any) -> Any:
    """Return the jaxpr of a call that is inlined; None of any other operation."""
    if equation.primitive.name not in _CALLS:
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if key in equation.params:
            inner = equation.params[key]
            return getattr(inner, "jaxpr", inner)
    return None


def _joined(outer: str, stack: str) -> str:
    inner = _WRAPPERS.sub("", stack)
    # An einsum is a scope of its own, whose name is no place in the model.
    parts = (part for part in (*outer.split("/"), *inner.split("/")) if part and "->" not in part)
    return "/".join(parts)
