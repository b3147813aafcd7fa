"""The recorded study of planners is whole, about today's graphs, and contradicts nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from docs.site_pages import planners_picture
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.studies.planner_plans import KNAPSACKS, TorchBudgets, plan_by_rule
from jettison.studies.recorded_planners import OptimumRow, RecordedStudy
from jettison.studies.recorded_steps import Pricing, RecordedSteps

RECORDED = Path(__file__).parents[2] / "notebooks" / "_recorded"
# One of the steps whose optima take no time.
QUICK = "vit-b16-6"


@pytest.fixture(scope="module")
def study() -> RecordedStudy:
    return RecordedStudy.read(RECORDED)


@pytest.fixture(scope="module")
def steps() -> RecordedSteps:
    return RecordedSteps.read(RECORDED / "planners_graphs.jsonl.gz")


@pytest.fixture(scope="module")
def optima(study: RecordedStudy) -> list[OptimumRow]:
    return [row for rows in study.optima.values() for row in rows]


def test_every_row_is_there_once() -> None:
    for name, keys in (
        ("planners_plans", ("model", "pricing", "planner", "setting")),
        ("planners_optimum", ("model", "pricing", "method", "memory_bytes")),
    ):
        with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            found = [tuple(row[key] for key in keys) for row in csv.DictReader(stream)]
        assert len(set(found)) == len(found)


def test_every_row_is_about_the_graph_that_is_recorded_beside_it(
    study: RecordedStudy, steps: RecordedSteps, optima: list[OptimumRow]
) -> None:
    hashes = {
        (name, str(pricing)): steps.graph(name, pricing).sha256
        for name in steps.names
        for pricing in Pricing
    }
    rows = [row for row in (*study.plans.values(), *optima) if row.pricing != "logged"]
    assert {(row.model, row.pricing) for row in rows} == set(hashes)
    assert all(row.graph_sha256 == hashes[row.model, row.pricing] for row in rows)


def test_torch_has_a_plan_at_every_budget_and_others_say_why_they_have_none(
    study: RecordedStudy,
) -> None:
    without = {key: row for key, row in study.plans.items() if row.time_ns is None}
    assert not {planner for _, _, planner, _ in without} & {*KNAPSACKS, "torch-dp-timed"}
    assert all(row.note and row.peak_bytes is None for row in without.values())


def test_no_plan_is_faster_than_what_is_proved_in_its_peak(study: RecordedStudy) -> None:
    for row in study.plans.values():
        if row.time_ns is not None:
            assert study.bound_ns(row) <= row.time_ns, row
            best_ns = study.best_ns(row)
            assert best_ns is None or study.bound_ns(row) <= best_ns, row


def test_what_was_found_fits_and_is_no_faster_than_its_bound(optima: list[OptimumRow]) -> None:
    for row in optima:
        if row.time_ns is not None:
            assert row.peak_bytes is not None
            assert row.peak_bytes <= row.memory_bytes
            assert row.lower_bound_ns is not None
            assert row.lower_bound_ns <= row.time_ns


def test_the_optimum_of_the_class_is_no_faster_than_the_bound_of_all_schedules(
    study: RecordedStudy, optima: list[OptimumRow]
) -> None:
    of_class = [row for row in optima if row.method == "saved-or-once" and row.time_ns]
    assert of_class
    for row in of_class:
        (exact,) = (
            other
            for other in study.optima[row.model, row.pricing, "exact"]
            if other.memory_bytes == row.memory_bytes
        )
        assert row.time_ns is not None
        assert exact.lower_bound_ns is not None
        assert exact.lower_bound_ns <= row.time_ns


@pytest.mark.parametrize("pricing", Pricing)
def test_what_was_recorded_of_torch_and_a_rule_comes_out_again(
    pricing: Pricing, study: RecordedStudy, steps: RecordedSteps
) -> None:
    graph = steps.graph(QUICK, pricing)
    budgets = TorchBudgets(graph, "torch-dp", steps.flops(QUICK))
    again = [budgets.at(0.5), plan_by_rule(graph, "blocks")]
    for found in again:
        assert found is not None
        row = study.plans[QUICK, pricing, found.planner, found.setting]
        assert (row.time_ns, row.peak_bytes) == (found.time_ns, found.peak_bytes)


# In the mixer the best schedule of a round computes something again for nothing, which the models
# leave out: it is no point to start HiGHS from.
@pytest.mark.parametrize("name", [QUICK, "mixer-b16-6"])
def test_a_recorded_optimum_comes_out_again(
    name: str, study: RecordedStudy, steps: RecordedSteps
) -> None:
    plan = study.plans[name, "fused", "torch-dp", "0.5"]
    assert plan.peak_bytes is not None
    problem = RematGraph(steps.graph(name, Pricing.FUSED), plan.peak_bytes)
    found = solve_with(problem, "exact", SolveOptions(time_limit_s=None))
    (row,) = (
        row for row in study.optima[name, "fused", "exact"] if row.memory_bytes == plan.peak_bytes
    )
    assert (found.time_ns, found.lower_bound_ns) == (row.time_ns, row.lower_bound_ns)


def test_the_picture_of_the_start_page_has_every_step_and_is_the_same_each_time(
    tmp_path: Path,
) -> None:
    rows = planners_picture.compared(RECORDED)
    assert len(rows) == 20
    assert all(row.bound <= row.least <= row.plan for row in rows)
    differences = [row.plan - row.least for row in rows]
    assert differences == sorted(differences)
    root = RECORDED.parents[1]
    for name in ("first", "again"):
        planners_picture.write(root, tmp_path / name)
    for style in ("light", "dark"):
        first, again = (tmp_path / name / f"planners-{style}.svg" for name in ("first", "again"))
        assert first.read_bytes() == again.read_bytes()
        assert "</svg>" in first.read_text(encoding="utf-8")
