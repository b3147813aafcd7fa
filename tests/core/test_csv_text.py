"""No cell of a table is a formula."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from jettison.schedules.core.csv_text import csv_text


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_that_begins_like_a_formula_is_written_as_text(first: str) -> None:
    name = f'{first}HYPERLINK("x")'
    frame = pd.DataFrame({"instance": [name, "plain"]}, index=pd.Index([name, "a"], name="key"))
    text = csv_text(frame)
    assert rows(text)[1:] == [[f"'{name}", f"'{name}"], ["a", "plain"]]
    assert rows(csv_text(frame, with_index=False))[1:] == [[f"'{name}"], ["plain"]]


def test_numbers_and_missing_values_stay_as_they_are() -> None:
    frame = pd.DataFrame({"a": pd.array([-1, None], dtype="Int64"), "b": [-0.5, float("nan")]})
    assert csv_text(frame) == frame.to_csv()
