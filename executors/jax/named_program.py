"""Program of a loss whose values have names, run under ``jax.checkpoint`` with a policy of names.

``jax.checkpoint`` runs again whatever its policy does not save. A loop, ``jax.lax.scan``, would run
again as a whole, with all that its derivative needs of all iterations in memory. So a loop that is
not inside another equation stays outside: it ends one *part* of the program and begins the next
one. Each part between loops is a ``jax.checkpoint`` of its own, all of them with one policy; what
enters a part is saved, as ``jax.checkpoint`` always does. `LoopBodies` says what loops do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import jaxpr_as_fun

from jettison.jax.equation_cost import FUSIBLE, VIEWS, aval_bytes
from jettison.jax.flat_program import Equation, FlatProgram
from jettison.schedules.remat_graph.value_names import TRACED

Policy = Callable[..., Any]
# Keys of random numbers and counters may cross the end of a part.
_SMALL_BYTES = 256


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
                    found[value] = f"{TRACED}{equation.name}{end}"
        return found

    def chosen(self, saved: Iterable[str]) -> tuple[Mapping[int, str], tuple[Part, ...]]:
        """Return the values with these names, and the parts around them."""
        given = set(saved)
        names = {value: name for value, name in self.names.items() if name in given}
        return names, self.parts_around(names)

    @cached_property
    def loop_parts(self) -> tuple[Part, ...]:
        """Parts of the program where only loops end them."""
        return self._parts(frozenset())

    def parts_around(self, saved: Collection[int]) -> tuple[Part, ...]:
        """Return the parts of the program where saved values end them too.

        Under one ``jax.checkpoint`` a compiler may compute everything again as soon as the backward
        pass begins. What belongs to a part waits for the gradient that enters the part. So a part
        ends after something that is to be computed again, where all that is read behind that place
        is saved or small; then the parts save what one part would save.

        Parameters
        ----------
        saved
            Values that the policy saves.
        """
        kept = set(saved)
        ends: set[int] = set()
        is_due = False
        for place, equation in enumerate(self.program.equations):
            is_due |= equation.primitive not in FUSIBLE | VIEWS and not kept.issuperset(
                equation.outputs
            )
            if is_due and kept.issuperset(self._crossing[place]):
                ends.add(place)
                is_due = False
        return self._parts(frozenset(ends))

    @cached_property
    def separators(self) -> frozenset[int]:
        """Values each of which is, at some place, all that is read behind that place."""
        made = {
            value: equation.primitive
            for equation in self.program.equations
            for value in equation.outputs
        }
        alone = {value for crossing in self._crossing if len(crossing) == 1 for value in crossing}
        return frozenset(
            value
            for value in alone
            if value in self.names and made[value] not in VIEWS | {"broadcast_in_dim"}
        )

    @cached_property
    def _crossing(self) -> tuple[frozenset[int], ...]:
        """For each equation, what was made up to it and is read behind it, but for small values."""
        last_read: dict[int, int] = {}
        for place, equation in enumerate(self.program.equations):
            last_read.update(dict.fromkeys(equation.read, place))
        crossing: set[int] = set()
        found = []
        for place, equation in enumerate(self.program.equations):
            crossing -= {value for value in equation.read if last_read[value] == place}
            if place not in self._decided_by_nothing:
                crossing.update(
                    value
                    for value in equation.outputs
                    if last_read.get(value, -1) > place
                    and aval_bytes(self.program.avals[value]) > _SMALL_BYTES
                )
            found.append(frozenset(crossing))
        return tuple(found)

    @cached_property
    def _decided_by_nothing(self) -> frozenset[int]:
        """Places of equations that depend on no argument: each part runs those that it needs."""
        decided = {*self.program.arguments, *(value for value, _ in self.program.constants)}
        found = set()
        for place, equation in enumerate(self.program.equations):
            if decided.intersection(equation.read) or equation.source.effects:
                decided.update(equation.outputs)
            else:
                found.add(place)
        return frozenset(found)

    def _parts(self, ends: frozenset[int]) -> tuple[Part, ...]:
        """Return the parts that loops end, and equations at some places."""
        equations = self.program.equations
        groups: list[tuple[bool, list[Equation]]] = []
        is_over = True
        for place, equation in enumerate(equations):
            is_loop = equation.primitive == "scan"
            if place in self._decided_by_nothing:
                continue
            if is_loop or is_over:
                groups.append((is_loop, []))
            groups[-1][1].append(equation)
            is_over = is_loop or place in ends
        needed = {value for value in self.program.results if isinstance(value, int)}
        found = []
        for is_loop, own in reversed(groups):
            group = own if is_loop else [*self._free_for(own), *own]
            made = {value for equation in group for value in equation.outputs}
            writes = tuple(sorted({value for item in own for value in item.outputs} & needed))
            reads = dict.fromkeys(
                value for equation in group for value in equation.read if value not in made
            )
            needed = (needed | reads.keys()) - set(writes)
            found.append(Part(is_loop, tuple(group), tuple(reads), writes))
        return tuple(reversed(found))

    def _free_for(self, group: Sequence[Equation]) -> list[Equation]:
        """Return the equations of no argument that others need, in order."""
        return self._free_before({value for equation in group for value in equation.read})

    def _free_before(self, read: set[int]) -> list[Equation]:
        needed, found = set(read), []
        for place in sorted(self._decided_by_nothing, reverse=True):
            equation = self.program.equations[place]
            if needed.intersection(equation.outputs):
                needed.update(equation.read)
                found.append(equation)
        return found[::-1]

    @cached_property
    def entering(self) -> frozenset[int]:
        """Values that enter a part or a loop, and so are saved by whatever policy."""
        made: set[int] = set()
        entering: set[int] = set()
        for part in self.loop_parts:
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
        parts: Sequence[Part] | None = None,
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
        parts
            Parts of the program; None for those that loops end.
        """
        known = dict(zip(self.program.arguments, arguments, strict=True))
        known.update(self.program.constants)
        chosen = self.loop_parts if parts is None else parts
        wanted = {value for value in self.program.results if isinstance(value, int)}
        wanted.update(value for part in chosen if part.is_loop for value in part.reads)
        for equation in self._free_before(wanted):
            known.update(zip(equation.outputs, equation.run(known.__getitem__), strict=True))
        for part in chosen:
            operands = [known[value] for value in part.reads]
            if part.is_loop and loops is LoopBodies.CHECKPOINTED:
                known.update(
                    zip(part.equations[0].outputs, _checkpointed_loop(part, operands), strict=True)
                )
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
    given = [known[value] if isinstance(value, int) else value.val for value in equation.inputs]
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
