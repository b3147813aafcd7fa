"""The second checker, as tests call it: one process for many files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "certificates/second_checker/check.js"
_OLDEST_NODE = 18


@cache
def _node() -> str | None:
    """Return the command of a Node that is new enough, or None."""
    node = shutil.which("node")
    if node is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)", said)
    return node if version and int(version[1]) >= _OLDEST_NODE else None


def needs_node() -> str:
    """Return the command of Node, or skip the test."""
    node = _node()
    if node is None:
        pytest.skip(f"the second checker needs Node {_OLDEST_NODE} or later")
    return node


def verdicts(paths: Sequence[Path], script: Path = SCRIPT) -> list[str]:
    """Return what the second checker says of each file: proved, refused or not known."""
    done = subprocess.run(
        [needs_node(), str(script), *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths), done.stdout
    found = [
        line.removeprefix(f"{path}: ").split(":")[0]
        for path, line in zip(paths, lines, strict=True)
    ]
    assert set(found) <= {"proved", "refused", "not known"}
    expected = 2 if "refused" in found else 3 if "not known" in found else 0
    assert done.returncode == expected
    return found
