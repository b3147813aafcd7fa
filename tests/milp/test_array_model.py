"""The model that every formulation ends as: what it refuses, and what it can be asked."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.formulations.milp.array_model import ARRAY_TYPES, ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.lp_names import as_lp_names, is_lp_name
from jettison.instances.core.errors import InputError


def two_rows(**changes: Any) -> ArrayModel:
    """x + 2y <= 4 and 3x - y >= 0, x integer in 0..2, y >= 0; minimise -x - y + 10."""
    parts: dict[str, Any] = {
        "name": "two-rows",
        "objective": [-1, -1],
        "offset": 10,
        "indptr": [0, 2, 4],
        "indices": [0, 1, 0, 1],
        "data": [1, 2, 3, -1],
        "row_lower": [-math.inf, 0],
        "row_upper": [4, math.inf],
        "column_lower": [0, 0],
        "column_upper": [2, math.inf],
        "integer": [True, False],
        "row_names": ("sum", "difference"),
        "column_names": ("x", "y"),
    }
    return ArrayModel(**{**parts, **changes})


def test_a_feasible_point_has_no_violations() -> None:
    assert two_rows().violations([2, 1]) == {}


def test_each_violation_is_reported_under_its_name_with_its_size() -> None:
    # x + 2y = 2.5 + 6 = 8.5, 4.5 above 4; 3x - y = 4.5 is fine; x is .5 above its bound and .5 from
    # an integer; y is fine.
    assert two_rows().violations([2.5, 3]) == {"sum": 4.5, "x": 0.5}


def test_a_fraction_in_an_integer_column_is_a_violation_and_its_relaxation_allows_it() -> None:
    assert two_rows().violations([1.25, 0]) == {"x": 0.25}
    assert two_rows().relaxed().violations([1.25, 0]) == {}


def test_a_row_and_a_column_of_one_name_report_the_larger_violation() -> None:
    model = two_rows(row_names=("x", "y"))
    # Row x: 3 + 2 * 2 = 7, 3 above 4; column x: 1 above 2.
    assert model.violations([3, 2]) == {"x": 3.0}


def test_a_point_that_is_not_finite_is_refused_rather_than_found_feasible() -> None:
    with pytest.raises(InputError, match="one per column"):
        two_rows().violations([math.nan, 0])
    with pytest.raises(InputError, match="one per column"):
        two_rows().violations([0, 0, 0])


def test_the_objective_holds_the_offset() -> None:
    assert two_rows().objective_value([2, 1]) == 7  # -2 - 1 + 10


def test_the_relaxation_changes_nothing_but_integrality() -> None:
    model, relaxed = two_rows(), two_rows().relaxed()
    assert not relaxed.integer.any()
    assert relaxed.offset == model.offset
    assert relaxed.column_names == model.column_names
    np.testing.assert_array_equal(relaxed.data, model.data)


def test_arrays_are_copies_that_cannot_be_written() -> None:
    costs = np.array([-1.0, -1.0])
    model = two_rows(objective=costs)
    costs[0] = 99
    assert model.objective[0] == -1
    with pytest.raises(ValueError, match="read-only"):
        model.objective[0] = 99


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("objective", [1], r"objective: the shape is \(1,\); give 2 values"),
        ("row_lower", [0, 0, 0], "row_lower: the shape"),
        ("indptr", [0, 4, 2], "indptr: the row starts are not in order"),
        ("indptr", [0, 2, 3], "indptr: the row starts are not in order"),
        ("indices", [0, 2, 0, 1], "indices: the columns of a row"),
        ("indices", [1, 0, 0, 1], "indices: the columns of a row"),
        ("indices", [0, 0, 0, 1], "indices: the columns of a row"),
        ("data", [1, 0, 3, -1], "row sum: the coefficient 0.0 of y; leave out zeros"),
        ("data", [1, 2, 3, 1e-10], "row difference: the coefficient 1e-10 of y"),
        ("data", [1, 2, 1e15, -1], "row difference: the coefficient 1000000000000000.0 of x"),
        ("data", [math.nan, 2, 3, -1], "row sum: the coefficient nan of x"),
        ("objective", [math.nan, 0], "column x: the cost nan"),
        ("objective", [0, 1e20], r"column y: the cost 1e\+20"),
        ("offset", math.inf, "offset: inf"),
        ("column_lower", [math.inf, 0], "column x: the limits inf and 2.0"),
        ("column_upper", [2, math.nan], "column y: the limits 0.0 and nan"),
        ("row_upper", [1e30, math.inf], "row sum: the limits"),
        ("column_names", ("x", "x"), "column_names: the name 'x' occurs twice"),
        ("row_names", ("R[1]", "b"), r"row_names: an LP file cannot hold the name 'R\[1\]'"),
        ("name", "two rows", "name: 'two rows' is not one word"),
    ],
)
def test_a_part_that_a_solver_would_misread_is_refused_by_name(
    field: str, value: Any, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        two_rows(**{field: value})


def test_a_lower_limit_above_the_upper_one_states_an_infeasible_model() -> None:
    model = two_rows(row_lower=[5, 0])
    assert model.violations([0, 0]) == {"sum": 5.0}


def test_an_empty_row_between_others_is_kept() -> None:
    model = ArrayModelBuilder("gap")
    x, y = model.add_column("x"), model.add_column("y")
    model.add_row("first", [y], [1])
    model.add_row("empty", [], [], lower=1)
    model.add_row("last", [x], [1])
    built = model.build()
    assert built.indptr.tolist() == [0, 1, 1, 2]
    assert built.violations([0, 0]) == {"empty": 1.0}


def test_coefficients_come_in_any_order_and_those_of_one_place_add_up() -> None:
    model = ArrayModelBuilder("sum")
    x, y = model.add_column("x"), model.add_column("y")
    model.add_row("r", [y, x, y], [1, 5, 2])
    built = model.build()
    assert built.indices.tolist() == [0, 1]
    assert built.data.tolist() == [5, 3]


def test_coefficients_that_cancel_leave_no_zero_behind() -> None:
    model = ArrayModelBuilder("zero")
    x = model.add_column("x")
    model.add_row("r", [x, x], [1, -1])
    assert model.build().num_nonzeros == 0


def test_blocks_and_single_rows_build_the_same_model() -> None:
    single, block = ArrayModelBuilder("same", 3), ArrayModelBuilder("same", 3)
    for number in range(3):
        single.add_column(f"x_{number}", upper=number, cost=-1, integer=number == 2)
    block.add_columns(
        [f"x_{number}" for number in range(3)],
        upper=[0, 1, 2],
        cost=-1,
        integer=[False, False, True],
    )
    single.add_row("a", [0, 1], [1, 1], upper=1)
    single.add_row("b", [2], [1], lower=1, upper=2)
    rows = block.add_rows(["a", "b"], [0, 0, 1], [0, 1, 2], 1, lower=[-math.inf, 1], upper=[1, 2])
    assert rows.tolist() == [0, 1]
    one, other = single.build(), block.build()
    assert (one.row_names, one.column_names) == (other.row_names, other.column_names)
    for field in ARRAY_TYPES:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_a_builder_refuses_columns_and_rows_that_do_not_exist() -> None:
    model = ArrayModelBuilder("wrong")
    model.add_column("x")
    with pytest.raises(InputError, match="row r: 1 columns and 2 coefficients"):
        model.add_row("r", [0], [1, 2])
    with pytest.raises(InputError, match="number the rows of the block from 0"):
        model.add_rows(["r"], [1], [0], 1)
    model.add_row("r", [1], [1])
    with pytest.raises(InputError, match="columns 1 to 1 of 1"):
        model.build()


@pytest.mark.parametrize("name", ["R_3_7", "x", "_C1", "R_(3,_7)", "e", "E_3_7", "freedom", "x.y"])
def test_ordinary_names_are_lp_names(name: str) -> None:
    assert is_lp_name(name)
    assert as_lp_names([name]) == (name,)


@pytest.mark.parametrize(
    "name",
    [
        # Characters, beginnings of numbers, keywords.
        "",
        "R[3,7]",
        "a b",
        "a:b",
        "a-b",
        "a/b",
        "é",
        "x\n",
        "3x",
        ".x",
        "e3",
        "E3x",
        "inf",
        "info",
        "NaN_1",
        "free",
        "Free",
        "st",
        "s.t.",
        "end",
        "bounds",
        "binary",
    ],
)
def test_names_that_break_an_lp_file_are_replaced(name: str) -> None:
    assert not is_lp_name(name)
    (replacement,) = as_lp_names([name])
    assert is_lp_name(replacement)


def test_names_that_would_become_the_same_stay_apart() -> None:
    assert as_lp_names(["x[1]", "x[-1]", "x_1_2"]) == ("x_1", "x_1_3", "x_1_2")


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'x' occurs twice"):
        as_lp_names(["x", "y", "x"])


@given(st.lists(st.text(max_size=6), unique=True, max_size=20))
def test_replaced_names_are_always_valid_and_distinct(names: list[str]) -> None:
    replaced = as_lp_names(names)
    assert all(is_lp_name(name) for name in replaced)
    assert len(set(replaced)) == len(names)


def test_building_a_model_loads_no_solver() -> None:
    program = (
        "import sys\n"
        "from jettison.formulations.milp import builder, export, from_pulp, from_pyomo\n"
        "from jettison.solvers.milp import highs, highs_child\n"
        "print([name for name in ('highspy._core', 'pulp.pulp', 'pyomo') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
