"""Studies of cards: jobs, table and report say which card it was and what was resident."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.result_folder import ResultFolder
from jettison.studies.results_frame import results_frame
from jettison.studies.study import Study
from tests.studies.tiny_study import swept

GRID = """
[[grid]]
problem = "remat-chain"
instances = ["opt-350m-b1-rtx-2080"]
card = ["8GiB", "rtx-3070"]
resident = ["3GiB", "7.7GiB"]
methods = ["rotor"]
"""


def test_cards_and_resident_bytes_are_axes_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GRID, encoding="utf-8")
    swept(path, tmp_path / "results")
    table = results_frame(ResultFolder(tmp_path / "results"))
    assert not table["failed"].notna().any()
    assert sorted(table["memory"]) == [
        "card=8GiB:resident=3GiB",
        "card=8GiB:resident=7.7GiB",
        "card=rtx-3070:resident=3GiB",
        "card=rtx-3070:resident=7.7GiB",
    ]
    assert (table["card_bytes"] - table["resident_bytes"] == table["memory_bytes"]).all()
    fits = table[table["peak_bytes"].notna()]
    assert (fits["card_peak_bytes"] == fits["peak_bytes"] + fits["resident_bytes"]).all()
    refuted = table[table["least_memory_bytes"].notna()]
    assert len(fits) == len(refuted) == 2
    least = refuted["least_memory_bytes"] + refuted["resident_bytes"]
    assert (refuted["least_card_bytes"] == least).all()


@pytest.mark.parametrize(
    ("given", "changed", "field"),
    [
        ('"3GiB"', '"30GiB"', "resident"),
        ('"rtx-3070"', '"rtx-307"', "card"),
        ("card =", "cards =", "cards"),
        ('card = ["8GiB", "rtx-3070"]', 'memory = "1GiB"', "resident"),
        ("resident =", 'memory = "1GiB"\nresident =', "card"),
    ],
)
def test_a_card_that_is_wrong_is_named_with_its_grid(
    tmp_path: Path, given: str, changed: str, field: str
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GRID.replace(given, changed), encoding="utf-8")
    with pytest.raises(InputError) as info:
        Study.from_toml(path)
    assert f"grid[0].{field}: " in str(info.value)
