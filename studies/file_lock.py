"""File locks between processes, which the system releases when their owner ends.

A lock is ``flock`` on a file. It belongs to the open file, so that it goes with the process that
holds it, whatever ends it, and two threads of one process exclude each other as well.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from jettison.instances.core.errors import InputError


@contextmanager
def claimed_file(path: Path) -> Iterator[bool]:
    """Claim a file while the block runs, and remove it afterwards; yields whether that worked.

    Raises
    ------
    InputError
        If the file system has no locks.
    FileNotFoundError
        If the folder is not there.
    """
    stream = _locked(path)
    if stream is None:
        yield False
        return
    with stream:
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)


def _locked(path: Path) -> IO[bytes] | None:
    while True:
        stream = path.open("ab")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            return None
        except OSError as error:
            stream.close()
            raise InputError(
                f"cannot lock a file: {error.strerror or error}",
                source=str(path),
                expected="use a folder on a file system with locks",
            ) from None
        # Its last owner may have removed the file between our opening and our locking it.
        if _is_at(stream, path):
            return stream
        stream.close()


def _is_at(stream: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False
