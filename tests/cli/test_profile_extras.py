"""`jettison profile` where a library is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.mark.parametrize(
    ("package", "extra", "name"), [("jax", "jax", "JAX"), ("torch", "torch", "PyTorch")]
)
def test_a_module_that_needs_what_is_missing_gets_the_install_command(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    extra: str,
    name: str,
) -> None:
    (tmp_path / "own_step.py").write_text(f"import {package}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # None in this place makes the import fail as if the package were not installed.
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "own_step", raising=False)
    code, _, err = Terminal(tmp_path, capsys).run("profile", "own_step:step", "--kind", "graph")
    assert code == 2
    assert f"needs {name}, which is not installed" in err
    assert f"pip install 'jettison[{extra}]'" in err
