"""Quadratic models as files, read back by SCIP; and SCIP itself."""

from __future__ import annotations

import gzip
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from jettison import InputError
from jettison.formulations.milp.export import QUADRATIC_SUFFIXES, write_model
from jettison.formulations.milp.quadratic_model import QuadraticModel
from jettison.formulations.remat_sharding.kiwi.full import KiwiFull
from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced
from jettison.instances.core.errors import MissingExtraError
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.scip import TERMINATIONS, ScipOptions, require_scip, solve_quadratic
from jettison.solvers.milp.solution import Progress
from tests.milp.scip import solve_quadratic as solve_by_oracle
from tests.remat_sharding.samples import training_steps


def pair() -> QuadraticModel:
    """Minimise 7 - 2xy - z with z + zy <= 1.5 x, x and y binary: 4.25 at (1, 1, .75)."""
    concrete = pyo.ConcreteModel("pair")
    concrete.x = pyo.Var([(0, 1)], domain=pyo.Binary)
    concrete.y = pyo.Var(domain=pyo.Binary)
    concrete.z = pyo.Var(bounds=(0, 9))
    concrete.unused = pyo.Var(domain=pyo.Binary)
    concrete.cost = pyo.Objective(expr=7 - 2 * concrete.x[0, 1] * concrete.y - concrete.z)
    concrete.most = pyo.Constraint(
        expr=concrete.z + concrete.z * concrete.y <= 1.5 * concrete.x[0, 1]
    )
    concrete.least = pyo.Constraint(expr=concrete.z + concrete.y >= 0.25)
    return QuadraticModel(concrete)


def read_by_scip(path: Path) -> Any:
    pyscipopt = pytest.importorskip("pyscipopt", reason="SCIP reads the files back")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(str(path))
    scip.setParam("limits/gap", 0)
    scip.optimize()
    return scip


def written(model: QuadraticModel, folder: Path, suffix: str) -> Path:
    path = folder / f"model{suffix}"
    write_model(model, path)
    if not suffix.endswith(".gz"):
        return path
    plain = folder / f"unpacked{suffix.removesuffix('.gz')}"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


@pytest.mark.parametrize("suffix", QUADRATIC_SUFFIXES)
def test_a_file_has_the_optimum_of_the_model(suffix: str, tmp_path: Path) -> None:
    scip = read_by_scip(written(pair(), tmp_path, suffix))
    assert scip.getObjVal() == pytest.approx(4.25)


@pytest.mark.parametrize("suffix", QUADRATIC_SUFFIXES)
def test_kiwis_models_in_files_have_the_optimum_of_the_models(suffix: str, tmp_path: Path) -> None:
    found = 0
    for problem in training_steps(seed=501, count=8, most_operators=5):
        for concrete in (
            KiwiReduced().build(problem).concrete,
            KiwiFull().build(problem).concrete,
        ):
            scip = read_by_scip(written(QuadraticModel(concrete), tmp_path, suffix))
            best = solve_by_oracle(concrete)
            if best is None:
                assert scip.getStatus() == "infeasible"
                continue
            assert scip.getStatus() == "optimal"
            assert scip.getObjVal() == pytest.approx(best.objective, abs=1e-5)
            found += 1
    assert found >= 6


def test_rows_and_columns_keep_their_names_and_order(tmp_path: Path) -> None:
    (problem,) = training_steps(seed=502, count=1, most_operators=6)
    model = QuadraticModel(KiwiReduced().build(problem).concrete)
    text = written(model, tmp_path, ".lp").read_text(encoding="utf-8")
    rows = [line[4:-2] for line in text.splitlines() if line.startswith("c_") and line[-1] == ":"]
    stems = list(dict.fromkeys(name.split("_")[0] for name in rows))
    # The docstring of the formulation: strategies first, then memory, times, and inputs.
    order = ["eq21", "eq22", "eq23", "eq4", "eq3", "eq24", "eq25", "eq26", "eq27", "eq28"]
    order += ["eq29low", "eq29high", "eq30", "eq31"]
    assert stems == [name for name in order if name in stems]
    assert {"eq3", "eq21", "eq30"} <= set(stems)
    assert len(rows) == model.num_rows
    assert "min \neq2:" in text
    path = written(model, tmp_path, ".nl")
    names = path.with_suffix(".col").read_text(encoding="utf-8").split()
    assert {name.replace("[", "_").replace(",", "_").replace("]", "") for name in names} <= {
        *model.column_names
    }
    assert len(path.with_suffix(".row").read_text(encoding="utf-8").split()) == model.num_rows + 1


