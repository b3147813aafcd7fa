"""Quadratic model: a Pyomo model with products of columns, its names, its sizes and its files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jettison.formulations.milp.lp_names import as_lp_names

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


class QuadraticModel:
    """Pyomo model of linear and quadratic expressions, written to files by Pyomo's own writers.

    Columns are all variables and rows all active constraints, in the order of their declaration.
    Names change as `as_lp_names` says: ``R[3,7]`` is called ``R_3_7``.

    Parameters
    ----------
    concrete
        A model with one objective.
    """

    def __init__(self, concrete: ConcreteModel) -> None:
        from pyomo.core import Constraint, Objective, Var

        self._concrete = concrete
        self.name = as_lp_names([concrete.name])[0]
        self._columns = list(concrete.component_data_objects(Var))
        self._rows = list(concrete.component_data_objects(Constraint, active=True))
        self._objectives = list(concrete.component_data_objects(Objective, active=True))
        every = [*self._columns, *self._rows, *self._objectives]
        names = as_lp_names(component.name for component in every)
        self._name_of = {id(item): name for item, name in zip(every, names, strict=True)}

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._name_of[id(column)] for column in self._columns)

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        return len(self._columns)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self._rows)

    @cached_property
    def num_products(self) -> int:
        """The number of products of two columns, in rows and objective."""
        return sum(products for _, products in self._terms())

    @cached_property
    def num_nonzeros(self) -> int:
        """The number of coefficients of columns and of products in the rows."""
        count = len(self._objectives)
        return sum(linear + products for linear, products in list(self._terms())[count:])

    def _terms(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of linear and quadratic terms of the objective, and of each row."""
        from pyomo.repn import generate_standard_repn

        bodies = [objective.expr for objective in self._objectives]
        for body in (*bodies, *(row.body for row in self._rows)):
            form = generate_standard_repn(body)
            yield len(form.linear_vars), len(form.quadratic_vars)

    def lp_text(self) -> str:
        """Return the model as an LP file; products stand in square brackets.

        Pyomo begins the names of rows with the kind of their limit: ``c_e_eq3_1_`` is the equation
        ``eq3_1``, ``c_u_`` and ``c_l_`` have an upper and a lower limit.
        """
        from pyomo.repn.plugins.lp_writer import LPWriter

        stream = io.StringIO()
        LPWriter().write(self._concrete, stream, labeler=self._label)
        return stream.getvalue()

    def write_mps(self, path: Path) -> None:
        """Write the model as MPS, with its products in the sections QUADOBJ and QCMATRIX."""
        self._concrete.write(str(path), format="mps", io_options={"labeler": self._label})

    def nl_texts(self) -> tuple[str, str, str]:
        """Return the model as an NL file, and the names of its rows and of its columns.

        An NL file has no names, and what occurs in products comes first in it. The names, a line
        for each row and column, are those of the Pyomo model: ``R[3,7]``.
        """
        from pyomo.repn.plugins.nl_writer import NLWriter

        model, rows, columns = io.StringIO(), io.StringIO(), io.StringIO()
        # By default the writer eliminates columns, and refuses models that have no point.
        NLWriter().write(
            self._concrete,
            model,
            rows,
            columns,
            symbolic_solver_labels=True,
            linear_presolve=False,
        )
        return model.getvalue(), rows.getvalue(), columns.getvalue()

    def _label(self, component: Any) -> str:
        # Pyomo's writers have a column of their own where the objective has a constant.
        return self._name_of.get(id(component)) or str(component.name)
