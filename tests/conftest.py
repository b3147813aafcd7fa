"""Fixtures that several rooms use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

_REPOSITORY = Path(__file__).resolve().parent.parent

# The same examples in every run; `--hypothesis-profile roaming` looks elsewhere each time.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("roaming", deadline=None)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with instances that others publish, which are not part of this repository."""
    named = os.environ.get("JETTISON_SHARED_DATA")
    folder = Path(named) if named else _REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no published instances in {folder}; set JETTISON_SHARED_DATA to their folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """Let Ctrl-C raise, also where the tests were started in the background and it is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