def test_sizes_count_columns_rows_and_products() -> None:
    model = pair()
    assert model.column_names == ("x_0_1", "y", "z", "unused")
    # z, zy and x; z and y. In the objective one product.
    assert (model.num_columns, model.num_rows) == (4, 2)
    assert (model.num_nonzeros, model.num_products) == (5, 2)


@pytest.mark.parametrize("suffix", QUADRATIC_SUFFIXES)
def test_equal_models_give_equal_bytes(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = (written(pair(), folder, suffix) for folder in (tmp_path, tmp_path / "other"))
    assert first.read_bytes() == second.read_bytes()


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"end it in .mps, .lp, .mps.gz, .lp.gz, .nl"):
        write_model(pair(), tmp_path / "model.gms")


def test_a_model_whose_names_cannot_be_written_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.col").mkdir()
    for ending in (".nl", ".row"):
        (tmp_path / f"model{ending}").write_text("before", encoding="utf-8")
    with pytest.raises(InputError, match="a folder has this name"):
        write_model(pair(), tmp_path / "model.nl")
    assert {path.name for path in tmp_path.iterdir()} == {"model.nl", "model.row", "model.col"}
    for ending in (".nl", ".row"):
        assert (tmp_path / f"model{ending}").read_text(encoding="utf-8") == "before"


def test_a_name_that_is_only_an_ending_is_kept(tmp_path: Path) -> None:
    write_model(pair(), tmp_path / ".nl")
    assert {path.name for path in tmp_path.iterdir()} == {".nl", ".row", ".col"}


def test_scip_solves_a_model_and_tells_what_it_finds() -> None:
    pytest.importorskip("pyscipopt", reason="SCIP solves the model")
    points: list[Any] = []
    reports: list[Progress] = []
    solution = solve_quadratic(
        pair(), on_point=points.append, on_progress=lambda item: bool(reports.append(item))
    )
    assert (solution.termination, solution.answer) == (Termination.COMPLETED, Answer.OPTIMAL)
    assert solution.objective == pytest.approx(4.25)
    assert solution.values is not None
    assert solution.values[:2].tolist() == [1, 1]
    assert math.isnan(solution.values[3])
    assert np.array_equal(points[-1][:2], [1, 1])
    assert reports[-1].dual_bound is not None
    assert reports[-1].dual_bound <= solution.objective + 1e-9


def test_scip_proves_that_there_is_no_point() -> None:
    pytest.importorskip("pyscipopt", reason="SCIP solves the model")
    concrete = pyo.ConcreteModel("none")
    concrete.x = pyo.Var(domain=pyo.Binary)
    concrete.y = pyo.Var(domain=pyo.Binary)
    concrete.cost = pyo.Objective(expr=concrete.x)
    concrete.both = pyo.Constraint(expr=concrete.x * concrete.y >= 1)
    concrete.one = pyo.Constraint(expr=concrete.x + concrete.y <= 1)
    solution = solve_quadratic(QuadraticModel(concrete))
    assert (solution.termination, solution.answer) == (Termination.COMPLETED, Answer.INFEASIBLE)
    assert solution.values is solution.objective is solution.dual_bound is None


@pytest.mark.parametrize("start", [(1.0, 0.0, 1.0, math.nan), (0.0, 1.0, 5.0, math.nan)])
def test_a_start_may_be_good_or_no_point_at_all(start: tuple[float, ...]) -> None:
    pytest.importorskip("pyscipopt", reason="SCIP solves the model")
    solution = solve_quadratic(pair(), ScipOptions(start=np.array(start)))
    assert solution.objective == pytest.approx(4.25)


def test_a_limit_or_the_caller_ends_a_run() -> None:
    pytest.importorskip("pyscipopt", reason="SCIP solves the model")
    stopped = solve_quadratic(pair(), on_progress=lambda _: True)
    assert stopped.termination in {Termination.INTERRUPTED, Termination.COMPLETED}
    ended = solve_quadratic(pair(), ScipOptions(time_limit_s=0.0))
    assert ended.termination is Termination.TIME_LIMIT
    assert ended.values is None


def test_what_a_callback_raises_ends_the_run() -> None:
    pytest.importorskip("pyscipopt", reason="SCIP solves the model")

    def interrupted(_: Progress) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_quadratic(pair(), on_progress=interrupted)


def test_no_word_of_scip_for_its_end_is_unknown() -> None:
    pyscipopt = pytest.importorskip("pyscipopt", reason="PySCIPOpt names the words")
    words = {name.lower() for name in vars(pyscipopt.SCIP_STATUS) if name.isupper()}
    assert words
    assert words <= set(TERMINATIONS)


def test_without_pyscipopt_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jettison\[scip\]'"):
        require_scip()
