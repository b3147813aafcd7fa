"""The checker needs Python and nothing else, wherever it is run from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.certificates.test_persistent_bellman import THREE, header
from tests.certificates.written_certificate import written

ROOT = Path(__file__).parents[2]
PROVED = "proved: no persistent schedule takes less than 15 ns, of remat-chain c"

# Refuses to import what a test does not allow.
BLOCKED = """
import sys
class Refusal:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package = name.partition(".")[0]
        if {refused}:
            raise ImportError(name + " is not allowed")
sys.meta_path.insert(0, Refusal)
"""
ALL_BUT_PYTHON = "package not in {*sys.stdlib_module_names, 'jettison', 'lazy_loader'}"
WHAT_SOLVES = (
    "package in {'highspy', 'jsonschema', 'matplotlib', 'numpy', 'pandas', 'pulp', 'pyomo', "
    "'scipy', 'torch', 'jax', 'networkx'} or name.startswith('jettison.solvers.proof')"
)
RUN = "import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
COMMAND = "from jettison.cli.main import main; main(sys.argv[1:])"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return written(tmp_path / "certificate", header(THREE, 30, 15), [])


def child(code: str, refused: str, *arguments: object, folder: Path) -> str:
    full = BLOCKED.replace("{refused}", refused) + code
    done = subprocess.run(
        [sys.executable, "-c", full, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_folder_alone_is_a_checker(tmp_path: Path, certificate: Path) -> None:
    shutil.copytree(
        ROOT / "certificates", tmp_path / "certificates", ignore=lambda *_: ["__pycache__"]
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
         f"sys.argv = ['c', {str(certificate)!r}]; {RUN.format(module='certificates')}"],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert PROVED in done.stdout


def test_the_installed_module_needs_only_the_standard_library(
    tmp_path: Path, certificate: Path
) -> None:
    code = RUN.format(module="jettison.certificates")
    assert PROVED in child(code, ALL_BUT_PYTHON, certificate, folder=tmp_path)


def test_jettison_verify_loads_no_solver_and_no_numpy(tmp_path: Path, certificate: Path) -> None:
    assert PROVED in child(COMMAND, WHAT_SOLVES, "verify", certificate, folder=tmp_path)


def test_the_module_fails_where_a_file_does(tmp_path: Path, certificate: Path) -> None:
    certificate.write_text(certificate.read_text().replace('"time_ns": 15', '"time_ns": 16'))
    done = subprocess.run(
        [sys.executable, "-m", "jettison.certificates", str(certificate), str(tmp_path / "none")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 2
