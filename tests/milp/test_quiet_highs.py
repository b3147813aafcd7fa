"""HiGHS says nothing that would stand in the output of a command."""

from __future__ import annotations

import subprocess
import sys

FIRST_IN_A_PROCESS = """
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_known_answer import known_answer_model
print("before", end=" ")
print(solve_model(known_answer_model()).answer.value)
"""
WITHOUT_AN_OUTPUT = """
import os
os.close(1)
from jettison.formulations.milp.quiet_highs import quiet_highs
quiet_highs()
"""


def test_the_first_model_of_a_process_prints_nothing() -> None:
    # HiGHS 1.16.0 prints its name and licence there, whatever its options are.
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_IN_A_PROCESS], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "before optimal\n"
    assert ran.stderr == ""


def test_a_closed_standard_output_is_left_closed() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_AN_OUTPUT], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
