from __future__ import annotations

import hashlib
import math
from pathlib import Path

import highspy
import numpy as np
import pytest

from jettison import InputError, ThreePartition
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.milp.model_text import TEXT_FORMATS
from jettison.formulations.three_partition.assignment import ThreePartitionAssignment

FORMATS = ("lp", "mps")


def everything() -> ArrayModel:
    """Build a model with every kind of row, column, bound and number."""
    model = ArrayModelBuilder("everything", offset=2.5)
    x = model.add_column("x", lower=-math.inf, cost=1)
    y = model.add_column("y", lower=-3.5, upper=8, cost=-0.1)
    n = model.add_column("n", upper=12, cost=1 / 3, integer=True)
    b = model.add_column("b", upper=1, integer=True)
    unused = model.add_column("unused", lower=2, upper=2)
    far = model.add_column("far", lower=-math.inf, upper=5, integer=True)
    model.add_row("equal", [x, y, n], [1, -2, 1 / 7], lower=3, upper=3)
    model.add_row("most", [n, b], [1, 1e9], upper=10)
    model.add_row("least", [x, far], [1, -1], lower=-4.25)
    model.add_row("between", [y, b], [1, 1], lower=-1, upper=6)
    model.add_row("zero", [x, b], [1, -1], lower=0, upper=math.inf)
    assert unused == 4
    return model.build()


def read_back(path: Path) -> highspy.HighsLp:
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.ensureColwise()
    return highs.getLp()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_solver_reads_every_number_back(suffix: str, tmp_path: Path) -> None:
    model = everything()
    path = tmp_path / f"model.{suffix}"
    path.write_text(TEXT_FORMATS[suffix](model), encoding="ascii")
    found = read_back(path)
    column_of = {name: place for place, name in enumerate(found.col_names_)}
    order = [column_of[name] for name in model.column_names]
    assert np.array_equal(np.array(found.col_cost_)[order], model.objective)
    assert np.array_equal(np.array(found.col_lower_)[order], model.column_lower)
    assert np.array_equal(np.array(found.col_upper_)[order], model.column_upper)
    kinds = [found.integrality_[place] == highspy.HighsVarType.kInteger for place in order]
    assert kinds == model.integer.tolist()
    assert found.offset_ == 2.5
    read = {}
    for column in range(found.num_col_):
        for entry in range(found.a_matrix_.start_[column], found.a_matrix_.start_[column + 1]):
            row = found.row_names_[found.a_matrix_.index_[entry]]
            read[row, found.col_names_[column]] = found.a_matrix_.value_[entry]
    limits = {
        name: (found.row_lower_[row], found.row_upper_[row])
        for row, name in enumerate(found.row_names_)
    }
    for row, name in enumerate(model.row_names):
        lower, upper = model.row_lower[row], model.row_upper[row]
        written = {name: (lower, upper)}
        if suffix == "lp" and name == "between":
            written = {"betweenlo": (lower, math.inf), "betweenup": (-math.inf, upper)}
        for written_name, expected in written.items():
            assert limits[written_name] == expected
            part = slice(model.indptr[row], model.indptr[row + 1])
            for column, value in zip(model.indices[part], model.data[part], strict=True):
                assert read[written_name, model.column_names[column]] == value


@pytest.mark.parametrize("suffix", FORMATS)
def test_whole_numbers_have_no_point_and_all_lines_end_alike(suffix: str) -> None:
    instance = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
    text = TEXT_FORMATS[suffix](from_pulp(ThreePartitionAssignment().build(instance).problem).model)
    assert "." not in text
    assert "\r" not in text
    assert text.endswith("\n")


@pytest.mark.parametrize(
    ("suffix", "sha256"),
    [
        ("mps", "540961873b4f54bcd2fe4e633fb5150bb17f67e876f933819d850ee45a2e94ee"),
        ("lp", "1a5ff3d7b0e142dce791d020b33b85e9c2cbe8f2efc3face3c7c15ab83dec81c"),
    ],
)
def test_a_model_has_the_bytes_that_it_had_on_other_machines(suffix: str, sha256: str) -> None:
    # Another hash here changes the sets that jettison generate writes: raise GENERATOR_VERSION.
    instance = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
    text = TEXT_FORMATS[suffix](from_pulp(ThreePartitionAssignment().build(instance).problem).model)
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == sha256


def test_a_model_without_columns_is_mps_only(tmp_path: Path) -> None:
    model = ArrayModelBuilder("empty")
    model.add_row("impossible", [], [], lower=1)
    path = tmp_path / "model.mps"
    path.write_text(TEXT_FORMATS["mps"](model.build()), encoding="ascii")
    assert read_back(path).num_row_ == 1
    with pytest.raises(InputError, match="has no columns"):
        TEXT_FORMATS["lp"](model.build())


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_model_without_rows_or_costs_is_written(suffix: str, tmp_path: Path) -> None:
    model = ArrayModelBuilder("bare")
    model.add_column("x", upper=4, integer=True)
    path = tmp_path / f"model.{suffix}"
    path.write_text(TEXT_FORMATS[suffix](model.build()), encoding="ascii")
    found = read_back(path)
    assert (found.num_col_, found.num_row_, list(found.col_upper_)) == (1, 0, [4])
