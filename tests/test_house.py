"""The shape of the house: what may import what, and what a light import loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import jettison

ROOT = Path(__file__).parent.parent
FLOORS = ("certificates", "instances", "schedules", "formulations", "solvers", "studies", "cli")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("jettison.")}
    return found


@pytest.mark.parametrize("room", FLOORS)
def test_a_room_imports_only_from_itself_and_the_rooms_below(room: str) -> None:
    allowed = set(FLOORS[: FLOORS.index(room) + 1])
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        assert imported_rooms(path) <= allowed, path


def test_the_package_seen_by_type_checkers_is_the_installed_one() -> None:
    template = (ROOT / "jettison.py.in").read_text(encoding="utf-8")
    assert (ROOT / ".typing/jettison/__init__.py").read_text(encoding="utf-8") == template
    for room in FLOORS:
        assert (ROOT / ".typing/jettison" / room).resolve() == ROOT / room


def test_the_executors_build_on_the_solvers_and_nothing_builds_on_them() -> None:
    files = sorted((ROOT / "executors").rglob("*.py"))
    assert files
    for path in files:
        assert imported_rooms(path) <= {*FLOORS[: FLOORS.index("solvers") + 1], "torch"}, path
    assert (ROOT / ".typing/jettison/torch").resolve() == ROOT / "executors/torch"
    # A folder of this name at the top would hide PyTorch itself.
    assert not (ROOT / "torch").exists()


def test_the_sanitizers_see_the_test_of_every_module_that_calls_a_kernel() -> None:
    listed = (ROOT / "Makefile").read_text(encoding="utf-8").split("sanitize:")[1]
    users = [
        path.stem
        for path in sorted((ROOT / "solvers").glob("*.py"))
        if "_kernels import" in path.read_text(encoding="utf-8")
        or "import _kernels" in path.read_text(encoding="utf-8")
    ]
    assert len(users) > 10
    for name in users:
        test = ROOT / "tests" / "solvers" / f"test_{name}.py"
        assert not test.exists() or f"tests/solvers/{test.name}" in listed, test.name


def test_every_public_name_can_be_imported() -> None:
    for name in jettison.__all__:
        assert getattr(jettison, name) is not None


def test_importing_jettison_and_listing_methods_loads_nothing_heavy() -> None:
    code = (
        "import sys, jettison, jettison.solvers.core.registry\n"
        "jettison.RematChain, jettison.load\n"
        "heavy = {'pulp', 'pyomo', 'highspy', 'matplotlib', 'torch', 'pandas', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
