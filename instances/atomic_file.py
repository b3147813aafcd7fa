"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from jettison.instances.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`, to be renamed to it when the block ends well.

    If the block raises, nothing is left, and a file that was there stays as it was.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as stream:
            temporary = Path(stream.name)
            yield stream
        # A temporary file is private to its owner; the result gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise InputError(
            f"cannot write the file: {reason}", source=str(path), expected="check the folder"
        ) from None
    finally:
        # After the renaming nothing of this name is left.
        if temporary is not None:
            temporary.unlink(missing_ok=True)
