"""Files compressed by gzip: read with a limit, written the same in every run."""

from __future__ import annotations

import gzip
import io
import zlib

from jettison.instances.core.errors import InputError

_MAGIC = b"\x1f\x8b"
_LEVEL = 9


def unpacked(data: bytes, largest_bytes: int, source: str) -> bytes:
    """Return the contents of a file that may be compressed; others stay as they are.

    Parameters
    ----------
    data
        The bytes of the file.
    largest_bytes
        The most that is unpacked, however small the file is.
    source
        Source of the bytes, for messages.

    Raises
    ------
    InputError
        If the file is damaged or cut short, or unpacks to more.
    """
    if not data.startswith(_MAGIC):
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        contents = unpacker.decompress(data, largest_bytes + 1)
    except zlib.error:
        raise _broken(source) from None
    if len(contents) > largest_bytes:
        raise InputError(
            f"it unpacks to more than {largest_bytes} bytes",
            source=source,
            expected=f"files of up to {largest_bytes} bytes are read",
        )
    if not unpacker.eof:
        raise _broken(source)
    return contents


def packed(data: bytes) -> bytes:
    """Return a compressed file without date and name: equal data give equal bytes."""
    # Other than `gzip.compress`, this writes the same header with every version of Python.
    stream = io.BytesIO()
    with gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0) as packer:
        packer.write(data)
    return stream.getvalue()


def _broken(source: str) -> InputError:
    return InputError(
        "the gzip data is damaged or cut short",
        source=source,
        expected="check that the file is complete",
    )
