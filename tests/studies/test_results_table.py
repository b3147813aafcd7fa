"""The results of a study as a table, and as files that other programs read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from jettison.instances.catalog import save
from jettison.instances.core.errors import InputError
from jettison.studies.gap_summary import GapSummary
from jettison.studies.report.overview import tiles
from jettison.studies.report.run import load_runs
from jettison.studies.result_folder import ResultFolder
from jettison.studies.results_frame import results_frame, write_frame
from tests.drawing.thrice import STEP
from tests.studies.tiny_study import STUDY, job_of, swept, write_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """Three results, and one failure."""
    place = tmp_path_factory.mktemp("table")
    path = write_study(place, methods=("rotor-exact", "revolve", "cut-bound"))
    swept(path, place / "results")
    folder = ResultFolder(place / "results")
    failed = job_of("rotor", seed=5)
    folder.write(
        failed.key,
        {
            "job": failed.to_json(),
            "state": "failed",
            "failed": "out of memory",
            "started": 1.0,
            "wall_s": 2.0,
            "trace": [],
        },
    )
    return folder


def test_there_is_one_row_for_each_job_with_whole_numbers(folder: ResultFolder) -> None:
    frame = results_frame(folder)
    assert len(frame) == 4
    assert frame.index.is_unique
    assert str(frame["time_ns"].dtype) == "Int64"
    rows = frame.set_index("method")
    assert rows.loc["rotor", "failed"] == "out of memory"
    assert pd.isna(rows.loc["rotor", "time_ns"])
    assert rows.loc["rotor-exact", "memory_bytes"] == 1325
    assert rows.loc["rotor-exact", "status"] == "optimal-persistent"


def test_every_schedule_is_judged_against_the_best_bound_of_all_jobs(folder: ResultFolder) -> None:
    rows = results_frame(folder).set_index("method")
    exact, baseline = rows.loc["rotor-exact"], rows.loc["revolve"]
    # Both are persistent, and the optimum among those is a bound for the baseline.
    assert baseline["best_bound_ns"] == exact["time_ns"] == exact["best_bound_ns"]
    assert exact["gap_to_best"] == 0
    over_ns = baseline["time_ns"] - baseline["base_time_ns"]
    expected = (baseline["time_ns"] - exact["time_ns"]) / over_ns
    assert baseline["gap_to_best"] == expected


def test_a_sweep_and_its_report_speak_of_the_same_gap(folder: ResultFolder) -> None:
    # Revolve alone knows of the base time only: what is left of its overhead is a matter of the
    # bounds of all jobs.
    frame = results_frame(folder)
    summary = GapSummary.of(folder, frame.index)
    gaps = frame["gap_to_best"].dropna()
    assert summary.median == gaps.median()
    assert summary.largest == gaps.max() < frame["gap"].max() == 1


def test_a_table_is_written_as_csv_parquet_and_duckdb(folder: ResultFolder, tmp_path: Path) -> None:
    frame = results_frame(folder)
    write_frame(frame, tmp_path / "a.csv")
    assert len(pd.read_csv(tmp_path / "a.csv")) == 4
    pytest.importorskip("pyarrow", reason="needs PyArrow: pip install 'jettison[tables]'")
    write_frame(frame, tmp_path / "a.parquet")
    again = pd.read_parquet(tmp_path / "a.parquet")
    assert list(again["time_ns"].fillna(-1)) == list(frame["time_ns"].fillna(-1))
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'jettison[tables]'")
    for _ in range(2):
        write_frame(frame, tmp_path / "a.duckdb")
    with duckdb.connect(tmp_path / "a.duckdb") as database:
        assert database.execute("select count(*), max(time_ns) from results").fetchone() == (
            4,
            frame["time_ns"].max(),
        )


def test_another_suffix_is_bad_input(folder: ResultFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"write \.csv, \.parquet or \.duckdb"):
        write_frame(results_frame(folder), tmp_path / "a.xls")


def test_a_folder_without_records_has_no_table(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path)
    folder.create()
    with pytest.raises(InputError, match="no results yet"):
        results_frame(folder)


def test_the_summary_counts_what_was_found_and_why_jobs_failed(folder: ResultFolder) -> None:
    summary = GapSummary.of(folder, [record["key"] for record in folder.survey().records.values()])
    assert (summary.schedules, summary.infeasible) == (2, {})
    assert (summary.not_applicable, summary.not_found, summary.unknown) == (0, 0, 0)
    assert summary.failures == {"out of memory": 1}
    assert summary.largest is not None
    assert 0 <= summary.largest < 1


def test_the_summary_names_the_class_of_proofs_and_why_others_have_no_schedule(
    tmp_path: Path,
) -> None:
    # In 12 bytes nothing of the class fits, storing everything does not, and there is no attention.
    save(STEP, tmp_path / "step.json")
    text = STUDY.format(
        memory="12B", methods="'saved-or-once', 'store-all', 'selective-attention'", seeds="0"
    )
    path = tmp_path / "study.toml"
    path.write_text(text.replace("remat-chain", "remat-graph").replace("chain.json", "step.json"))
    swept(path, tmp_path / "results")
    folder = ResultFolder(tmp_path / "results")
    frame = results_frame(folder)
    summary = GapSummary.of(folder, frame.index)
    assert summary.infeasible == {"saved-or-once": 1}
    assert (summary.not_applicable, summary.not_found, summary.unknown) == (1, 1, 0)
    assert set(frame["infeasible_for"].dropna()) == {"saved-or-once"}
    head = str(tiles(load_runs(folder).runs))
    assert "proof that nothing fits, saved-or-once" in head
    assert "where the method does not apply" in head
