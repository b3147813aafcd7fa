r"""Certificate file: a header and the records of a proof, read as a stream.

ASCII text, compressed with gzip or plain. The first line is ``jettison certificate 1``, the second
a JSON object, the header:

================== ===========================================================================
``problem``        its name, such as ``remat-graph``
``instance``       the instance, as in its own file
``instance_sha256``  the SHA-256 of the instance without its name and provenance, in canonical text
``resources``      what is given besides, such as ``memory_bytes``
``formulation``    ``name``, ``version``, and what it needs to be built, such as its cuts
``claim``          ``time_ns``: no schedule takes less; or ``infeasible``: there is no schedule
``valid_for``      the schedules that the claim is about
``scale_bits``     :math:`k`: a multiplier :math:`Y` in the proof means :math:`Y / 2^k`
``producer``       the program that wrote the file; the checker ignores it
================== ===========================================================================

Every other line is a record, blanks between its parts. Rows and columns are numbered from 0 in the
order in which the formulation has them; derived rows are appended.

========================== ===================================================================
``G d i:w ...``            derive a row: weights ``w`` of rows ``i``, divided by ``d``, rounded
``K i beta j:alpha ...``   derive a row: a cover of the knapsack row ``i``
``b NAME v``               branch on an integer column: a subtree with at most ``v`` follows, then
                           one with at least ``v + 1``
``x i:Y ... | j=v ...``    multipliers, then columns that have the value ``v``, one of their bounds,
                           in all points that matter of the subtree that follows
``l i:Y ...``              a leaf: the multipliers prove the claim
``f i:Y ...``              a leaf: the multipliers prove that there is no point
========================== ===================================================================

A dynamic program has records of its own (`bellman`).

Derived rows come first, then the tree in preorder. Multipliers are changes: rows that are not named
keep those of the ``l`` or ``x`` before (for ``f`` those of the ``f`` before), and a row
without ``:Y`` goes back to 0. No record names a row twice.
"""

from __future__ import annotations

import gzip
import json
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from .errors import CertificateError
from .header_fields import Fields

MAGIC = "jettison certificate 1"
_GZIP = b"\x1f\x8b"

# Beyond these a file is refused, whatever it says: a small one may unpack to any size.
MOST_BYTES = 1 << 29
MOST_LINE_BYTES = 1 << 24
MOST_DIGITS = 400


@dataclass(frozen=True, slots=True)
class NotInteger:
    """Text of a number in the header that has a fraction or an exponent."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Record:
    """Record of a proof, one line: its number from 1, its letter, and its other parts."""

    line: int
    letter: str
    parts: list[str]


class CertificateFile:
    """Open certificate: its header, read at once, and its records, read on demand.

    Parameters
    ----------
    stream
        The uncompressed bytes; `open_certificate` has them of a file.

    Raises
    ------
    CertificateError
        If it is no certificate, or exceeds a limit. While records are read as well.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._line = 0
        self._bytes = 0
        if self._next_line() != MAGIC:
            raise CertificateError(f"a certificate begins with {MAGIC!r}", 1)
        self.header = _parsed_header(self._next_line() or "")

    def records(self) -> Iterator[Record]:
        """Yield the records; may be called once."""
        while (text := self._next_line()) is not None:
            parts = text.split(" ")
            yield Record(self._line, parts[0], parts[1:])

    def _next_line(self) -> str | None:
        """Return the next line without its end, or None after the last one."""
        try:
            data = self._stream.readline(MOST_LINE_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CertificateError(f"the compressed file is broken: {error}") from None
        if not data:
            return None
        self._line += 1
        self._bytes += len(data)
        if len(data) > MOST_LINE_BYTES or self._bytes > MOST_BYTES:
            raise CertificateError("the line or the file is too long to be a proof", self._line)
        if not data.endswith(b"\n"):
            raise CertificateError("the last line has no end: the file is cut off", self._line)
        try:
            return data[:-1].decode("ascii")
        except UnicodeDecodeError:
            raise CertificateError("only ASCII characters are allowed", self._line) from None


def is_certificate(path: Path) -> bool:
    """Tell whether a file is meant as a certificate: compressed, or with the right first line.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as stream:
        start = stream.read(len(MAGIC))
    return start.startswith(_GZIP) or start == MAGIC.encode("ascii")


@contextmanager
def open_certificate(path: Path) -> Iterator[CertificateFile]:
    """Open a certificate, gzip-compressed or plain.

    Raises
    ------
    CertificateError
        If it is no certificate.
    OSError
        If the file cannot be read.
    """
    # To open a pipe that nobody writes to would never end.
    if not stat.S_ISREG(path.stat().st_mode):
        raise CertificateError("this is not a plain file")
    with path.open("rb") as raw:
        is_compressed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        if is_compressed:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield CertificateFile(cast("BinaryIO", stream))
        else:
            yield CertificateFile(raw)


def integer(text: str, line: int | None = None) -> int:
    """Parse an integer in canonical decimal notation.

    Raises
    ------
    CertificateError
        If the text is no integer, is not canonical, or is too long for a proof.
    """
    digits = text[1:] if text.startswith("-") else text
    canonical = digits.isdecimal() and digits.isascii() and (digits[0] != "0" or text == "0")
    if not canonical or len(digits) > MOST_DIGITS:
        raise CertificateError(
            f"{text[:40]!r} is not an integer of at most {MOST_DIGITS} digits", line
        )
    return int(text)


def pairs(parts: list[str], line: int, separator: str = ":") -> list[tuple[int, int]]:
    """Parse ``i:Y`` with a separator; a part without one means 0."""
    found = []
    for part in parts:
        first, mark, second = part.partition(separator)
        found.append((integer(first, line), integer(second, line) if mark else 0))
    return found


def _parsed_header(text: str) -> Fields:
    try:
        header = json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_constant=_no_constant,
            parse_int=_short_integer,
            parse_float=NotInteger,
        )
    except CertificateError:
        raise
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CertificateError(f"the header is not JSON: {reason}", 2) from None
    if not isinstance(header, dict):
        raise CertificateError("the header is not an object", 2)
    return header


def _distinct(items: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(items)
    if len(found) < len(items):
        raise CertificateError("a key of the header stands twice", 2)
    return found


def _short_integer(text: str) -> int:
    if len(text.removeprefix("-")) > MOST_DIGITS:
        raise CertificateError(f"a number of the header has more than {MOST_DIGITS} digits", 2)
    return int(text)


def _no_constant(text: str) -> object:
    raise CertificateError(f"{text} is not a number", 2)
