"""Whatever moment the power fails at, the disk holds whole results or none.

The worst disk that keeps its promises is played: of a file it has what was there when the file was
last put on the disk, and of a folder the names that were there when the folder was. Everything else
is lost. After each call by which the system could be asked for more, the folder that such a disk
would show is copied and read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jettison import load_schedule, save_schedule, solve
from jettison.studies.result_folder import ResultFolder
from tests.studies.test_result_folder import failure
from tests.studies.tiny_study import job_of, small_chain


class WorstDisk:
    """Disk that holds of a folder only what it was told to write.

    Parameters
    ----------
    root
        The folder; it is there and empty.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        # By the number of a file: its content, or the names in a folder and their numbers.
        self.contents: dict[int, bytes] = {}
        self.names: dict[int, dict[str, int]] = {root.stat().st_ino: {}}
        self.on_change: Callable[[], None] = lambda: None
        fsync, replace = os.fsync, os.replace

        def put_on_disk(opened: int) -> None:
            fsync(opened)
            self.take_in(opened)
            self.on_change()

        def renamed(source: Path, target: Path) -> None:
            replace(source, target)
            self.on_change()

        monkeypatch.setattr(os, "fsync", put_on_disk)
        monkeypatch.setattr(os, "replace", renamed)

    def take_in(self, opened: int) -> None:
        path = Path(f"/proc/self/fd/{opened}").resolve()
        number = os.fstat(opened).st_ino
        if path.is_dir():
            self.names[number] = {entry.name: entry.stat().st_ino for entry in path.iterdir()}
        else:
            self.contents[number] = path.read_bytes()

    def copy_to(self, path: Path) -> None:
        """Write what the disk shows after the power has failed."""
        shutil.rmtree(path, ignore_errors=True)
        self._copy(self.root.stat().st_ino, path)

    def _copy(self, folder: int, path: Path) -> None:
        path.mkdir()
        for name, number in self.names.get(folder, {}).items():
            if number in self.contents:
                (path / name).write_bytes(self.contents[number])
            elif (self.root / name).is_dir():
                self._copy(number, path / name)
            else:
                # A name without the content of its file.
                (path / name).write_bytes(b"")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    root.mkdir()
    return root


@pytest.fixture
def disk(results: Path, monkeypatch: pytest.MonkeyPatch) -> WorstDisk:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc, by which the file of a descriptor is found")
    return WorstDisk(results, monkeypatch)


def write_results(folder: ResultFolder) -> None:
    """Write what a job writes, in its order."""
    folder.create()
    folder.add_instance(small_chain())
    job = job_of()
    result = solve(job.posed(small_chain()), method="rotor")
    assert result.schedule is not None
    save_schedule(result.schedule, small_chain(), folder.schedule_path(job.key))
    content = {**failure(), "state": "done", "result": result.to_json(), "bounds": []}
    del content["failed"]
    folder.write(
        job.key,
        {**content, "schedule_class": "persistent", "cpu_s": 0.1, "peak_memory_bytes": 1},
    )


def look(path: Path) -> int:
    """Read all that a folder shows, and return how many whole results it has."""
    folder = ResultFolder(path)
    if not (path / "jobs").is_dir():
        return 0
    survey = folder.survey()
    assert survey.damaged == {}
    for key in survey.records:
        folder.sound_record(key)
        load_schedule(folder.schedule_path(key), folder.instance(small_chain().sha256))
    return len(survey.records)


def test_after_each_call_results_are_whole_or_absent(
    results: Path, disk: WorstDisk, tmp_path: Path
) -> None:
    seen = []

    def fail() -> None:
        disk.copy_to(tmp_path / "after")
        seen.append(look(tmp_path / "after"))

    disk.on_change = fail
    write_results(ResultFolder(results))
    # Absent at first, and there from some moment on.
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, 1)
    assert len(seen) >= 9


def test_what_was_written_is_there_when_the_call_has_ended(
    results: Path, disk: WorstDisk, tmp_path: Path
) -> None:
    write_results(ResultFolder(results))
    disk.copy_to(tmp_path / "after")
    assert look(tmp_path / "after") == 1


def test_this_disk_loses_what_it_was_not_told_to_keep(
    results: Path, disk: WorstDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only folders are put on the disk: names without contents.
    take_in = disk.take_in

    def folders_only(opened: int) -> None:
        if Path(f"/proc/self/fd/{opened}").resolve().is_dir():
            take_in(opened)

    monkeypatch.setattr(disk, "take_in", folders_only)
    write_results(ResultFolder(results))
    disk.copy_to(tmp_path / "after")
    assert list(ResultFolder(tmp_path / "after").survey().damaged) == [job_of().key]
