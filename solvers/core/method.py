"""What a method is: a named algorithm for one problem, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from jettison.solvers.core.outcome import Outcome, Problem, SolveOptions
from jettison.solvers.core.status import Termination


class Promise(StrEnum):
    """What a method promises of its answer."""

    EXACT = "exact"
    EXACT_PERSISTENT = "exact-persistent"
    EXACT_PERSISTENT_WITH_DROPS = "exact-persistent-with-drops"
    EXACT_STAGED = "exact-staged"
    EXACT_REDUCED = "exact-kiwi-reduced"
    """The best plan of KIWI's reduced problem."""

    BRACKET = "bracket"
    """A schedule, and a bound that need not meet it."""

    HEURISTIC = "heuristic"
    BOUND = "bound"


@dataclass(frozen=True, slots=True)
class Method:
    """One named algorithm for one problem.

    Attributes
    ----------
    name
        Its name on the command line.
    problem
        The problem it solves.
    promise
        What its answer is worth when it ends without hitting a limit.
    source
        Where it comes from.
    summary
        One line for a person.
    entry
        ``module:function``; the function takes the problem and `SolveOptions`.
    curve_entry
        The same for a list of problems that differ in their memory only, and returns one outcome
        each; None where solving them together saves nothing.
    baselines
        Names of methods of the same problem, in the order of their cost, whose schedules it starts
        from (`baselines_first`): its own is no worse.
    """

    name: str
    problem: str
    promise: Promise
    source: str
    summary: str
    entry: str
    curve_entry: str | None = None
    baselines: tuple[str, ...] = ()

    def run(self, problem: Problem, options: SolveOptions) -> Outcome:
        """Run the method.

        Ctrl-C ends it with what it knows; before it knows anything, with nothing.
        """
        call: Callable[[Problem, SolveOptions], Outcome] = _function(self.entry)
        try:
            return call(problem, options)
        except KeyboardInterrupt:
            return _interrupted()

    def run_curve(self, problems: Sequence[Problem], options: SolveOptions) -> list[Outcome]:
        """Run the method on one instance in several memories; Ctrl-C ends it as in `run`."""
        if self.curve_entry is None:
            return [self.run(problem, options) for problem in problems]
        call: Callable[[Sequence[Problem], SolveOptions], list[Outcome]] = _function(
            self.curve_entry
        )
        try:
            return call(problems, options)
        except KeyboardInterrupt:
            return [_interrupted() for _ in problems]


def _interrupted() -> Outcome:
    return Outcome(
        termination=Termination.INTERRUPTED, note="interrupted before anything was known"
    )


def _function(entry: str) -> Callable[..., Any]:
    module, name = entry.split(":")
    function: Callable[..., Any] = getattr(import_module(f"jettison.solvers.{module}"), name)
    return function
