"""The limit on the tables of POFO's program: labels that wait, and curves that are being made."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jettison import RematOffloadChain
from jettison.remat_offload import Transfers
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload.pofo.program import PofoProgram, Rounding
from tests.drawing.chains import random_chain

MIB = 2**20
# Labels are expanded stage by stage, and each adds some to all stages after it: on a coarse grid,
# whose bound drops few, nearly all of the memory is that of labels that wait.
CHAIN = random_chain(random.Random(5), 100, largest_output_bytes=10**6)
MEMORY_BYTES = CHAIN.store_all_peak_bytes // 2


def _program(most_bytes: int) -> PofoProgram:
    program = PofoProgram(CHAIN, MEMORY_BYTES, 10**6, most_bytes=most_bytes)
    program.refine(MEMORY_BYTES // 8, clock=Clock(None))
    return program


def test_labels_that_wait_count_for_the_limit_on_memory() -> None:
    # Its tables alone take less.
    program = _program(32 * MIB)
    with pytest.raises(MemoryError):
        program.search(Rounding.DOWN, 4000, clock=Clock(None))
    # What it had taken is given back, and fewer labels fit.
    found = program.search(Rounding.DOWN, 16, clock=Clock(None))
    assert found.floor_ns is not None


PEAK = """
from pathlib import Path

from tests.remat_offload.test_pofo_memory import MIB, Clock, Rounding, _program


def peak_kib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


program = _program(48 * MIB)
before = peak_kib()
try:
    program.search(Rounding.DOWN, 4000, clock=Clock(None))
except MemoryError:
    print("grown by", peak_kib() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_search_takes_no_more_of_the_machine_than_its_limit() -> None:
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", PEAK], cwd=root, capture_output=True, text=True, check=True
    )
    grown = re.search(r"grown by (\d+)", run.stdout)
    assert grown is not None, run.stdout
    # The heap is rounded to pages, and Python grows a little too: 164 KiB over have been seen.
    assert int(grown[1]) * 1024 <= 49 * MIB


@pytest.mark.parametrize("transfers", Transfers)
def test_where_the_tables_do_not_fit_the_baselines_are_the_answer(transfers: Transfers) -> None:
    chain = random_chain(random.Random(3), 35, largest_output_bytes=10**6)
    problem = RematOffloadChain(chain, "50%", 10**9, transfers)
    options = SolveOptions(time_limit_s=60)
    found = solve_with(problem, "pofo", options, {"most_table_bytes": 1000, "idle_changes": 1})
    rotor = solve_with(problem, "rotor", options)
    assert rotor.time_ns is not None
    assert found.time_ns is not None
    assert found.time_ns <= rotor.time_ns
    assert found.termination is Termination.MEMORY_LIMIT
