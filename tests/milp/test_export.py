"""Models as files: complete, readable by others, and the same model."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path
from typing import Any

import highspy
import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.export import SUFFIXES, write_model
from jettison.instances.core.errors import InputError


def ordered_pair() -> ArrayModel:
    """Minimise -R - 2S + 12.5 with 1 <= R + S <= 1, R >= S - 3, both binary: S = 1 gives 10.5."""
    model = ArrayModelBuilder("ordered-pair", 12.5)
    r = model.add_column("R_3_7", upper=1, cost=-1, integer=True)
    s = model.add_column("S_3_7", upper=1, cost=-2, integer=True)
    model.add_row("eq_7a_3", [r, s], [1, 1], lower=1, upper=1)
    model.add_row("eq_7b_3", [r, s], [1, -1], lower=-3, upper=5)
    return model.build()


def reread(path: Path) -> Any:
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    return highs


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_written_model_reads_back_with_its_names_and_optimum(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    write_model(ordered_pair(), path)
    if suffix.endswith(".gz"):
        plain = tmp_path / f"unpacked{suffix.removesuffix('.gz')}"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        path = plain
    highs = reread(path)
    assert highs.getLp().col_names_ == ["R_3_7", "S_3_7"]
    assert highs.getLp().row_names_[0] == "eq_7a_3"
    highs.run()
    assert highs.getInfo().objective_function_value == 10.5


def test_mps_gz_is_gzip_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one.mps.gz", tmp_path / "other.mps.gz"
    write_model(ordered_pair(), one)
    write_model(ordered_pair(), other)
    assert one.read_bytes()[:2] == b"\x1f\x8b"
    assert one.read_bytes() == other.read_bytes()


def test_an_lp_file_holds_the_name_of_every_row_and_column(tmp_path: Path) -> None:
    write_model(ordered_pair(), tmp_path / "model.lp")
    text = (tmp_path / "model.lp").read_text()
    for name in ("R_3_7", "S_3_7", "eq_7a_3:"):
        assert name in text


def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'model\.txt'.*end it in \.mps, \.lp, \.mps\.gz"):
        write_model(ordered_pair(), tmp_path / "model.txt")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write the file: No such file or directory"):
        write_model(ordered_pair(), tmp_path / "nowhere" / "model.lp")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    path = tmp_path / "model.mps.gz"
    path.write_bytes(b"old")
    monkeypatch.setattr(gzip, "GzipFile", fail)
    with pytest.raises(InputError, match="cannot write the file: disk full"):
        write_model(ordered_pair(), path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mps.gz"]


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    path.write_text("old")
    write_model(ordered_pair(), path)
    assert "old" not in path.read_text()
