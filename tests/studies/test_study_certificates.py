"""A study keeps the certificates of its bounds, and its report leads to them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from jettison import InputError, check_certificate
from jettison.studies.job import Job
from jettison.studies.report.page import write_report
from jettison.studies.report.run import load_runs
from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from tests.studies.tiny_study import copied, job_of, small_chain, swept, swept_again, write_study

METHODS = ("rotor-exact", "revolve")


@pytest.fixture(scope="module")
def swept_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("swept")
    path = write_study(place, methods=METHODS)
    path.write_text(f"{path.read_text()}certify = true\n")
    assert swept(path, place / "results").done == len(METHODS)
    return place


@pytest.fixture
def folder(swept_once: Path, tmp_path: Path) -> ResultFolder:
    return copied(swept_once, tmp_path)


def certified_key(folder: ResultFolder) -> str:
    """Return the key of the job whose method proves more than the base time."""
    records = folder.survey().records
    return next(key for key in records if records[key]["job"]["method"] == "rotor-exact")


def jobs_of_page(page: Path) -> dict[str, list[object]]:
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    jobs: dict[str, list[object]] = json.loads(found[1])["jobs"]
    return jobs


def test_a_record_says_what_its_certificate_proves(folder: ResultFolder) -> None:
    key = certified_key(folder)
    record = folder.record(key)
    proved = check_certificate(folder.certificate_path(key)).claim
    assert proved.instance_sha256 == small_chain().sha256
    assert record["certificate"]["time_ns"] == proved.time_ns == record["result"]["time_ns"]
    assert record["certificate"]["valid_for"] == proved.valid_for == "persistent"
    assert record["result"]["certified_lower_bound_ns"] == proved.time_ns
    assert any(bound["evidence"] == "checked certificate" for bound in record["bounds"])


def test_jobs_without_certificates_keep_their_keys_and_write_none(tmp_path: Path) -> None:
    job = job_of()
    assert "certify" not in job.to_json()
    assert Job.from_json(job.to_json()) == job
    path = write_study(tmp_path)
    assert [cell.certify for cell in Study.from_toml(path).cells] == [False]
    assert swept_again(tmp_path).done == 1
    assert list((tmp_path / "results" / "certificates").iterdir()) == []


def test_a_certificate_that_was_changed_is_set_aside_and_made_again(
    folder: ResultFolder, tmp_path: Path
) -> None:
    path = folder.certificate_path(certified_key(folder))
    before = path.read_bytes()
    path.write_bytes(before[:-1])
    state = swept_again(tmp_path)
    assert [fault.source for fault in state.set_aside] == [str(path)]
    assert (folder.path / "damaged" / f"certificates-{path.stem}-1.gz").read_bytes() == before[:-1]
    assert check_certificate(path).claim.time_ns is not None


@pytest.mark.parametrize("beside", [True, False])
def test_the_report_leads_to_each_certificate(
    folder: ResultFolder, tmp_path: Path, beside: bool
) -> None:
    page = (folder.path if beside else tmp_path) / "report.html"
    loaded = load_runs(folder)
    write_report(loaded.runs, folder, page, title="t", most_timelines=2)
    jobs = jobs_of_page(page)
    place = jobs["key"].index(certified_key(folder))
    target = f"certificates/{certified_key(folder)}.gz"
    certificates = jobs["certificate"]
    shown = certificates["words"][certificates["at"][place]]  # type: ignore[call-overload]
    assert shown == target
    assert (folder.path / target).is_file()
    assert jobs["certified_ns"][place] == folder.record(certified_key(folder))["result"]["time_ns"]


def test_a_report_does_not_lead_to_a_certificate_that_was_changed(folder: ResultFolder) -> None:
    key = certified_key(folder)
    path = folder.certificate_path(key)
    path.write_bytes(b"")
    page = folder.path / "report.html"
    loaded = load_runs(folder)
    left_out = write_report(loaded.runs, folder, page, title="t")
    assert any(str(path) in sentence for sentence in left_out)
    jobs = jobs_of_page(page)
    assert jobs["certified_ns"][jobs["key"].index(key)] is None


@pytest.mark.parametrize(
    ("can", "written", "fault"),
    [
        (True, '"yes"', r"grid\[0\]\.certify: 'yes'; write true or false"),
        (False, "true", r"grid\[0\]\.certify: bounds of remat-chain have no certificates"),
    ],
)
def test_what_cannot_be_certified_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can: bool, written: str, fault: str
) -> None:
    monkeypatch.setattr("jettison.studies.study.can_be_certified", lambda _: can)
    path = write_study(tmp_path)
    text = path.read_text().replace("methods = []\n", "") + f"certify = {written}\n"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        Study.from_toml(path)
