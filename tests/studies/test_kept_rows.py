"""Rows that a folder keeps: what is read, what is computed again, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.studies.kept_rows import KeptFunction, KeptRows, Row


def powers(folder: Path, *, again_s: float = 0, exponent: int = 2) -> KeptFunction:
    """A function with a row for each number; each definition starts anew, like a notebook."""

    @KeptRows(folder).rows("powers", again_s=again_s, about=["near"])
    def power(number: int, sign: str = "+") -> Row:
        return {
            "power": number**exponent,
            "near": 1e9 + exponent,
            "sign": sign,
            "none": None,
        }

    return power


def with_cpu_s(folder: Path, *taken_s: float) -> None:
    """Change what the rows took."""
    path = folder / "powers.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [{**line, "cpu_s": cpu_s} for line, cpu_s in zip(lines, taken_s, strict=True)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_row_is_computed_once_and_read_from_then_on(tmp_path: Path) -> None:
    first = powers(tmp_path)
    row = {"power": 9, "near": 1e9 + 2, "sign": "+", "none": None}
    assert first(3) == first(3, sign="+") == row
    assert first.added == [(3, "+")]
    # The exponent is another one now, and nobody sees it.
    second = powers(tmp_path, exponent=3)
    assert second(3) == row
    assert (second.added, second.again, second.never_asked) == ([], [], [])
    assert second.cpu_s(3) < 1


def test_a_row_that_comes_out_otherwise_is_named_with_both_values(tmp_path: Path) -> None:
    powers(tmp_path)(3)
    changed = powers(tmp_path, exponent=3, again_s=1)
    message = r"powers\.jsonl: \[3, '\+'\]: power: 27 where 9 was recorded; .* remove the file"
    with pytest.raises(InputError, match=message):
        changed(3)


def test_what_depends_on_a_tolerance_may_differ_by_a_millionth(tmp_path: Path) -> None:
    # 0 and 1 have the same squares and cubes; `near` changes by 1 in 10**9.
    for number in (0, 1):
        powers(tmp_path)(number)
    again = powers(tmp_path, exponent=3, again_s=1)
    assert [again(number)["near"] for number in (0, 1)] == 2 * [1e9 + 2]
    assert again.again == [(0, "+"), (1, "+")]


def test_as_many_rows_are_computed_again_as_there_are_seconds_for(tmp_path: Path) -> None:
    first = powers(tmp_path)
    for number in range(4):
        first(number)
    with_cpu_s(tmp_path, 1.0, 1.0, 1.0, 9.0)
    counts = []
    # Two of the quick ones; none of 0.5 seconds, so the quickest there is; nothing for 0.
    for again_s in (2.5, 0.5, 0):
        function = powers(tmp_path, again_s=again_s)
        for number in range(4):
            function(number)
        counts.append(len(function.again))
        assert (3, "+") not in function.again
    assert counts == [2, 1, 0]


def test_a_row_for_which_nobody_asks_is_named(tmp_path: Path) -> None:
    first = powers(tmp_path)
    first(1)
    first(2)
    second = powers(tmp_path)
    second(2)
    assert second.never_asked == [(1, "+")]
    assert "1 rows in 0.0 CPU seconds" in str(second)
    assert "0 computed again, 0 new" in str(second)


@pytest.mark.parametrize("text", ["{", "[]", '{"case": [1]}', "7"])
def test_a_line_that_is_no_row_is_refused(text: str, tmp_path: Path) -> None:
    powers(tmp_path)(1)
    with (tmp_path / "powers.jsonl").open("a") as stream:
        stream.write(f"{text}\n")
    with pytest.raises(InputError, match=r"powers\.jsonl: line 2: no row of a table; remove"):
        powers(tmp_path)


def test_a_folder_is_found_here_or_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notebooks" / "_rows").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks")
    kept = KeptRows.found("notebooks/_rows")
    kept.rows("any", again_s=0)(lambda: {})
    assert str(kept).startswith("any.jsonl: 0 rows")
    with pytest.raises(InputError, match="no folder nowhere/rows here or above"):
        KeptRows.found("nowhere/rows")
