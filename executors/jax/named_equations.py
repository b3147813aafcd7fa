"""Names of the equations of a function in JAX, and the function with its values under names.

`jettison export-policy --to jax` writes this module into the files that it makes, so that it needs
JAX and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

# Calls that mean what their equations mean. A plan takes the place of jax.checkpoint.
CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2"})
# The names of a user stay what they are.
TRACED_PREFIX = "jettison/"
# What JAX's transformations add to the scopes of a model.
_WRAPPERS = re.compile(r"\b(?:jvp|transpose|vmap|checkpoint|rematted_computation|jit)\b(?=\()|[()]")
_NO_SCOPES = frozenset({"", "rematted_computation"})


class EquationNames:
    """Names of equations in the order in which they run: scope, primitive and a number."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def of(self, source: Any, scope: str) -> str:
        """Return the name of the next equation, which no other one has."""
        stem = f"{scope}/{source.primitive.name}" if scope else str(source.primitive.name)
        name = f"{stem}.{self._count[stem]}"
        self._count[stem] += 1
        return name


def joined_scopes(outer: str, source: Any) -> str:
    """Return the scope of an equation inside of a call with a scope."""
    inner = _WRAPPERS.sub("", str(source.source_info.name_stack))
    return "/".join(
        part for part in (*outer.split("/"), *inner.split("/")) if part not in _NO_SCOPES
    )


def inner_call(source: Any, inlined: Collection[str]) -> Any:
    """Return the closed jaxpr of a call that is inlined; None of any other equation."""
    if source.primitive.name not in inlined or not _is_unsharded(source.params):
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if key in source.params:
            inner = source.params[key]
            return inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())
    return None


def run_equation(source: Any, given: Sequence[Any]) -> list[Any]:
    """Return the results of an equation, given an array or a literal for each operand."""
    known = {
        atom: array
        for atom, array in zip(source.invars, given, strict=True)
        if not isinstance(atom, Literal)
    }
    single = Jaxpr(
        constvars=(),
        invars=list(known),
        outvars=list(source.outvars),
        eqns=[source],
        effects=source.effects,
        debug_info=_debug_info(),
    )
    return list(jax.core.eval_jaxpr(single, (), *known.values()))


def with_names(function: Callable[..., Any], names: Collection[str]) -> Callable[..., Any]:
    """Return a function of arrays whose values have these names, for policies of names.

    The function is traced anew at each call. Equations inside of functions with derivatives of
    their own have no names.

    Raises
    ------
    ValueError
        If there is no value of a name: the names are those of another function, or of other shapes.
    """
    wanted = frozenset(names)

    def named(*arguments: Any, **keywords: Any) -> Any:
        leaves, tree = jax.tree.flatten((arguments, keywords))
        trees: list[Any] = []

        def flat(*given: Any) -> list[Any]:
            inner, more = jax.tree.unflatten(tree, given)
            found, result = jax.tree.flatten(function(*inner, **more))
            trees.append(result)
            return list(found)

        closed = jax.make_jaxpr(flat)(*leaves)
        namer = _Namer(wanted)
        results = namer.run(closed.jaxpr, [*closed.consts, *leaves], "")
        missing = wanted - namer.met
        if missing:
            raise ValueError(f"no value has the name {min(missing)!r}: this is another function")
        return jax.tree.unflatten(trees[-1], results)

    return named


class _Namer:
    def __init__(self, wanted: frozenset[str]) -> None:
        self.met: set[str] = set()
        self._wanted = wanted
        self._names = EquationNames()

    def run(self, jaxpr: Any, given: Sequence[Any], scope: str) -> list[Any]:
        """Return the results of a jaxpr, given its constants and arguments."""
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), given, strict=True))

        def array_of(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else known[atom]

        for source in jaxpr.eqns:
            operands = [array_of(atom) for atom in source.invars]
            here = joined_scopes(scope, source)
            inner = inner_call(source, CALLS)
            if inner is None:
                name = TRACED_PREFIX + self._names.of(source, here)
                results = self._named(run_equation(source, operands), name)
            else:
                results = self.run(inner.jaxpr, [*inner.consts, *operands], here)
            known.update(zip(source.outvars, results, strict=True))
        return [array_of(atom) for atom in jaxpr.outvars]

    def _named(self, results: list[Any], stem: str) -> list[Any]:
        several = len(results) > 1
        names = [f"{stem}[{place}]" if several else stem for place in range(len(results))]
        self.met |= self._wanted.intersection(names)
        return [
            checkpoint_name(array, name) if name in self._wanted else array
            for array, name in zip(results, names, strict=True)
        ]


@cache
def _debug_info() -> Any:
    """Return the names that a function without arguments has in messages of JAX."""
    return jax.make_jaxpr(lambda: ())().jaxpr.debug_info


def _is_unsharded(params: Mapping[str, Any]) -> bool:
    """Tell whether a compiled call says nothing of the devices of its arguments and results."""
    given = (*params.get("in_shardings", ()), *params.get("out_shardings", ()))
    return all(type(sharding).__name__ == "UnspecifiedValue" for sharding in given)
