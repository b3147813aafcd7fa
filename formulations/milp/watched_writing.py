"""Interruptible building of models in PuLP and Pyomo, with a callback for each row and column.

PuLP and Pyomo take some microseconds for each coefficient, and a model has millions. So whatever
writes one calls a *watch* at every column and row; what the watch raises ends the writing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import lazy_loader as lazy

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")

Watch = Callable[[], None]


def unwatched() -> None:
    """Do nothing: the callback of a model that is built without interruption."""


def watched_problem(name: str, watch: Watch) -> pulp.LpProblem:
    """Return an empty PuLP minimisation problem that calls `watch` at each row and column."""

    class Watched(pulp.LpProblem):  # type: ignore[misc, name-defined, unused-ignore]
        def add_variable(self, *arguments: Any, **named: Any) -> Any:
            watch()
            return super().add_variable(*arguments, **named)

        def addConstraint(self, *arguments: Any, **named: Any) -> None:  # noqa: N802
            watch()
            super().addConstraint(*arguments, **named)

    return Watched(name, pulp.LpMinimize)
