"""The program that converts what others published, run on what is bundled and on what is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from tools import import_bundled
from tools.bundled_index import DATA
from tools.import_families import PUBLISHED, PiperModel, SailorModel

SAMPLES = Path(__file__).parent / "instances" / "importers" / "samples"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder and its folders, by their relative names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_bundled_files_are_what_the_published_ones_become(
    shared_data: Path, tmp_path: Path
) -> None:
    import_bundled.write_imported(shared_data, tmp_path)
    made = contents(tmp_path)
    assert made.pop("index.json")
    for repository in PUBLISHED:
        bundled = contents(DATA / repository)
        assert bundled
        for name, data in bundled.items():
            assert made.pop(f"{repository}/{name}") == data, name
    assert made == {}


def test_a_file_that_was_not_published_is_refused_for_its_licence_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(import_bundled, "PUBLISHED", {"piper": (PiperModel("piper.json"),)})
    folder = tmp_path / "published" / "piper"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / "piper.json", folder)
    words = ["--published", str(folder.parent), "--output", str(tmp_path / "data")]
    assert import_bundled.main(words) == 2
    assert "its licence is not known; give the published files as they are" in (
        capsys.readouterr().err
    )
    assert contents(tmp_path / "data") == {}


def test_two_instances_of_one_name_are_refused(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SailorModel("OPT-350", "GH-96", (1,))
    monkeypatch.setattr(import_bundled, "PUBLISHED", {"sailor": (model, model)})
    with pytest.raises(InputError, match="opt-350m-b1-gh-96: two instances have this name"):
        import_bundled.write_imported(shared_data, tmp_path)


def test_what_is_no_longer_in_the_table_is_removed(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batches in ((1, 2), (2,)):
        table = {"sailor": (SailorModel("OPT-350", "GH-96", batches),)}
        monkeypatch.setattr(import_bundled, "PUBLISHED", table)
        import_bundled.write_imported(shared_data, tmp_path)
    assert set(contents(tmp_path)) == {"index.json", "sailor/opt-350m-b2-gh-96.json"}
