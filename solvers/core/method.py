"""Method: a named algorithm for one problem, with its promise and its source."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from jettison.instances.core.errors import InputError
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import NoParams, Params, ParamsGiven
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.status import Termination

P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
Q = TypeVar("Q", bound=Params)
R_co = TypeVar("R_co", covariant=True)


class Promise(StrEnum):
    """Promise of a method about its answer."""

    EXACT = "exact"
    EXACT_PERSISTENT = "exact-persistent"
    EXACT_PERSISTENT_WITH_DROPS = "exact-persistent-with-drops"
    EXACT_STAGED = "exact-staged"
    EXACT_REDUCED = "exact-kiwi-reduced"
    """The best plan of KIWI's reduced problem."""

    EXACT_ELEMENTWISE = "exact-kiwi-elementwise"
    """The best plan in which elementwise operators may be recomputed together."""

    EXACT_SAVED_OR_ONCE = "exact-saved-or-once"
    """The best schedule in which each value is saved between the passes, or recomputed once."""

    BRACKET = "bracket"
    """A schedule, and a bound that need not meet it."""

    HEURISTIC = "heuristic"
    BOUND = "bound"


@dataclass(frozen=True)
class Tuned(Generic[A_contra, Q, R_co]):
    """Function of a method with the values of its parameters.

    Attributes
    ----------
    function
        Takes the problem, the options, and the parameters.
    params
        The values; the defaults in the table of methods.
    """

    function: Callable[[A_contra, SolveOptions, Q], R_co]
    params: Q

    def __call__(self, asked: A_contra, options: SolveOptions) -> R_co:
        """Run the function."""
        return self.function(asked, options, self.params)


@dataclass(frozen=True, slots=True)
class Method(Generic[P_contra]):
    """Named algorithm for one problem.

    Attributes
    ----------
    name
        Its name on the command line.
    promise
        Its promise about the answer when no limit is hit.
    source
        Its source in the literature.
    summary
        One line for a person.
    solve
        The function, which takes the problem and `SolveOptions`; one that has parameters as well
        stands in `Tuned`, with their defaults.
    solve_curve
        The same for a list of problems that differ in their memory only, and returns one outcome
        each; None where solving them together saves nothing.
    baselines
        Names of methods of the same problem, in the order of their cost, whose schedules it starts
        from (`baselines_first`): its own is no worse.
    bounds_of
        Names of methods of the same problem that prove all that it proves, and no schedule: who
        asks for bounds alone runs them in its place. Empty where it proves more.
    needs
        Module of an optional dependency without which it raises a `MissingExtraError`; None for
        none. Where that is not installed, comparisons of all methods leave the method out.
    """

    name: str
    promise: Promise
    source: str
    summary: str
    solve: Callable[[P_contra, SolveOptions], Outcome]
    solve_curve: Callable[[Sequence[P_contra], SolveOptions], list[Outcome]] | None = None
    baselines: tuple[str, ...] = ()
    bounds_of: tuple[str, ...] = ()
    needs: str | None = None

    @property
    def can_run(self) -> bool:
        """Whether the optional dependency that it needs is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    @property
    def function(self) -> Callable[..., Outcome]:
        """The function itself, of a method with parameters or without."""
        return self.solve.function if isinstance(self.solve, Tuned) else self.solve

    @property
    def params(self) -> Params:
        """The parameters of the method, with their values."""
        return self.solve.params if isinstance(self.solve, Tuned) else NoParams()

    def with_params(self, given: ParamsGiven | None) -> Method[P_contra]:
        """Return the method with other parameters.

        Parameters
        ----------
        given
            All parameters, or some by name; None leaves them unchanged.

        Raises
        ------
        InputError
            If they belong to another method, a name is unknown, or a value is wrong.
        """
        if given is None:
            return self
        if isinstance(given, Mapping):
            given = self.params.with_values(given)
        if type(given) is not type(self.params):
            raise InputError(
                f"a {type(given).__name__}",
                field="params",
                expected=f"{self.name} takes {type(self.params).__name__}",
            )
        if not isinstance(self.solve, Tuned):
            return self
        curve = self.solve_curve
        return replace(
            self,
            solve=replace(self.solve, params=given),
            solve_curve=replace(curve, params=given) if isinstance(curve, Tuned) else curve,
        )

    def run(self, problem: P_contra, options: SolveOptions) -> Outcome:
        """Run the method.

        Ctrl-C ends it with its best answer so far, or with an empty outcome.
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
