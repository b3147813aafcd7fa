"""Writer of a proof's lines, compressed as they are written."""

from __future__ import annotations

import gzip
import io

import numpy as np

from jettison.solvers.proof.exact_rows import Multipliers

_LEVEL = 9


class ProofText:
    """Writer of a proof, in which multipliers are written as changes against the line before.

    Parameters
    ----------
    num_rows
        Number of rows of the model, with derived rows.
    """

    def __init__(self, num_rows: int) -> None:
        self._bytes = io.BytesIO()
        self._stream = gzip.GzipFile("", "wb", _LEVEL, self._bytes, mtime=0)
        self._last = {letter: np.zeros(num_rows, dtype=object) for letter in "lf"}
        self.num_bytes = 0
        self.leaves = 0

    def derive(self, record: str) -> None:
        """Write the record of a derived row."""
        self._write(record)

    def branch(self, name: str, value: int) -> None:
        """Write a branch at a column."""
        self._write(f"b {name} {value}")

    def fix(self, multipliers: Multipliers, fixed: list[tuple[int, int]]) -> None:
        """Write that columns have fixed values in all points up to the threshold."""
        values = [f"{column}={value}" for column, value in fixed]
        self._write(" ".join(["x", *self._changes("l", multipliers), "|", *values]))

    def leaf(self, multipliers: Multipliers, *, is_empty: bool) -> None:
        """Write a leaf, which proves the claim or, if `is_empty`, that it has no point."""
        letter = "f" if is_empty else "l"
        self._write(" ".join([letter, *self._changes(letter, multipliers)]))
        self.leaves += 1

    def finish(self) -> bytes:
        """Return all lines as one gzip member."""
        self._stream.close()
        return self._bytes.getvalue()

    def _changes(self, letter: str, multipliers: Multipliers) -> list[str]:
        last = self._last[letter]
        present = np.zeros_like(last)
        present[multipliers.rows] = multipliers.values
        self._last[letter] = present
        changed = np.flatnonzero(present != last).tolist()
        return [f"{row}:{present[row]}" if present[row] else f"{row}" for row in changed]

    def _write(self, line: str) -> None:
        data = line.encode("ascii") + b"\n"
        self._stream.write(data)
        self.num_bytes += len(data)
