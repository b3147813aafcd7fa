"""Formulations of a problem that can be written to files, for any solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from jettison.solvers.core.problem import Problem

if TYPE_CHECKING:
    from jettison.formulations.milp.array_model import ArrayModel
    from jettison.formulations.milp.quadratic_model import QuadraticModel

P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """Choice of a formulation with its options; None where an option is not given.

    Attributes
    ----------
    formulation
        Its name.
    form
        Which of several ways to write its rows.
    cuts
        Names of the nodes that are its cuts.
    intervals
        Most computations of a node.
    """

    formulation: str
    form: str | None = None
    cuts: tuple[str, ...] | None = None
    intervals: int | None = None


@dataclass(frozen=True, kw_only=True)
class ModelFiles(Generic[P_contra]):
    """Formulations of a problem that can be written to files.

    Attributes
    ----------
    formulations
        Their names; the first is written where none is named.
    options
        The fields of `ModelChoice` that some of them use, beside the name.
    build
        Builds a model; raises `InputError` where the choice does not fit the problem.
    """

    formulations: tuple[str, ...]
    build: Callable[[P_contra, ModelChoice], ArrayModel | QuadraticModel]
    options: frozenset[str] = frozenset()
