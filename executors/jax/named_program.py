"""Program of a loss whose values have names, run under ``jax.checkpoint`` with a policy of names.

``jax.checkpoint`` runs again whatever its policy does not save. A loop, ``jax.lax.scan``, would run
again as a whole, with all that its derivative needs of all iterations in memory. So a loop that is
not inside another equation stays outside: it ends one *part* of the program and begins the next
one. Each part between loops is a ``jax.checkpoint`` of its own, all of them with one policy; what
enters a part is saved, as ``jax.checkpoint`` always does. `LoopBodies` says what loops do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import jaxpr_as_fun

from jettison.jax.flat_program import Equation, FlatProgram

Policy = Callable[..., Any]
# The names of a user stay what they are.
_PREFIX = "jettison/"


class LoopBodies(StrEnum):
    """Differentiation of loops that are no part of another equation.

    ``saved``
        As JAX does it: of each iteration all stays that its derivative needs.
    ``checkpointed``
        The body is a ``jax.checkpoint`` that saves nothing: of each iteration what enters it stays,
        and the body runs again, one iteration after the other.
    """

    SAVED = "saved"
    CHECKPOINTED = "checkpointed"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Part of a program: equations between two loops, or one loop.

    Attributes
    ----------
    is_loop
        True for one loop.
    equations
        Its equations.
    reads, writes
        Values that it reads from before, and values that are read after it.
    """

    is_loop: bool
    equations: tuple[Equation, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NamedProgram:
    """Program of a loss, with a name for each value that an equation makes.

    Attributes
    ----------
    program
        The program, before it is differentiated.
    """

    program: FlatProgram

    @cached_property
    def names(self) -> Mapping[int, str]:
        """Name of each value that an equation makes and another one reads, outside of loops."""
        read = {value for equation in self.program.equations for value in equation.read}
        found = {}
        for equation in self.program.equations:
            if equation.primitive == "scan":
                continue
            several = len(equation.outputs) > 1
            for place, value in enumerate(equation.outputs):
                if value in read:
                    end = f"[{place}]" if several else ""
                    found[value] = f"{_PREFIX}{equation.name}{end}"
        return found

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Parts of the program, in their order."""
        groups: list[tuple[bool, list[Equation]]] = []
        for equation in self.program.equations:
            is_loop = equation.primitive == "scan"
            if is_loop or not groups or groups[-1][0]:
                groups.append((is_loop, []))
            groups[-1][1].append(equation)
        needed = {value for value in self.program.results if isinstance(value, int)}
        found = []
        for is_loop, equations in reversed(groups):
            made = {value for equation in equations for value in equation.outputs}
            reads = dict.fromkeys(value for equation in equations for value in equation.read)
            writes = tuple(sorted(made & needed))
            needed = (needed | reads.keys()) - made
            outer = tuple(value for value in reads if value not in made)
            found.append(Part(is_loop, tuple(equations), outer, writes))
        return tuple(reversed(found))

    @cached_property
    def entering(self) -> frozenset[int]:
        """Values that enter a part or a loop, and so are saved by whatever policy."""
        made: set[int] = set()
        entering: set[int] = set()
        for part in self.parts:
            entering.update(value for value in part.reads if value in made)
            made.update(part.writes)
        return frozenset(entering)

    def run(
        self,
        arguments: Sequence[Any],
        *,
        policy: Policy | None,
        named: Mapping[int, str],
        loops: LoopBodies = LoopBodies.SAVED,
    ) -> list[Any]:
        """Return the results.

        Parameters
        ----------
        arguments
            Arrays for the arguments.
        policy
            Policy of ``jax.checkpoint``; None to run the program as it is.
        named
            Names for values, by ``checkpoint_name``.
        loops
            What loops do.
        """
        known = dict(zip(self.program.arguments, arguments, strict=True))
        known.update(self.program.constants)
        for part in self.parts:
            operands = [known[value] for value in part.reads]
            if part.is_loop and loops is LoopBodies.CHECKPOINTED:
                known.update(zip(part.equations[0].outputs, _checkpointed_loop(part, operands)))
                continue
            function = _part_function(part, named)
            if policy is not None and not part.is_loop:
                function = jax.checkpoint(function, policy=policy)
            known.update(zip(part.writes, function(*operands), strict=True))
        return [
            known[value] if isinstance(value, int) else value.val for value in self.program.results
        ]


def _part_function(part: Part, named: Mapping[int, str]) -> Callable[..., list[Any]]:
    def function(*operands: Any) -> list[Any]:
        known = dict(zip(part.reads, operands, strict=True))
        for equation in part.equations:
            for value, array in zip(equation.outputs, equation.run(known.__getitem__), strict=True):
                name = named.get(value)
                known[value] = array if name is None else checkpoint_name(array, name)
        return [known[value] for value in part.writes]

    return function


def _checkpointed_loop(part: Part, operands: Sequence[Any]) -> list[Any]:
    """Return all results of a loop whose body is a ``jax.checkpoint``."""
    (equation,) = part.equations
    known = dict(zip(part.reads, operands, strict=True))
    given = [
        known[value] if isinstance(value, int) else value.val for value in equation.inputs
    ]
    params = equation.source.params
    constants, carried = params["num_consts"], params["num_carry"]
    body = jaxpr_as_fun(params["jaxpr"])

    # Between iterations nothing is shared, so that no barrier is needed against it.
    @partial(jax.checkpoint, prevent_cse=False)
    def run_body(shared: Any, carry: Any, slices: Any) -> Any:
        return body(*shared, *carry, *slices)

    def step(carry: Any, slices: Any) -> tuple[Any, Any]:
        results = run_body(given[:constants], carry, slices)
        return results[:carried], results[carried:]

    last, stacked = jax.lax.scan(
        step,
        given[constants : constants + carried],
        given[constants + carried :],
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*last, *stacked]
