"""Tables as CSV whose texts no spreadsheet takes for formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# A spreadsheet computes a cell that begins so. What it computes can read other cells and send them
# away, and a name of an instance or a layer is whatever somebody else has written.
_BEGINNINGS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(frame: pd.DataFrame, *, with_index: bool = True) -> str:
    """Return a table as CSV.

    A text that a spreadsheet would compute gets an apostrophe in front, by which it shows it as
    text; numbers stay as they are.
    """
    shown = frame.map(_as_text)
    if with_index:
        shown.index = frame.index.map(_as_text)
    return shown.to_csv(index=with_index)


def _as_text(cell: Any) -> Any:
    is_formula = isinstance(cell, str) and cell.startswith(_BEGINNINGS_OF_FORMULAS)
    return f"'{cell}" if is_formula else cell
