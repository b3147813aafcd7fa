"""Method: a named algorithm for one problem, with its promise and its source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.status import Termination

P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


class Promise(StrEnum):
    """Promise of a method about its answer."""

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
class Method(Generic[P_contra]):
    """Named algorithm for one problem.

    Attributes
    ----------
    name
        Its name on the command line.
    promise
        What its answer is worth when it ends without hitting a limit.
    source
        Where it comes from.
    summary
        One line for a person.
    solve
        The function, which takes the problem and `SolveOptions`.
    solve_curve
        The same for a list of problems that differ in their memory only, and returns one outcome
        each; None where solving them together saves nothing.
    baselines
        Names of methods of the same problem, in the order of their cost, whose schedules it starts
        from (`baselines_first`): its own is no worse.
    """

    name: str
    promise: Promise
    source: str
    summary: str
    solve: Callable[[P_contra, SolveOptions], Outcome]
    solve_curve: Callable[[Sequence[P_contra], SolveOptions], list[Outcome]] | None = None
    baselines: tuple[str, ...] = ()

    def run(self, problem: P_contra, options: SolveOptions) -> Outcome:
        """Run the method.

        Ctrl-C ends it with what it knows; before it knows anything, with nothing.
        """
        try:
            return self.solve(problem, options)
        except KeyboardInterrupt:
            return _interrupted()

    def run_curve(self, problems: Sequence[P_contra], options: SolveOptions) -> list[Outcome]:
        """Run the method on one instance in several memories; Ctrl-C ends it as in `run`."""
        if self.solve_curve is None:
            return [self.run(problem, options) for problem in problems]
        try:
            return self.solve_curve(problems, options)
        except KeyboardInterrupt:
            return [_interrupted() for _ in problems]


def _interrupted() -> Outcome:
    return Outcome(
        termination=Termination.INTERRUPTED, note="interrupted before anything was known"
    )
