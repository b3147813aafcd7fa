"""The folder of results: claims, files that appear whole, and what does not belong there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.result_folder import ResultFolder
from tests.studies.tiny_study import job_of, small_chain, unfinished

KEY = "0" * 64


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    folder = ResultFolder(tmp_path / "results")
    folder.create()
    return folder


def failure(reason: str = "a reason") -> dict[str, object]:
    return {
        "job": job_of().to_json(),
        "state": "failed",
        "failed": reason,
        "started": 1.5,
        "wall_s": 0.5,
        "trace": [],
    }


def test_a_record_comes_back_as_it_was_written(folder: ResultFolder) -> None:
    folder.write(KEY, failure())
    record = folder.record(KEY)
    assert record["failed"] == "a reason"
    assert record["key"] == KEY
    assert [item["key"] for item in folder.survey().records.values()] == [KEY]
    assert unfinished(folder.path) == []


def test_a_claim_is_held_by_one_and_leaves_nothing(folder: ResultFolder) -> None:
    with folder.claimed(KEY) as first:
        assert first
        # Another open file, as another thread or process would have.
        with folder.claimed(KEY) as second:
            assert not second
        with folder.claimed("1" * 64) as other:
            assert other
    with folder.claimed(KEY) as again:
        assert again
    assert list((folder.path / "claims").iterdir()) == []


def test_a_claim_that_its_last_owner_removed_is_taken_again(
    folder: ResultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jettison.studies import file_lock

    path, lock = folder.path / "claims" / KEY, file_lock.fcntl.flock
    removed = []

    def lock_after_removal(stream: object, how: int) -> None:
        lock(stream, how)  # type: ignore[call-overload]
        if not removed:
            removed.append(path)
            path.unlink()

    monkeypatch.setattr(file_lock.fcntl, "flock", lock_after_removal)
    with folder.claimed(KEY) as ours:
        assert ours
        # The lock is on the file that others find, and not on the one that is gone.
        assert path.exists()
        with folder.claimed(KEY) as second:
            assert not second
    assert removed


def test_what_a_killed_writer_left_goes_with_the_next_claim(folder: ResultFolder) -> None:
    half = folder.path / "jobs" / f".{KEY}.json.abc"
    half.write_text("{")
    other = folder.path / "schedules" / f".{'1' * 64}.json.abc"
    other.write_text("{")
    assert list(folder.survey().records) == []
    with folder.claimed(KEY):
        assert unfinished(folder.path) == [other]


def test_only_the_record_of_a_failure_is_discarded(folder: ResultFolder) -> None:
    folder.write(KEY, failure())
    folder.discard_failure(KEY)
    assert not folder.has(KEY)
    folder.discard_failure(KEY)


def test_an_instance_is_kept_once_and_checked_when_it_is_read(folder: ResultFolder) -> None:
    chain = small_chain()
    folder.add_instance(chain)
    path = folder.instance_path(chain.sha256)
    before = path.stat().st_mtime_ns
    folder.add_instance(chain)
    assert path.stat().st_mtime_ns == before
    assert folder.instance(chain.sha256) == chain
    path.rename(folder.instance_path(KEY))
    with pytest.raises(InputError, match="its SHA-256 is"):
        folder.instance(KEY)


def test_a_study_is_kept_once_for_each_of_its_contents(
    folder: ResultFolder, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    for text in ("a = 1\n", "a = 1\n", "a = 2\n"):
        path.write_text(text)
        folder.keep_study(path)
    kept = sorted((folder.path / "studies").iterdir())
    assert {file.read_text() for file in kept} == {"a = 1\n", "a = 2\n"}
    assert len(kept) == 2


def test_a_folder_with_other_things_is_not_taken_for_results(tmp_path: Path) -> None:
    # Such as a source tree that happens to have folders of these names.
    (tmp_path / "instances").mkdir()
    (tmp_path / "studies").mkdir()
    with pytest.raises(InputError, match="holds other things"):
        ResultFolder(tmp_path).create()


def test_a_file_in_place_of_the_folder_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        ResultFolder(path).create()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"state": "running"}, "state"),
        ({"failed": None}, "failed"),
        ({"job": {}}, "job"),
        ({"version": 2}, "version"),
        ({"kind": "chain"}, "kind"),
        ({"wall_s": -1}, "wall_s"),
        ({"state": "done"}, ""),
    ],
)
def test_a_record_that_was_changed_is_bad_input(
    folder: ResultFolder, change: dict[str, object], field: str
) -> None:
    folder.write(KEY, failure())
    path = folder.record_path(KEY)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError) as caught:
        folder.record(KEY)
    assert (caught.value.field, caught.value.source) == (field, str(path))


def test_the_record_of_another_job_is_bad_input(folder: ResultFolder) -> None:
    folder.write(KEY, failure())
    folder.record_path(KEY).rename(folder.record_path("1" * 64))
    with pytest.raises(InputError, match="the record of another job"):
        folder.record("1" * 64)


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results"):
        ResultFolder(tmp_path).survey()
