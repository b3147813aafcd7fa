"""Models that are written down while somebody watches, who may end that.

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
    """Let the writing go on to its end."""


def watched_problem(name: str, watch: Watch) -> pulp.LpProblem:
    """Return an empty PuLP problem, to be minimised, that calls `watch` at all that is added."""

    class Watched(pulp.LpProblem):  # type: ignore[misc, name-defined, unused-ignore]
        def add_variable(self, *arguments: Any, **named: Any) -> Any:
            watch()
            return super().add_variable(*arguments, **named)

        def addConstraint(self, *arguments: Any, **named: Any) -> None:  # noqa: N802
            watch()
            super().addConstraint(*arguments, **named)

    return Watched(name, pulp.LpMinimize)
