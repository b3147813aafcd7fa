"""Record of the solvers that ran for a result, with their versions.

A number that a solver's tolerance or a solver's fault could have changed is only worth something
beside the version that computed it. Every run of a solver notes itself here, and every result shows
what was noted while its method ran.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

_open: list[dict[str, str]] = []
_lock = threading.Lock()


@contextmanager
def solver_versions() -> Iterator[dict[str, str]]:
    """Collect the solvers that run inside the block, by package, with their versions.

    Methods start solvers in threads of their own, so that a block collects what runs anywhere in
    the process while it is open: of two methods that run at once, each may name a solver of the
    other.
    """
    collected: dict[str, str] = {}
    with _lock:
        _open.append(collected)
    try:
        yield collected
    finally:
        with _lock:
            # By identity: two blocks that collected the same are equal.
            _open[:] = [item for item in _open if item is not collected]


def note_solver(package: str) -> None:
    """Record that the solver of an installed package runs, here or in a child process."""
    with _lock:
        for collected in _open:
            collected[package] = metadata.version(package)
