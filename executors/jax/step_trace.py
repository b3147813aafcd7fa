"""Trace of a loss with its gradient, as ``jax.checkpoint`` differentiates it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jettison.jax.flat_program import DERIVATIVES, FlatProgram, Value
from jettison.jax.named_equations import CALLS
from jettison.jax.named_program import LoopBodies, NamedProgram


@dataclass(frozen=True, slots=True)
class Differentiation:
    """Choice of what is differentiated with respect to what.

    Attributes
    ----------
    arguments
        Places of the arguments that get a gradient.
    results
        Places of the results whose gradients are given.
    """

    arguments: tuple[int, ...]
    results: tuple[int, ...]

    def step(
        self, function: Callable[[Sequence[Any]], Sequence[Any]]
    ) -> Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]:
        """Return the function of arguments and gradients that returns results and gradients."""

        def of_both(
            arguments: Sequence[Any], cotangents: Sequence[Any]
        ) -> tuple[list[Any], list[Any]]:
            def of_chosen(chosen: Sequence[Any]) -> tuple[list[Any], list[Any]]:
                given = list(arguments)
                for place, array in zip(self.arguments, chosen, strict=True):
                    given[place] = array
                results = list(function(given))
                return [results[place] for place in self.results], results

            chosen = [arguments[place] for place in self.arguments]
            _, pull_back, results = jax.vjp(of_chosen, chosen, has_aux=True)
            return results, pull_back(list(cotangents))[0]

        return of_both


@dataclass(frozen=True, eq=False)
class StepTrace:
    """Equations of a step, in which every value that has a name is saved, or some are.

    Attributes
    ----------
    flat
        The equations, with all calls inlined.
    cotangents
        Values of the gradients that are given.
    is_planned
        Whether it is the step of a plan, part by part, and not one that saves all names.
    """

    flat: FlatProgram
    cotangents: frozenset[Value]
    is_planned: bool = False

    @classmethod
    def of(
        cls,
        named: NamedProgram,
        differentiation: Differentiation,
        loops: LoopBodies,
        saved: Sequence[str] | None = None,
    ) -> StepTrace:
        """Return the trace of a program.

        Parameters
        ----------
        named, differentiation
            The program, and what gets a gradient.
        loops
            What loops do.
        saved
            Names that are saved, between which the program falls into parts, as it is compiled;
            None to save all of them in one part.
        """
        names, parts = (named.names, None) if saved is None else named.chosen(saved)
        policy = jax.checkpoint_policies.save_only_these_names(*names.values())
        step = differentiation.step(
            lambda given: named.run(given, policy=policy, named=names, loops=loops, parts=parts)
        )
        avals = named.program.avals
        arguments = [struct_of(avals[value]) for value in named.program.arguments]
        results = [named.program.results[place] for place in differentiation.results]
        cotangents = [
            struct_of(avals[value] if isinstance(value, int) else value.aval) for value in results
        ]
        closed = jax.make_jaxpr(step)(arguments, cotangents)
        flat = FlatProgram.of(closed, CALLS | DERIVATIVES)
        return cls(flat, frozenset(flat.arguments[len(arguments) :]), saved is not None)


def struct_of(aval: Any) -> Any:
    """Return the shape and type of a value, for the tracer."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
