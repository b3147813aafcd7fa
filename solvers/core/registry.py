"""Registry of problems and their methods: ours, those of other packages, and those of a test.

No module in this folder knows any of them. Ours are entry points of jettison like those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.instances.core.registry import Registry
from jettison.solvers.core.method import Method
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.problem_kind import ProblemKind

PROBLEM_KINDS: Registry[ProblemKind[Any]] = Registry("jettison.problems", ProblemKind)


def find_kind(name: str) -> ProblemKind[Any]:
    """Return the kind of problem of a name.

    Raises
    ------
    InputError
        If there is none.
    RegistrationError
        If what is registered under the name cannot be loaded.
    """
    kind = PROBLEM_KINDS.find(name)
    if kind is None:
        names = PROBLEM_KINDS.names
        raise InputError(
            f"{name!r} is not a problem",
            field="problem",
            expected=f"{suggestion(name, names)}choose one of {', '.join(names)}",
        )
    return kind


def kind_of(problem: Problem) -> ProblemKind[Any]:
    """Return the kind of a problem; see `find_kind`."""
    return find_kind(problem.problem)


def check_problem(problem: object) -> None:
    """Check that an object is a problem, and not an instance, for example.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not any(isinstance(problem, kind.problem) for kind in _named_by(problem)):
        raise InputError(
            f"a {type(problem).__name__}",
            field="problem",
            expected='give an instance with its memory, such as RematChain(chain, memory="50%")',
        )


def _named_by(problem: object) -> list[ProblemKind[Any]]:
    name = getattr(problem, "problem", None)
    kind = PROBLEM_KINDS.find(name) if isinstance(name, str) else None
    return [] if kind is None else [kind]


def registered(kind: ProblemKind[Any]) -> AbstractContextManager[None]:
    """Register a kind of problem within a ``with`` block, as tests and notebooks do."""
    return PROBLEM_KINDS.registered(kind.name, kind)


def methods_of(problem: str) -> Sequence[Method[Any]]:
    """Return the methods of a problem that can run here, the default one first."""
    return [method for method in find_kind(problem).methods() if method.can_run]


def find_method(problem: str, name: str | None) -> Method[Any]:
    """Return the named method of a problem; None stands for its default.

    Raises
    ------
    InputError
        If the problem has no method of that name.
    """
    candidates = find_kind(problem).methods()
    if name is None:
        return candidates[0]
    for method in candidates:
        if method.name == name:
            return method
    names = [method.name for method in candidates]
    raise InputError(
        f"{name!r} is not a method of {problem}",
        field="method",
        expected=f"{suggestion(name, names)}choose one of {', '.join(names)}",
    )
