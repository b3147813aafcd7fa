"""An option that would do nothing is refused, or it is said that it did nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import CommandLine

CHAIN = "remat-chain resnet18-b4-224-cpu"


@pytest.mark.parametrize("option", ["--output", "--plot", "--grid"])
def test_a_method_that_only_bounds_writes_no_schedule(
    typed: CommandLine, tmp_path: Path, option: str
) -> None:
    name = "mine.json" if option == "--output" else "mine.png"
    err = typed.error(f"solve {CHAIN} --memory 60% --method cut-bound {option} {name}")
    assert err.startswith(f"error: {option[2:]}: cut-bound proves a bound and makes no schedule")
    assert not (tmp_path / name).exists()


def test_where_no_schedule_is_found_each_file_that_is_not_written_is_named(
    typed: CommandLine, tmp_path: Path
) -> None:
    code, out, err = typed.run(
        f"solve {CHAIN} --memory 10% --method rotor-exact -o mine.json --plot mine.png"
    )
    assert code == 3
    assert "infeasible" in out
    assert err.splitlines() == [
        f"note: {tmp_path / name} is not written: there is no schedule"
        for name in ("mine.json", "mine.png")
    ]


def test_a_bound_without_a_schedule_has_no_picture(typed: CommandLine, tmp_path: Path) -> None:
    err = typed.error(f"bound {CHAIN} --memory 60% --plot mine.png")
    assert err.startswith("error: plot: ")
    assert err.rstrip().endswith("add --schedule FILE, or leave it out")
    assert not (tmp_path / "mine.png").exists()
