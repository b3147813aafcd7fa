"""The table of marks: it fails when one is lost, resumes, and leaves out what has no file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.marks import __main__ as driver
from benchmarks.marks import graphs, kiwi, multi_model, sharding
from benchmarks.marks.job import Job
from benchmarks.marks.recurrent import recurrent
from benchmarks.marks.row import Row
from benchmarks.marks.table import read_table
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.solve import solve


def _job(name: str, *, is_held: bool | None, measured: list[str]) -> Job:
    def measure() -> Row:
        measured.append(name)
        return Row(
            instance=name,
            method="exact",
            time_ns=110,
            bound_ns=100,
            cpu_s=1.5,
            mark="in 2 CPU s",
            is_held=is_held,
            best_known="120, elsewhere",
        )

    return Job(problem="toy", name=name, cpu_limit_s=2.0, measure=measure)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the marks that were measured, of a table of three."""
    found: list[str] = []
    jobs = [
        _job("good", is_held=True, measured=found),
        _job("bad", is_held=False, measured=found),
        _job("absent", is_held=None, measured=found),
    ]

    def given(*_: object) -> Iterator[Job]:
        return iter(jobs)

    def none(*_: object) -> Iterator[Job]:
        return iter(())

    monkeypatch.setattr(graphs, "jobs", given)
    for module in (sharding, kiwi, multi_model):
        monkeypatch.setattr(module, "jobs", none)
    return found


def test_a_lost_mark_is_an_exit_status_of_one(
    measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert driver.main([]) == 1
    printed = capsys.readouterr().out
    # 110 is 10 % above 100.
    assert "LOST  toy, bad, exact, 110 ns, bound 100 ns, gap 10.0000 %, 1.50 CPU s" in printed
    assert "elsewhere: 120, elsewhere" in printed
    assert "1 held, 1 lost, 1 left out" in printed
    assert measured == ["good", "bad", "absent"]


def test_held_marks_and_those_without_their_file_are_a_status_of_zero(measured: list[str]) -> None:
    assert driver.main(["--only", "toy good*"]) == 0
    assert driver.main(["--only", "toy absent*"]) == 0
    assert measured == ["good", "absent"]


def test_a_record_is_gone_on_with_and_what_lacked_a_file_is_tried_again(
    measured: list[str], tmp_path: Path
) -> None:
    record = tmp_path / "marks.csv"
    assert driver.main(["--record", str(record)]) == 1
    assert driver.main(["--record", str(record)]) == 1
    assert measured == ["good", "bad", "absent", "absent"]
    assert read_table(record)["toy bad in 2 s"]["held"] == "LOST"


def test_a_pattern_of_no_mark_and_a_folder_without_data_are_errors(
    measured: list[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no mark is called"):
        driver.main(["--only", "nothing"])
    with pytest.raises(InputError, match="neither moccasin nor iopddl"):
        driver.main(["--data", str(tmp_path)])
    assert measured == []


def test_every_mark_has_a_key_of_its_own_and_a_file_that_lacks_is_said() -> None:
    jobs = [*graphs.jobs(None), *sharding.jobs(None), *kiwi.jobs(), *multi_model.jobs()]
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.problem for job in jobs} == {
        "remat-graph",
        "sharding",
        "remat-sharding",
        "multi-model",
    }
    row = next(job for job in jobs if job.name == "ResNet50* 30%").measure()
    assert row.is_held is None
    assert row.note == "left out: there is no ResNet50*.json"


@pytest.mark.parametrize(
    ("overhead", "proved", "is_held"),
    [
        (3.6384, 3.6384, True),
        # Half of the last digit is the rounding of the mark.
        (3.63844, 3.63836, True),
        (3.6386, 3.6384, False),
        (3.6384, 3.6382, False),
        (None, 3.6384, False),
    ],
)
def test_a_mark_of_a_graph_is_held_within_its_rounding(
    overhead: float | None, proved: float | None, is_held: bool
) -> None:
    (mark,) = [
        mark for mark in graphs.PUBLISHED if (mark.graph, mark.memory) == ("ResNet50*", "30%")
    ]
    assert graphs.is_held(mark, overhead, proved) is is_held


def test_a_gap_in_points_is_the_difference_of_overheads() -> None:
    mark = graphs.Mark(graph="g", memory="80%", cpu_limit_s=1, most_gap_points=0.05)
    assert graphs.is_held(mark, 2.64, 2.59)
    assert not graphs.is_held(mark, 2.65, 2.59)


def test_a_recurrent_step_trains_in_less_memory_by_computing_again() -> None:
    graph = recurrent(70)
    # Two first states, three cells of 1 + 10 forward and 10 backward nodes, and the loss.
    assert len(graph) == 2 + 3 * 21 + 1
    assert solve(RematGraph(graph, "100%"), "store-all").time_ns == graph.base_time_ns
    less = solve(RematGraph(graph, "85%"), "exact", time_limit=10)
    assert less.time_ns is not None
    assert less.time_ns >= graph.base_time_ns
