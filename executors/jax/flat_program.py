"""Flat program of a function in JAX: its equations with calls inlined, and their values numbered.

Two calls of one compiled function share the variables of their jaxpr, so values are numbers here,
not variables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
from jax.extend.core import Literal

from jettison.jax.named_equations import (
    CALLS,
    EquationNames,
    inner_call,
    joined_scopes,
    run_equation,
)

# The number of a value, or a literal.
Value: TypeAlias = "int | Literal"

# Calls with a derivative of their own, which must stay until they are differentiated.
DERIVATIVES = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})


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
    part
        Number of that ``jax.checkpoint``, from 1; 0 outside. What enters it is behind a barrier.
    """

    source: Any
    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[int, ...]
    again: bool
    part: int = 0

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
        return run_equation(
            self.source,
            [values(value) if isinstance(value, int) else value.val for value in self.inputs],
        )


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
        results = build.run(closed.jaxpr, [*constants, *arguments], scope="", part=0)
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


class _Build:
    def __init__(self, inlined: frozenset[str]) -> None:
        self.avals: list[Any] = []
        self.constants: dict[int, Any] = {}
        self.equations: list[Equation] = []
        self._inlined = inlined
        self._parts = 0
        self._names = EquationNames()

    def new(self, aval: Any) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def constant(self, array: Any) -> int:
        value = self.new(jax.typeof(array))
        self.constants[value] = array
        return value

    def run(self, jaxpr: Any, given: Sequence[Value], *, scope: str, part: int) -> list[Value]:
        """Add the equations of a jaxpr; `given` are the values of its constants and arguments."""
        variables = (*jaxpr.constvars, *jaxpr.invars)
        known: dict[Any, Value] = dict(zip(variables, given, strict=True))

        def value_of(atom: Any) -> Value:
            return atom if isinstance(atom, Literal) else known[atom]

        for source in jaxpr.eqns:
            operands = tuple(value_of(atom) for atom in source.invars)
            here = joined_scopes(scope, source)
            inner = inner_call(source, self._inlined)
            if inner is None:
                results = self._add(source, operands, here, part)
            else:
                constants = [self.constant(value) for value in inner.consts]
                inside = part
                if not part and source.params.get("differentiated", False):
                    self._parts = inside = self._parts + 1
                results = self.run(inner.jaxpr, [*constants, *operands], scope=here, part=inside)
            known.update(zip(source.outvars, results, strict=True))
        return [value_of(atom) for atom in jaxpr.outvars]

    def _add(self, source: Any, operands: tuple[Value, ...], scope: str, part: int) -> list[Value]:
        name = self._names.of(source, scope)
        outputs = tuple(self.new(variable.aval) for variable in source.outvars)
        self.equations.append(Equation(source, name, operands, outputs, part > 0, part))
        return list(outputs)
