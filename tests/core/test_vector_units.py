"""The kernels answer the same on every vector unit, and as built by other compilers."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jettison import RematGraph
from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.solvers import _kernels
from jettison.solvers.remat_graph.annealing.method import annealing_of
from tests.each import each

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "solvers" / "_native"
DRIVER = Path(__file__).parent / "vector_units" / "programs.cpp"
SOURCES = (
    "core/vector_unit.cpp",
    "remat_chain/grid/cell.cpp",
    "remat_chain/grid/groups.cpp",
    "remat_chain/persistent_program.cpp",
    "remat_chain/relax_rows.cpp",
)
# Each with the command that runs what it builds, as far as this machine has them.
COMPILERS = {
    "g++": (["g++"], []),
    "clang++": (["clang++"], []),
    "ARM g++": (["aarch64-linux-gnu-g++", "-static"], ["qemu-aarch64"]),
    "ARM clang++": (["clang++", "--target=aarch64-linux-gnu", "-static"], ["qemu-aarch64"]),
}


def random_program(seed: int, *, longest_ns: int = 100) -> dict[str, Any]:
    """Return arguments of `persistent_program`, most of them with a schedule."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 50))
    sizes = generator.integers(0, 4, count).astype(np.int32)
    needs = sizes[:, None] + sizes[None, :]
    return {
        "forward_ns": generator.integers(0, longest_ns, count),
        "backward_ns": generator.integers(0, longest_ns, count),
        "input_slots": sizes,
        "saved_slots": (sizes + generator.integers(0, 6, count)).astype(np.int32),
        "forward_all_need": (needs + generator.integers(0, 9, count)[:, None]).astype(np.int32),
        "forward_none_need": np.ascontiguousarray(needs[::-1]),
        "budgets": [int(generator.integers(20, 100))],
    }


@pytest.fixture
def each_unit() -> Iterator[Callable[[Callable[[], Any]], list[Any]]]:
    """Return a function that calls another one on each unit, and returns what it found."""
    before = _kernels.vector_unit()

    def called(function: Callable[[], Any]) -> list[Any]:
        found = []
        for unit in _kernels.vector_units():
            _kernels.choose_vector_unit(unit)
            assert _kernels.vector_unit() == unit
            found.append(function())
        return found

    yield called
    _kernels.choose_vector_unit(before)


def test_a_wide_unit_is_chosen_and_the_narrowest_is_always_there() -> None:
    units = _kernels.vector_units()
    assert units[0] == "baseline"
    assert _kernels.vector_unit() in (units[-1], "avx2")


def test_a_unit_that_the_machine_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="no vector unit abacus"):
        _kernels.choose_vector_unit("abacus")


# Times beyond 30 bits need the wider table.
@each(longest_ns=(100, 10**9))
def test_programs_have_the_same_times_and_schedules(
    longest_ns: int, each_unit: Callable[[Callable[[], Any]], list[Any]]
) -> None:
    feasible = 0
    for seed in range(60):
        program = random_program(seed, longest_ns=longest_ns)
        found = each_unit(lambda: _kernels.persistent_program(**program))  # noqa: B023
        assert all(answer == found[0] for answer in found), seed
        feasible += found[0] != [None]
    assert feasible > 30


def test_exact_searches_find_the_same(
    each_unit: Callable[[Callable[[], Any]], list[Any]],
) -> None:
    def searched(seed: int) -> tuple[int, int, list[tuple[int, int]]]:
        arguments = random_program(seed)
        (budget,) = arguments.pop("budgets")
        times = (arguments.pop("forward_ns"), arguments.pop("backward_ns"))
        sizes = (value.astype(np.int64) for value in arguments.values())
        search = _kernels.PersistentSearch(*times, *sizes, budget, 10**6, 16, 2**20, 2**28)
        while not search.is_complete:
            search.refine()
        return search.time_ns, search.states, search.sequence

    for seed in range(40):
        found = each_unit(lambda: searched(seed))  # noqa: B023
        assert all(answer == found[0] for answer in found), seed


def test_annealing_of_graphs_goes_the_same_way(
    each_unit: Callable[[Callable[[], Any]], list[Any]],
) -> None:
    problem = RematGraph(LayeredGraphs(nodes=80).draw(1), "60%")

    def annealed() -> tuple[int | None, list[int]]:
        search = annealing_of(problem, seed=1, floor_ns=0)
        search.run(30_000)
        return search.time_ns, search.computations

    found = each_unit(annealed)
    assert found[0][0] is not None
    assert all(answer == found[0] for answer in found)


def programs_as_text(programs: list[dict[str, Any]]) -> str:
    lines = [str(len(programs))]
    for program in programs:
        *arrays, budgets = program.values()
        lines.append(f"{len(arrays[0])} {budgets[0]}")
        lines.extend(" ".join(map(str, array.ravel().tolist())) for array in arrays)
    return "\n".join(lines)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_other_compilers_and_processors_give_the_same_answers(
    compiler: str, tmp_path: Path
) -> None:
    command, runner = COMPILERS[compiler]
    for tool in (command[0], *runner):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if "--target=aarch64-linux-gnu" in command and shutil.which("aarch64-linux-gnu-g++") is None:
        pytest.skip("the libraries of 64-bit ARM are not installed")
    binary = tmp_path / "programs"
    sources = [str(DRIVER), *(str(NATIVE / source) for source in SOURCES)]
    options = ["-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{NATIVE}"]
    subprocess.run([*command, *options, *sources, "-o", str(binary)], check=True)
    generator = random.Random(1)
    programs = [
        random_program(seed, longest_ns=generator.choice((100, 10**9))) for seed in range(30)
    ]
    told = subprocess.run(
        [*runner, str(binary)],
        input=programs_as_text(programs),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    answers: dict[int, set[tuple[str, str]]] = {}
    units = set()
    for line in told.splitlines():
        number, unit, time_ns, relaxed = line.split()
        answers.setdefault(int(number), set()).add((time_ns, relaxed))
        units.add(unit)
    assert units == {"baseline"} if runner else units == set(_kernels.vector_units())
    for number, program in enumerate(programs):
        found = _kernels.persistent_program(**program)[0]
        ((time_ns, _),) = answers[number]
        assert int(time_ns) == (-1 if found is None else found[0]), number
