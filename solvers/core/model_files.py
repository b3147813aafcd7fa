"""Which mathematical programs of a problem can be written to a file, for any solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from jettison.solvers.core.problem import Problem

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel

P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """A formulation, and what some of them ask for; None where nothing is said.

    Attributes
    ----------
    formulation
        Its name.
    form
        Which of several ways to write its rows.
    cuts
        Names of nodes at which it looks.
    intervals
        Most computations of a node.
    """

    formulation: str
    form: str | None = None
    cuts: tuple[str, ...] | None = None
    intervals: int | None = None


@dataclass(frozen=True, kw_only=True)
class ModelFiles(Generic[P_contra]):
    """The formulations of a problem that are written to files.

    Attributes
    ----------
    formulations
        Their names; the first is written where none is named.
    options
        Which fields of a `ModelChoice` mean something to one of them, beside its name.
    build
        Builds a model; raises `InputError` where the choice does not go with the problem.
    """

    formulations: tuple[str, ...]
    build: Callable[[P_contra, ModelChoice], ArrayModel]
    options: frozenset[str] = frozenset()
