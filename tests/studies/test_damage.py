"""One damaged file stops neither a sweep nor its report: it is named, and made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.pools import local_pool
from jettison.studies.report.page import write_report
from jettison.studies.report.run import load_runs
from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import Sweep, plan_study
from tests.studies.tiny_study import answers, copied, job_of, swept, swept_again, write_study

METHODS = ("rotor", "revolve")


@pytest.fixture(scope="module")
def swept_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("swept")
    path = write_study(place, methods=METHODS)
    assert swept(path, place / "results").done == len(METHODS)
    return place


@pytest.fixture
def folder(swept_once: Path, tmp_path: Path) -> ResultFolder:
    return copied(swept_once, tmp_path)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def full_of_zeros(path: Path) -> None:
    # What a disk shows of a file whose content was never written.
    path.write_bytes(bytes(len(path.read_bytes())))


def gone(path: Path) -> None:
    path.unlink()


KEY = job_of().key
DAMAGES: list[tuple[str, str, Callable[[Path], None]]] = [
    ("jobs", KEY, emptied),
    ("jobs", KEY, cut_short),
    ("jobs", KEY, full_of_zeros),
    ("schedules", KEY, emptied),
    ("schedules", KEY, gone),
    ("instances", job_of().instance_sha256, emptied),
    ("instances", job_of().instance_sha256, full_of_zeros),
]


@pytest.mark.parametrize(("kind", "name", "damage"), DAMAGES)
def test_a_sweep_names_it_sets_it_aside_and_makes_it_again(
    folder: ResultFolder, tmp_path: Path, kind: str, name: str, damage: Callable[[Path], None]
) -> None:
    before = answers(folder.path)
    path = folder.path / kind / f"{name}.json"
    damage(path)
    state = swept_again(tmp_path)
    assert (state.done, state.failed) == (len(METHODS), 0)
    assert [fault.source for fault in state.set_aside] == [str(path)]
    assert answers(folder.path) == before
    # A schedule that is gone leaves its record alone there.
    aside = [file.name for file in (folder.path / "damaged").iterdir()]
    assert f"{'jobs' if kind == 'schedules' else kind}-{name}-1.json" in aside
    # Once mended nothing is left to do.
    assert swept_again(tmp_path).set_aside == []


def test_what_was_set_aside_before_is_kept(folder: ResultFolder, tmp_path: Path) -> None:
    for _ in range(2):
        emptied(folder.record_path(KEY))
        swept_again(tmp_path)
    names = {file.name for file in (folder.path / "damaged").iterdir()}
    assert {f"jobs-{KEY}-1.json", f"jobs-{KEY}-2.json"} <= names


def test_a_record_that_another_process_damages_meanwhile_is_made_again_once(
    folder: ResultFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.from_toml(tmp_path / "study.toml")
    gone(folder.record_path(KEY))
    plan = plan_study(study, folder)
    write = ResultFolder.write

    def write_in_vain(self: ResultFolder, key: str, content: dict[str, object]) -> None:
        write(self, key, content)
        emptied(self.record_path(key))

    monkeypatch.setattr(ResultFolder, "write", write_in_vain)
    with local_pool(1) as pool:
        sweep = Sweep(study, plan, folder, pool)
        with pytest.raises(InputError, match="not JSON"):
            sweep.run()
    assert [fault.source for fault in sweep.state.set_aside] == [str(folder.record_path(KEY))]


@pytest.mark.parametrize(("kind", "name", "damage"), DAMAGES)
def test_a_report_names_it_and_shows_the_rest(
    folder: ResultFolder, tmp_path: Path, kind: str, name: str, damage: Callable[[Path], None]
) -> None:
    path = folder.path / kind / f"{name}.json"
    damage(path)
    loaded = load_runs(folder)
    assert len(loaded.runs) == len(loaded.frame) == (1 if kind == "jobs" else 2)
    page = tmp_path / "report.html"
    left_out = write_report(
        loaded.runs, folder, page, title="t", most_timelines=9, damaged=loaded.left_out
    )
    assert any(str(path) in sentence for sentence in left_out)
    assert str(path) in page.read_text(encoding="utf-8")
