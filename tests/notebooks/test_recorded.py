"""Records of benchmarks for the notebooks: they are whole, and do not contradict themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import jettison as jt
from jettison.instances.remat_sharding.chosen_strategies import with_strategies

RECORDED = sorted((Path(__file__).parents[2] / "notebooks" / "_recorded").glob("kiwi_*.csv"))
KEY = ["instance", "memory_percent", "method"]


@pytest.fixture(params=RECORDED, ids=lambda path: path.stem)
def table(request: pytest.FixtureRequest) -> pd.DataFrame:
    return pd.read_csv(request.param)


def test_three_figures_are_recorded() -> None:
    assert [path.stem for path in RECORDED] == ["kiwi_figure5", "kiwi_figure6", "kiwi_figure7"]


def test_there_is_one_row_for_each_instance_memory_and_method(table: pd.DataFrame) -> None:
    assert not table.duplicated(KEY).any()


def test_each_row_says_where_it_comes_from(table: pd.DataFrame) -> None:
    columns = ["versions", "machine", "recorded", "instance_sha256", "time_limit_s", "gap"]
    assert not table[columns].isna().any(axis=None)


def test_a_recorded_plan_fits_in_its_memory(table: pd.DataFrame) -> None:
    plans = table.dropna(subset=["time_ns"])
    assert len(plans) > 0
    assert (plans["peak_bytes"] <= plans["memory_bytes"]).all()


def test_a_recorded_plan_is_no_faster_than_its_bound_or_than_the_fastest(
    table: pd.DataFrame,
) -> None:
    plans = table.dropna(subset=["time_ns"])
    assert (plans["time_ns"] >= plans["lower_bound_ns"]).all()
    # The fastest plan without a limit is proved to the solver's relative 1e-9.
    assert (plans["time_ns"] >= plans["fastest_ns"] * (1 - 1e-8)).all()


def test_no_plan_is_recorded_where_none_is_said_to_exist(table: pd.DataFrame) -> None:
    without = table[table["status"].str.startswith(("infeasible", "not-found", "bounded"))]
    assert without["time_ns"].isna().all()
    assert table.loc[table["time_ns"].isna(), "peak_bytes"].isna().all()


def test_a_plan_in_a_class_is_no_faster_than_another_methods_bound_for_that_class(
    table: pd.DataFrame,
) -> None:
    # Bounds of `exact` hold for all plans in the order of the graph, and these are all such plans.
    bounds = table[table["valid_for"] == "in-order"].groupby(KEY[:2])["lower_bound_ns"].max()
    plans = table.dropna(subset=["time_ns"]).groupby(KEY[:2])["time_ns"].min()
    both = pd.concat([bounds, plans], axis=1, join="inner")
    assert (both["time_ns"] >= both["lower_bound_ns"]).all()


@pytest.mark.parametrize(
    "name",
    ["encoder-4l-mesh2x4", "encoder-4l-mesh4x2", "decoder-4l-mesh2x4", "decoder-4l-mesh4x2"],
)
def test_what_was_recorded_is_about_the_bundled_instance_of_today(name: str) -> None:
    rows = pd.concat([pd.read_csv(path) for path in RECORDED])
    rows = rows[rows["instance"] == name]
    graph = jt.load(name)
    assert set(rows["instance_sha256"]) == {replace(graph, fastest=()).sha256}
    assert set(rows["fastest_ns"]) == {with_strategies(graph, graph.fastest).base_time_ns}
