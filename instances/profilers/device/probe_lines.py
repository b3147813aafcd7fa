"""Filter that keeps the PyTorch profiler's lines about its own probes off standard error."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_MARK = b"USDT:"


@contextmanager
def without_probe_lines() -> Iterator[None]:
    """Buffer standard error while the block runs; then pass on all but the lines on probes.

    They come from native code, two for each use of the profiler, and no log level silences them.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            held.seek(0)
            for line in held:
                if not line.startswith(_MARK):
                    os.write(kept, line)
            os.close(kept)
