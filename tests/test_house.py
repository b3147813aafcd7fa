"""The shape of the house: what may import what, and what a light import loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import jettison

ROOT = Path(__file__).parent.parent
# What serves every problem, and the columns with the ones that they build on: a chain can be
# offloaded and written as a graph, a graph can be offloaded as well, a sharded graph is a graph
# once its strategies are chosen, and 3-PARTITION is posed as weights to offload.
SHARED = ("core", "milp", "proof")
ARROWS: dict[str, tuple[str, ...]] = {
    "core": (),
    "milp": (),
    "proof": (),
    "remat_chain": (),
    "remat_offload": ("remat_chain",),
    "weight_offload": ("remat_chain",),
    "training_chain": ("remat_chain", "remat_offload", "weight_offload"),
    "remat_graph": ("remat_chain",),
    "remat_offload_graph": ("remat_chain", "remat_graph"),
    "remat_arena": ("remat_graph",),
    "sharding": (),
    "remat_sharding": ("remat_graph",),
    "multi_model": ("remat_graph",),
    "pipeline_chain": ("remat_chain",),
    "three_partition": ("remat_chain", "weight_offload"),
}
# A folder fits a screen.
MOST_ENTRIES = 25
FLOORS = ("certificates", "instances", "schedules", "formulations", "solvers", "studies", "cli")
# Rooms whose docstrings begin with a noun or a verb, never with a question that one has to decode.
ROOMS = (
    *FLOORS,
    "executors",
    "columns",
    "notebooks",
    "tests",
    "docs",
    "examples",
    "tools",
    "benchmarks",
)
LONGEST_LINE = 100
QUESTIONS = {"How", "That", "What", "When", "Where", "Which", "Who", "Whom", "Whose", "Why"}


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
        own = path.relative_to(ROOT / "executors").parts[0]
        assert imported_rooms(path) <= {*FLOORS[: FLOORS.index("solvers") + 1], own}, path
    for own in ("jax", "torch"):
        assert (ROOT / ".typing/jettison" / own).resolve() == ROOT / "executors" / own
        # A folder of this name at the top would hide the library itself.
        assert not (ROOT / own).exists()


def test_the_sanitizers_see_the_test_of_every_module_that_calls_a_kernel() -> None:
    listed = (ROOT / "Makefile").read_text(encoding="utf-8").split("sanitize:")[1]
    users = [
        path.relative_to(ROOT / "solvers")
        for path in sorted((ROOT / "solvers").rglob("*.py"))
        if "_kernels import" in path.read_text(encoding="utf-8")
        or "import _kernels" in path.read_text(encoding="utf-8")
    ]
    assert len(users) > 10
    for user in users:
        for test in (ROOT / "tests" / user.parts[0]).rglob(f"test_{user.stem}.py"):
            assert str(test.relative_to(ROOT)) in listed


def columns_imported(path: Path) -> set[str]:
    """Return the columns that a file imports from, on whatever floor."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            found |= {parts[2]} if len(parts) > 2 and parts[1] in FLOORS else set()
    return found & ARROWS.keys()


@pytest.mark.parametrize("column", sorted(ARROWS.keys()))
def test_a_column_imports_another_only_along_an_arrow(column: str) -> None:
    files = [path for floor in FLOORS for path in (ROOT / floor / column).rglob("*.py")]
    assert files
    for path in files:
        assert columns_imported(path) <= {column, *SHARED, *ARROWS[column]}, path


def test_no_folder_of_the_package_shows_more_than_a_screen() -> None:
    for floor in (*FLOORS, "executors"):
        for folder in [ROOT / floor, *(ROOT / floor).rglob("*/")]:
            if "data" in folder.parts or "__pycache__" in folder.parts:
                continue
            shown = [item for item in folder.iterdir() if item.name != "__pycache__"]
            assert len(shown) <= MOST_ENTRIES, folder


def test_no_module_repeats_the_name_of_its_folder() -> None:
    for floor in FLOORS:
        for path in (ROOT / floor).rglob("*.py"):
            assert path.stem != path.parent.name, path


@pytest.mark.parametrize("room", ROOMS)
def test_a_docstring_begins_with_the_thing_and_not_with_a_question(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                words = (ast.get_docstring(node) or "").split()
                assert not words or words[0] not in QUESTIONS, f"{path}: {' '.join(words[:12])}"


def test_no_line_of_the_kernels_is_longer_than_a_line_of_python_may_be() -> None:
    files = [path for end in ("cpp", "hpp") for path in (ROOT / "solvers").rglob(f"*.{end}")]
    assert files
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert len(line) <= LONGEST_LINE, f"{path}:{number}"


# Parts that many columns have: the same word for the same part.
PARTS = {
    "baselines", "bound_method", "certificate", "certifier", "columns", "command", "cut",
    "divisions", "errors", "grid", "incumbent", "instance", "kind", "least_memory", "least_peak",
    "local_search", "memory_floor", "method", "methods", "milestones", "model_files",
    "model_runs", "params", "presolved", "problem", "reductions", "registry", "revolve", "rows",
    "schedule", "search", "unit",
}  # fmt: skip


def test_the_name_of_a_module_means_one_thing() -> None:
    found: dict[str, set[str]] = {}
    for floor in FLOORS:
        for path in (ROOT / floor).rglob("*.py"):
            parts = path.relative_to(ROOT).parts
            found.setdefault(path.stem, set()).add(parts[1] if parts[1] in ARROWS else floor)
    twice = {name for name, columns in found.items() if len(columns) > 1}
    assert twice - PARTS - {"__init__"} == set()


def test_every_public_name_can_be_imported() -> None:
    for name in jettison.__all__:
        assert getattr(jettison, name) is not None
    modules = sorted((ROOT / "columns").glob("*.py"))
    assert {path.stem for path in modules} <= set(jettison.__all__)
    for path in modules:
        module = getattr(jettison, path.stem)
        assert all(getattr(module, name) is not None for name in module.__all__)
        assert (ROOT / ".typing/jettison" / path.name).resolve() == path


def test_importing_jettison_and_every_kind_of_problem_loads_nothing_heavy() -> None:
    code = (
        "import sys, jettison, jettison.solvers.core.registry as registry\n"
        "assert len(list(registry.PROBLEM_KINDS)) > 6\n"
        "jettison.RematChain, jettison.load\n"
        "heavy = {'pulp', 'pyomo', 'highspy', 'matplotlib', 'torch', 'pandas', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_tests_of_torch_are_collected_and_skipped_where_torch_is_not_installed() -> None:
    code = (
        "import sys, pytest\n"
        "sys.modules['torch'] = None\n"
        "sys.exit(pytest.main(['--collect-only', '-q', 'tests/torch', 'tests/jax']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), done.stdout
