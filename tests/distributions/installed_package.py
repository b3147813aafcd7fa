"""Try the jettison that is installed: its command, a solve, and the quick tests.

Run it with the Python of the environment, in a folder that has ``tests`` and ``pyproject.toml`` and
no sources beside them: ``python tests/distributions/installed_package.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import jettison

QUICK = (
    "tests/instances",
    "tests/schedules",
    "tests/milp/test_array_model.py",
    "tests/remat_chain/test_cut.py",
    "tests/core/test_conformance.py",
    "tests/milp/test_highs.py",
    "tests/core/test_kernels.py",
    "tests/remat_chain/test_rotor_exact.py",
    "tests/cli/test_command_line.py",
)


def main() -> int:
    """Return the exit status: 0 if everything works."""
    place = Path(jettison.__file__).resolve().parent
    if "site-packages" not in place.parts:
        sys.stderr.write(f"jettison is not installed here, but in {place}\n")
        return 2
    printed(["--help"])
    problem = ["solve", "remat-chain", "resnet50-b4-224-cpu", "--memory", "50%", "--json"]
    answer = json.loads(printed(problem))
    # The optimum that all tests of this instance know, by exact arithmetic.
    if (answer["status"], answer["time_ns"]) != ("optimal-persistent", 1_399_285_593):
        sys.stderr.write(f"a wrong answer: {answer}\n")
        return 1
    return int(pytest.main(["-q", *QUICK]))


def printed(arguments: list[str]) -> str:
    """Return what the installed command prints."""
    command = Path(sys.executable).parent / "jettison"
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
