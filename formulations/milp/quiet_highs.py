"""HiGHS without its announcement, which would stand in the output of a command.

HiGHS 1.16.0 writes its name and licence to standard output when the first instance of a process is
made, before any option can forbid it. What `jettison solve --json` prints must be JSON, so the
first instance is made while the standard output of the process, its file descriptor, leads nowhere.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import lazy_loader as lazy

highspy = lazy.load("highspy")

_STANDARD_OUTPUT = 1
_LOCK = Lock()


def quiet_highs() -> Any:
    """Return a new instance of HiGHS, whose log does not go to the console."""
    with _LOCK:
        _let_it_announce_itself()
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    return highs


@cache
def _let_it_announce_itself() -> None:
    """Make and discard the first instance of this process, unheard."""
    make = highspy.Highs  # The library is loaded before the silence: its warnings are heard.
    with _silence():
        make()


@contextmanager
def _silence() -> Iterator[None]:
    try:
        kept = os.dup(_STANDARD_OUTPUT)
    except OSError:
        # It is closed, and nothing can be written to it.
        yield
        return
    # What C libraries have buffered belongs to the time before, and what they buffer now does not
    # belong to the time after.
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, _STANDARD_OUTPUT)
        yield
        libc.fflush(None)
    finally:
        os.dup2(kept, _STANDARD_OUTPUT)
        os.close(kept)
        os.close(nowhere)
