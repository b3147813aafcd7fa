"""Fixtures that several rooms use."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.each import Tier
from tests.tiers import WITH_OTHER_EXTRAS, SlowTests, quick_tests

if TYPE_CHECKING:
    from tests.cli.terminal import CommandLine, Terminal

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


@pytest.fixture
def typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in this process."""
    from tests.cli.terminal import CommandLine

    return CommandLine(capsys, tmp_path)


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """The command line in this process, with samples in its folder."""
    from tests.cli.terminal import Terminal

    return Terminal(tmp_path, capsys)


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """Let Ctrl-C raise, also where the tests were started in the background and it is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="one case of every test that is quick")
    parser.addoption("--note-slow", action="store_true", help="write tests/slow_tests.txt anew")


def pytest_configure(config: pytest.Config) -> None:
    Tier.first_only = config.getoption("--quick")
    # Of several processes the one that starts the others hears of every test.
    if config.getoption("--note-slow") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SlowTests())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--quick") and collection_path.name in WITH_OTHER_EXTRAS:
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        chosen = quick_tests(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
    # The longest tests come first, so that no process works alone in the end.
    items.sort(key=lambda item: item.path.parent.name != "notebooks")
