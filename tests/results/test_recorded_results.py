"""Recorded results: every schedule replays, every certificate proves, and the page is theirs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.results.add import add_record
from benchmarks.results.board import standings
from benchmarks.results.judge import judge_bound, judge_schedule
from benchmarks.results.page import PAGE, page_text
from benchmarks.results.record import (
    CERTIFIED,
    LARGEST_BYTES,
    RECORDS,
    Record,
    RecordedBound,
    read_record,
    read_records,
)
from benchmarks.results.run import cases
from jettison.certificates.errors import CertificateError
from jettison.instances.core.errors import InputError
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.solvers.core.resources import Resources

NAMES = [str(path.parent.relative_to(RECORDS)) for path in sorted(RECORDS.glob("*/*/record.json"))]
EXAMPLE = "remat-chain/gpt2-small-b8-1024-h200-alpha0.5-unrestricted"


def _record(name: str) -> Record:
    return read_record(RECORDS / name)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_schedule_replays_to_what_its_record_says(name: str) -> None:
    record = _record(name)
    if record.published_file is not None:
        pytest.skip(f"needs {record.published_file}, which is not in the repository")
    judge_schedule(record)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_certificate_proves_what_its_record_says(name: str) -> None:
    judge_bound(_record(name))


def test_every_folder_of_records_holds_its_files_and_no_others_and_each_is_small() -> None:
    assert NAMES
    for name in NAMES:
        record = _record(name)
        expected = {"record.json"}
        if record.schedule is not None:
            expected.add("schedule.json.gz")
        if record.bound is not None and record.bound.is_kept:
            expected.add("certificate.gz")
        assert {path.name for path in record.folder.iterdir()} == expected, name
        assert all(path.stat().st_size <= LARGEST_BYTES for path in record.folder.iterdir()), name
        assert record.problem == record.folder.parent.name


def test_every_problem_has_recorded_results_and_our_records_are_listed_cases() -> None:
    records = read_records()
    assert {record.problem for record in records} == set(PROBLEM_KINDS.names)
    ours = {(case.problem, case.instance) for case in cases()}
    for record in records:
        if record.found_by == "the jettison developers":
            assert (record.problem, record.published_file or record.instance) in ours


def test_the_page_of_results_is_the_one_that_the_command_writes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_text(text, read_records()) == text


def test_a_case_pairs_the_fastest_schedule_with_the_largest_bound_that_holds_for_it() -> None:
    record = _record(EXAMPLE)
    assert record.schedule is not None
    assert record.bound is not None
    slower = replace(
        record, schedule=replace(record.schedule, time_ns=record.schedule.time_ns + 1), bound=None
    )
    # Larger, but of a class that the schedule need not be of.
    narrow = replace(
        record,
        schedule=None,
        bound=RecordedBound(
            method="m",
            time_ns=record.bound.time_ns + 5,
            valid_for="persistent",
            evidence=CERTIFIED,
            certificate_sha256="0" * 64,
        ),
    )
    believed = replace(
        record,
        schedule=None,
        bound=replace(record.bound, evidence="floating-point solver", certificate_sha256=None),
    )
    without = replace(record, bound=None)
    (standing,) = standings([slower, narrow, believed, without, record])
    assert standing.fastest is without
    assert standing.tightest is record
    assert standing.gap == 0


def _copied(tmp_path: Path, **changes: object) -> Record:
    folder = tmp_path / "remat-chain" / "copied"
    shutil.copytree(RECORDS / EXAMPLE, folder)
    document = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    for key, value in changes.items():
        part, _, field = key.partition("__")
        if field:
            document[part][field] = value
        else:
            document[part] = value
    (folder / "record.json").write_text(json.dumps(document), encoding="utf-8")
    return read_record(folder)


def test_a_record_that_claims_less_time_than_its_schedule_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the replay says"):
        judge_schedule(_copied(tmp_path, schedule__time_ns=1))


def test_a_record_that_claims_more_than_its_certificate_proves_is_refused(tmp_path: Path) -> None:
    record = _copied(tmp_path, schedule__time_ns=10**12, bound__time_ns=10**11)
    with pytest.raises(InputError, match="the certificate proves"):
        judge_bound(record)


def test_a_record_whose_bound_is_above_its_schedule_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="above the schedule's time"):
        judge_bound(_copied(tmp_path, bound__time_ns=10**12))


def test_a_record_of_another_memory_or_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="memory_bytes"):
        judge_schedule(_copied(tmp_path, memory_bytes=7))
    record = _record(EXAMPLE)
    assert record.bound is not None
    other = replace(record, bound=replace(record.bound, certificate_sha256="0" * 64))
    with pytest.raises(InputError, match="SHA-256"):
        judge_bound(other)


def test_a_record_with_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="speed"):
        _copied(tmp_path, speed=3)


def test_anybody_s_files_become_a_record_that_is_judged_first(tmp_path: Path) -> None:
    record = _record(EXAMPLE)
    target = add_record(
        "remat-chain",
        record.instance,
        Resources(None, "0.5"),
        schedule=record.schedule_path,
        certificate=record.certificate_path,
        method="by hand",
        found_by="Ada Lovelace",
        root=tmp_path,
    )
    assert target.name == "gpt2-small-b8-1024-h200-alpha0.5-by-hand"
    added = read_record(target)
    assert added.case == record.case
    assert added.bound == record.bound
    judge_schedule(added)
    # In less memory the schedule breaks the limit, and nothing is recorded.
    with pytest.raises(InputError, match="breaks a rule"):
        add_record(
            "remat-chain",
            record.instance,
            Resources(None, "0.2"),
            schedule=record.schedule_path,
            certificate=None,
            method="too large",
            found_by="Ada Lovelace",
            root=tmp_path,
        )
    assert [path.name for path in (tmp_path / "remat-chain").iterdir()] == [target.name]


def test_a_file_that_is_no_certificate_is_not_recorded(tmp_path: Path) -> None:
    record = _record(EXAMPLE)
    with pytest.raises(CertificateError):
        add_record(
            "remat-chain",
            record.instance,
            Resources(None, "0.5"),
            schedule=None,
            certificate=record.schedule_path,
            method="m",
            found_by="Ada Lovelace",
            root=tmp_path,
        )
