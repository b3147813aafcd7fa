"""Flat program of a function in JAX: its equations with calls inlined, and their values numbered.

Two calls of one compiled function share the variables of their jaxpr, so values are numbers here,
not variables.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_NO_SCOPES = frozenset({"", "rematted_computation"})
# The number of a value, or a literal.
Value: TypeAlias = "int | Literal"

# Calls that mean what their equations mean. A plan takes the place of jax.checkpoint.
CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2"})
# Calls with a derivative of their own, which must stay until they are differentiated.
DERIVATIVES = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})
# What JAX's transformations add to the scopes of a model.
_WRAPPERS = re.compile(r"\b(?:jvp|transpose|vmap|checkpoint|rematted_computation|jit)\b(?=\()|[()]")


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """Equation of a flat program.

    Attributes
    ----------
    source
        The equation of JAX.
    name
        Scope, primitive and a number: unique within the program.
    inputs
        The value of each operand, or a literal.
    outputs
        The value of each result.
    again
        True inside ``jax.checkpoint`` after differentiation: it belongs to the backward pass.
    """

    source: Any
    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[int, ...]
    again: bool

    @property
    def primitive(self) -> str:
        """Name of the primitive."""
        return str(self.source.primitive.name)

    @property
    def read(self) -> tuple[int, ...]:
        """Values that are read, each once."""
        return tuple(dict.fromkeys(value for value in self.inputs if isinstance(value, int)))

    def run(self, values: Callable[[int], Any]) -> list[Any]:
        """Return the results, where `values` gives the array of a value."""
        given: dict[Any, Any] = {}
        for atom, value in zip(self.source.invars, self.inputs, strict=True):
            if not isinstance(atom, Literal):
                given[atom] = values(value) if isinstance(value, int) else value.val
        single = Jaxpr(
            constvars=(),
            invars=list(given),
            outvars=list(self.source.outvars),
            eqns=[self.source],
            effects=self.source.effects,
            debug_info=_debug_info(),
        )
        return list(jax.core.eval_jaxpr(single, (), *given.values()))


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """Equations of a function, in an order in which they can run.

    Attributes
    ----------
    avals
        Shape and type of each value.
    arguments
        Values of the arguments.
    constants
        Values that the function closes over, with their arrays.
    equations
        All equations.
    results
        The value of each result, or the literal.
    """

    avals: tuple[Any, ...]
    arguments: tuple[int, ...]
    constants: tuple[tuple[int, Any], ...]
    equations: tuple[Equation, ...]
    results: tuple[Value, ...]

    @classmethod
    def of(cls, closed: Any, inlined: frozenset[str] = CALLS) -> FlatProgram:
        """Return the program of a closed jaxpr; `inlined` are the calls that are inlined."""
        build = _Build(inlined)
        arguments = [build.new(variable.aval) for variable in closed.jaxpr.invars]
        constants = [build.constant(value) for value in closed.consts]
        results = build.run(closed.jaxpr, [*constants, *arguments], scope="", again=False)
        return cls(
            tuple(build.avals),
            tuple(arguments),
            tuple(build.constants.items()),
            tuple(build.equations),
            tuple(results),
        )

    @property
    def sha256(self) -> str:
        """Hash of primitives, shapes, types and what reads what; not of constants."""
        digest = hashlib.sha256()
        for equation in self.equations:
            results = [str(self.avals[value]) for value in equation.outputs]
            line = f"{equation.name} {equation.read} {equation.outputs} {results}\n"
            digest.update(line.encode())
        given = [str(self.avals[value]) for value in self.arguments]
        returned = [value if isinstance(value, int) else "literal" for value in self.results]
        digest.update(f"{given} {returned}".encode())
        return digest.hexdigest()


@cache
def _debug_info() -> Any:
    """Return the names that a function without arguments has in messages of JAX."""
    return jax.make_jaxpr(lambda: ())().jaxpr.debug_info


class _Build:
    def __init__(self, inlined: frozenset[str]) -> None:
        self.avals: list[Any] = []
        self.constants: dict[int, Any] = {}
        self.equations: list[Equation] = []
        self._inlined = inlined
        self._count: Counter[str] = Counter()

    def new(self, aval: Any) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def constant(self, array: Any) -> int:
        value = self.new(jax.typeof(array))
        self.constants[value] = array
        return value

    def run(self, jaxpr: Any, given: Sequence[Value], *, scope: str, again: bool) -> list[Value]:
        """Add the equations of a jaxpr; `given` are the values of its constants and arguments."""
        variables = (*jaxpr.constvars, *jaxpr.invars)
        known: dict[Any, Value] = dict(zip(variables, given, strict=True))

        def value_of(atom: Any) -> Value:
            return atom if isinstance(atom, Literal) else known[atom]

        for source in jaxpr.eqns:
            operands = tuple(value_of(atom) for atom in source.invars)
            here = _joined(scope, str(source.source_info.name_stack))
            inner = self._inner(source)
            if inner is None:
                results = self._add(source, operands, here, again)
            else:
                constants = [self.constant(value) for value in inner.consts]
                is_again = again or bool(source.params.get("differentiated", False))
                results = self.run(inner.jaxpr, [*constants, *operands], scope=here, again=is_again)
            known.update(zip(source.outvars, results, strict=True))
        return [value_of(atom) for atom in jaxpr.outvars]

    def _add(
        self, source: Any, operands: tuple[Value, ...], scope: str, again: bool
    ) -> list[Value]:
        stem = f"{scope}/{source.primitive.name}" if scope else str(source.primitive.name)
        name = f"{stem}.{self._count[stem]}"
        self._count[stem] += 1
        outputs = tuple(self.new(variable.aval) for variable in source.outvars)
        self.equations.append(Equation(source, name, operands, outputs, again))
        return list(outputs)

    def _inner(self, source: Any) -> Any:
        """Return the closed jaxpr of a call that is inlined; None of any other equation."""
        if source.primitive.name not in self._inlined or not _is_unsharded(source.params):
            return None
        for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            if key in source.params:
                inner = source.params[key]
                return inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())
        return None


def _is_unsharded(params: Mapping[str, Any]) -> bool:
    """Tell whether a compiled call says nothing of the devices of its arguments and results."""
    given = (*params.get("in_shardings", ()), *params.get("out_shardings", ()))
    return all(type(sharding).__name__ == "UnspecifiedValue" for sharding in given)


def _joined(outer: str, stack: str) -> str:
    inner = _WRAPPERS.sub("", stack)
    return "/".join(
        part for part in (*outer.split("/"), *inner.split("/")) if part not in _NO_SCOPES
    )
