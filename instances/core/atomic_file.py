"""Atomic file writing: a file appears complete or not at all, even after a power failure.

What was written lies in the memory of the system until it is asked to put it on the disk, and the
name of a file is part of its folder. A file is therefore put on the disk before it gets its name,
and its folder after that: a file that was reported as written is there, whole, whatever happens
next, and its name never leads to a part of it.

Renaming puts the file in the place of whatever has its name. Where that is a device, such as
``/dev/null`` for somebody who may write everywhere, it would be lost, so anything but a file is
refused. A symbolic link stays, and what it leads to is replaced.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from jettison.instances.core.errors import InputError


def check_replaceable(path: Path) -> None:
    """Refuse a path that no file can be written to, before the work that would fill it.

    Raises
    ------
    InputError
        If the folder does not exist, or something stands there that is no file.
    """
    if not path.parent.is_dir():
        raise InputError(
            "the folder does not exist", source=str(path), expected="create it, or choose another"
        )
    _check_no_other_thing(path)


def _check_no_other_thing(path: Path) -> None:
    if path.exists() and not path.is_file():
        there = "a folder" if path.is_dir() else "a device or a pipe"
        raise InputError(
            f"cannot write the file: {there} has this name",
            source=str(path),
            expected="give the name of a file",
        )


def put_on_disk(folder: Path) -> None:
    """Flush a folder to the disk, so that the names of its files survive a power failure."""
    if os.name != "posix":
        # Elsewhere folders cannot be opened, and names are written with their files.
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`, to be renamed to it when the block ends well.

    If the block raises, nothing is left, and a file that was there stays as it was.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written, or something stands there that is no
        file.
    """
    _check_no_other_thing(path)
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as stream:
            temporary = Path(stream.name)
            yield stream
            # A temporary file is private to its owner; the result gets the usual permissions.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
        put_on_disk(target.parent)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise InputError(
            f"cannot write the file: {reason}", source=str(path), expected="check the folder"
        ) from None
    finally:
        # After the renaming nothing of this name is left.
        if temporary is not None:
            temporary.unlink(missing_ok=True)
