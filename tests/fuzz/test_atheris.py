"""A moment of atheris for each kind of file, where it is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="needs atheris: pip install atheris"
)


@pytest.mark.parametrize(
    "name", ["chain.json", "graph.schedule.json", "certificate.txt", "residual.graph.txt"]
)
def test_atheris_finds_nothing_in_a_moment(name: str, tmp_path: Path) -> None:
    program = str(ROOT / "tests" / "fuzz" / "atheris_readers.py")
    runs = os.environ.get("JETTISON_FUZZ_EXAMPLES", "300")
    done = subprocess.run(
        [sys.executable, program, name, f"-runs={runs}", "-seed=1", "-timeout=30"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {runs} runs" in done.stderr
