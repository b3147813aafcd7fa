"""An option that would do nothing is refused, or it is said that it did nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison.cli.main import main

CHAIN = ["remat-chain", "resnet18-b4-224-cpu"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return exit status, output and messages of a command."""
    with pytest.raises(SystemExit) as stop:
        main(words)
    printed = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, printed.out, printed.err


@pytest.mark.parametrize("option", ["--output", "--plot", "--grid"])
def test_a_method_that_only_bounds_writes_no_schedule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str
) -> None:
    path = tmp_path / ("mine.json" if option == "--output" else "mine.png")
    words = ("solve", *CHAIN, "--memory", "60%", "--method", "cut-bound", option, str(path))
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {option[2:]}: cut-bound proves a bound and makes no schedule")
    assert not path.exists()


def test_where_no_schedule_is_found_each_file_that_is_not_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schedule, picture = tmp_path / "mine.json", tmp_path / "mine.png"
    code, out, err = run(
        capsys,
        *("solve", *CHAIN, "--memory", "10%", "--method", "rotor-exact"),
        *("-o", str(schedule), "--plot", str(picture)),
    )
    assert code == 3
    assert "infeasible" in out
    assert err.splitlines() == [
        f"note: {path} is not written: there is no schedule" for path in (schedule, picture)
    ]


def test_a_bound_without_a_schedule_has_no_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.png"
    code, out, err = run(capsys, "bound", *CHAIN, "--memory", "60%", "--plot", str(path))
    assert (code, out) == (2, "")
    assert err.startswith("error: plot: ")
    assert err.rstrip().endswith("add --schedule FILE, or leave it out")
    assert not path.exists()
