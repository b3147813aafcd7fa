"""Groups of jobs, the shares of profiles, gaps of bounds, and traces."""

from __future__ import annotations

import pytest

from jettison.solvers.core.method import Method
from jettison.studies.report.curves import curve_figure
from jettison.studies.report.figure import Figure, Trace, styles_of
from jettison.studies.report.gaps import bound_distance
from jettison.studies.report.panel import panels_of
from jettison.studies.report.profiles import quality_profile, seconds_to_near, speed_profile
from jettison.studies.report.run import Run, TracePoint
from jettison.studies.report.traces import TraceRoom, thinned, trace_figures
from tests.studies.report.runs import ALL, PERSISTENT, run_of


def trace_named(figure: Figure | None, name: str) -> Trace:
    assert figure is not None
    (found,) = (trace for trace in figure["data"] if trace["name"] == name)
    return dict(found)


def profile(runs: list[Run]) -> Figure | None:
    panels = panels_of(runs)
    return quality_profile(panels, styles_of(list(panels[0].by_label)))


def test_methods_are_named_with_options_only_where_these_vary() -> None:
    runs = [
        run_of("revolve", 10, 20),
        run_of("rotor", 10, 20, time_limit_s=1),
        run_of("rotor", 10, 20, time_limit_s=5),
        run_of("revolve", 10, 20, seed=1),
    ]
    (panel,) = panels_of(runs)
    # In the order of the table of methods, and seeds are the same method.
    assert list(panel.by_label) == ["rotor, 1 s", "rotor, 5 s", "revolve"]
    assert len(panel.by_label["revolve"]) == 2


def test_the_order_of_methods_does_not_depend_on_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Method, "can_run", property(lambda method: method.needs is None))
    names = ["kiwi-full", "kiwi-reduced-scip", "alpa"]
    runs = [run_of(name, 10, 20, problem="remat-sharding") for name in reversed(names)]
    (panel,) = panels_of(runs)
    assert list(panel.by_label) == names


def test_jobs_on_several_instances_or_problems_are_panels_of_their_own() -> None:
    runs = [
        run_of("rotor", 10, 20),
        run_of("rotor", 10, 20, instance="j"),
        run_of("rotor", 20, 20),
    ]
    assert [(panel.instance, panel.memories) for panel in panels_of(runs)] == [
        ("i", [10, 20]),
        ("j", [10]),
    ]


def test_the_profile_counts_jobs_within_a_factor_of_the_best() -> None:
    # rotor is the best of both cells; revolve takes 1.5 times the best in one, and has none in the
    # other; nobody has a schedule in 5 bytes, which therefore does not count.
    found = profile(
        [
            run_of("rotor", 5),
            run_of("revolve", 5),
            run_of("rotor", 10, 20),
            run_of("revolve", 10, 30),
            run_of("rotor", 20, 20),
            run_of("revolve", 20),
        ]
    )
    best, other = trace_named(found, "rotor"), trace_named(found, "revolve")
    assert set(best["y"]) == {1.0}
    assert list(zip(other["x"], other["y"], strict=True))[:2] == [(1.0, 0.0), (1.5, 0.5)]
    assert other["y"][-1] == 0.5
    assert "1 of 2 jobs" in other["text"][-1]


def test_without_a_schedule_there_is_no_profile() -> None:
    assert profile([run_of("rotor", 5), run_of("cut-bound", 5, bounds=[(12, ALL)])]) is None


def test_the_time_to_a_good_schedule_is_that_of_its_first_report() -> None:
    reported = run_of(
        "rotor", 10, 100, seconds=9, trace=[(1, 200, None), (2, 101, None), (3, 100, 5)]
    )
    assert seconds_to_near(reported, 100) == 2
    assert seconds_to_near(run_of("rotor", 10, 100, seconds=9), 100) == 9
    assert seconds_to_near(run_of("rotor", 10, 102, seconds=9), 100) is None
    (panel,) = panels_of([reported])
    line = trace_named(speed_profile([panel], styles_of(["rotor"])), "rotor")
    assert (line["x"][1], line["y"][1]) == (2, 1.0)


def test_the_distance_of_a_bound_is_to_the_best_schedule_of_its_class() -> None:
    bound = run_of("cut-bound", 10, bounds=[(15, ALL), (18, PERSISTENT)])
    found = bound_distance([bound], [bound, run_of("rotor", 10, 20), run_of("revolve", 10, 30)])
    # Both schedules are persistent, and the larger bound holds for them.
    assert found == (pytest.approx(0.1), 18, "persistent")
    assert bound_distance([bound], [bound]) is None


def test_curves_go_through_the_best_of_several_seeds_and_mark_what_cannot_be() -> None:
    runs = [
        run_of("rotor", 10, infeasible_for=ALL, least_memory_bytes=16),
        run_of("rotor", 20, 30, seed=0),
        run_of("rotor", 20, 25, seed=1),
        run_of("cut-bound", 20, bounds=[(12, ALL)]),
    ]
    (panel,) = panels_of(runs)
    drawn = curve_figure(panel, styles_of(list(panel.by_label)))
    line, other = (trace for trace in drawn["data"] if trace["name"] == "rotor")
    assert (line["y"], other["y"]) == ([25.0], [30.0])
    assert trace_named(drawn, "base time")["y"][0] == 10.0
    mark = trace_named(drawn, "nothing fits")
    assert mark["x"] == [10.0]
    assert "16 bytes" in mark["text"][0]
    assert drawn["layout"]["shapes"][0]["x0"] == 16.0
    names = [trace["name"] for trace in drawn["data"]]
    assert names[:2] == ["ruled out: persistent schedules", "ruled out: all schedules"]


def test_a_panel_without_schedules_and_bounds_is_drawn() -> None:
    (panel,) = panels_of([run_of("rotor", 10)])
    assert curve_figure(panel, styles_of(["rotor"]))["data"]


def test_traces_are_drawn_where_a_method_reported_and_keep_both_ends() -> None:
    points = [TracePoint(k / 10, 1000 - k, None) for k in range(500)]
    few = thinned(points)
    assert len(few) <= 120
    assert (few[0], few[-1]) == (points[0], points[-1])
    (panel,) = panels_of([run_of("rotor", 10, 501, trace=points), run_of("rotor", 20, 501)])
    drawn = trace_figures(panel, styles_of(["rotor"]), TraceRoom())
    assert list(drawn) == [10]
    assert [trace["name"] for trace in drawn[10]["data"]] == ["rotor (best)"]


def test_traces_for_which_the_page_has_no_room_are_counted() -> None:
    (panel,) = panels_of([run_of("rotor", 10, 5, trace=[(1, 6, None), (2, 5, None)])])
    room = TraceRoom(left_bytes=10)
    assert trace_figures(panel, styles_of(["rotor"]), room) == {}
    assert room.left_out == 1
