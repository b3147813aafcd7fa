"""Times of collectives that SuperScaler's authors measured, by the size of what is sent.

A table has a header and a row for each size, in MiB and milliseconds, in any order::

    data_size(MB),time(ms)
    8,0.260

Of an all-reduce the size is that of the tensor; of an all-gather it is what each device gives: on
2, 4 and 8 devices it takes about 1.5, 2.5 and 3 times an all-reduce of that size, where it would
take half of one if the size were that of the result. Where a run failed, 1000000000 stands in place
of the time; such a size is refused when it is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.units import BYTE_UNITS, NANOSECOND_UNITS
from jettison.instances.importers.exact_numbers import number_of_text

# No collective takes hours.
_FAILED_NS = 9 * 10**6 * NANOSECOND_UNITS["ms"]
_HEADER = "data_size(MB),time(ms)"


@dataclass(frozen=True, slots=True)
class CollectiveTimes:
    """Sizes in bytes, ascending, with the time of each, and sizes whose runs failed."""

    source: str
    text: str
    sizes_bytes: tuple[int, ...]
    times_ns: tuple[Fraction, ...]
    failed_bytes: frozenset[int]

    def time_ns(self, size_bytes: int) -> int:
        """Return the time for a size: measured, or linear between the two next to it.

        A size below all that were measured takes the time of the smallest.

        Raises
        ------
        InputError
            If the size is above all that were measured, or its run failed.
        """
        if size_bytes > self.sizes_bytes[-1] or size_bytes in self.failed_bytes:
            raise InputError(
                f"{size_bytes} bytes are sent, and of that size no run succeeded",
                field="data_size(MB)",
                source=self.source,
                expected="give a table with this size or larger ones",
            )
        place = bisect_left(self.sizes_bytes, size_bytes)
        if place == 0 or self.sizes_bytes[place] == size_bytes:
            return round(self.times_ns[place])
        low, high = self.sizes_bytes[place - 1], self.sizes_bytes[place]
        share = Fraction(size_bytes - low, high - low)
        return round(self.times_ns[place - 1] * (1 - share) + self.times_ns[place] * share)


def read_collective_times(path: Path) -> CollectiveTimes:
    """Read the times of one collective on one number of devices.

    Raises
    ------
    InputError
        If the file cannot be read or is no such table, a size stands twice, or none was measured;
        the message names the file and the line.
    """
    text = read_text(path)
    try:
        rows = _rows(text)
    except InputError as error:
        raise error.within(source=str(path)) from None
    measured = sorted((size, time) for size, time in rows.items() if time < _FAILED_NS)
    if not measured:
        raise InputError(
            "no size was measured", source=str(path), field="line 2", expected="give at least one"
        )
    return CollectiveTimes(
        str(path),
        text,
        tuple(size for size, _ in measured),
        tuple(time for _, time in measured),
        frozenset(rows) - {size for size, _ in measured},
    )


def _rows(text: str) -> dict[int, Fraction]:
    lines = text.splitlines()
    if not lines or lines[0].strip() != _HEADER:
        raise InputError("the header differs", field="line 1", expected=f"write {_HEADER}")
    found: dict[int, Fraction] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where = f"line {number}"
        parts = line.split(",")
        if len(parts) != 2:
            raise InputError(f"{len(parts)} columns", field=where, expected="give a size, a time")
        size = round(number_of_text(parts[0], where) * BYTE_UNITS["MiB"])
        if size in found:
            raise InputError(
                f"{parts[0][:40]!r} stands twice", field=where, expected="give each size one row"
            )
        found[size] = number_of_text(parts[1], where) * NANOSECOND_UNITS["ms"]
    return found
