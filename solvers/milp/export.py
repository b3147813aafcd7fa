"""Export of the integer program of a problem to a file, for any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jettison.instances.core.atomic_file import check_replaceable
from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.solvers.core.model_files import ModelChoice
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import PROBLEM_KINDS, check_problem, find_kind, kind_of


@dataclass(frozen=True, kw_only=True)
class ExportedModel:
    """Size of a model that was written.

    Attributes
    ----------
    file
        The file.
    formulation
        Name of the formulation.
    rows, columns, nonzeros
        Numbers of rows, of columns, and of coefficients that are not zero.
    products
        Number of products of two columns; 0 for linear models.
    """

    file: Path
    formulation: str
    rows: int
    columns: int
    nonzeros: int
    products: int


def model_choice(
    problem: str,
    formulation: str | None = None,
    *,
    form: str | None = None,
    cuts: Sequence[str] | None = None,
    intervals: int | None = None,
) -> ModelChoice:
    """Return the choice of a formulation after looking at all of it; see `export`.

    Raises
    ------
    InputError
        If the problem has no formulations, or none of that name, or none with such an option; the
        field is that of the command line.
    """
    kind = find_kind(problem)
    if kind.model_files is None:
        written = [other.name for other in PROBLEM_KINDS if other.model_files is not None]
        raise InputError(
            f"{problem!r} is not written as a model file",
            field="problem",
            expected=f"write {' or '.join(written)}; for remat-graph a chain becomes its graph",
        )
    files = kind.model_files()
    if formulation is not None and formulation not in files.formulations:
        raise InputError(
            f"{formulation!r} is not a formulation of {problem}",
            field="formulation",
            expected=f"{suggestion(formulation, files.formulations)}choose one of "
            f"{', '.join(files.formulations)}",
        )
    choice = ModelChoice(
        formulation=formulation or files.formulations[0],
        form=form,
        cuts=tuple(cuts) if cuts else None,
        intervals=intervals,
    )
    for option, field in (("form", "form"), ("cut", "cuts"), ("intervals", "intervals")):
        if getattr(choice, field) is not None and field not in files.options:
            raise InputError(
                f"no formulation of {problem} asks for it",
                field=option,
                expected="leave it out",
            )
    return choice


def export(
    problem: Problem,
    path: str | Path,
    formulation: str | None = None,
    *,
    form: str | None = None,
    cuts: Sequence[str] | None = None,
    intervals: int | None = None,
) -> ExportedModel:
    """Write the integer program of a problem: MPS, LP or NL by the suffix, with .gz compressed.

    Parameters
    ----------
    problem
        Instance and memory.
    path
        The file; it appears complete or not at all.
    formulation
        Name of the formulation (`jettison list formulations`); None for the problem's first.
    form, cuts, intervals
        Which of several ways to write its rows, names of nodes that are cuts, and most computations
        of a node, for the formulations that ask for them.

    Returns
    -------
    ExportedModel
        Its size.

    Raises
    ------
    InputError
        If it is no problem, there is no such formulation or option, the suffix is unknown, or the
        file cannot be written.
    """
    check_problem(problem)
    choice = model_choice(problem.problem, formulation, form=form, cuts=cuts, intervals=intervals)
    return export_choice(problem, Path(path), choice)


def export_choice(problem: Problem, path: Path, choice: ModelChoice) -> ExportedModel:
    """Write the formulation that was chosen by `model_choice`; see `export`."""
    from jettison.formulations.milp.export import write_model
    from jettison.formulations.milp.quadratic_model import QuadraticModel

    check_replaceable(path)
    make_files = kind_of(problem).model_files
    assert make_files is not None
    model = make_files().build(problem, choice)
    write_model(model, path)
    return ExportedModel(
        file=path,
        formulation=str(choice.formulation),
        rows=model.num_rows,
        columns=model.num_columns,
        nonzeros=model.num_nonzeros,
        products=model.num_products if isinstance(model, QuadraticModel) else 0,
    )
