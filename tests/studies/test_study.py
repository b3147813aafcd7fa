"""Study files: what every field means, and what a bad one is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison import InputError, save
from jettison.remat_offload import Transfers
from jettison.solvers.core.registry import methods_of
from jettison.studies.study import Cell, Study
from tests.studies.tiny_study import small_chain, write_study

GRID = """
[[grid]]
problem = "remat-chain"
instances = "resnet18-b4-224-cpu"
memory = "50%"
methods = "rotor"
"""


def read(folder: Path, text: str) -> Study:
    path = folder / "mine.toml"
    path.write_text(text)
    return Study.from_toml(path)


def cells(folder: Path, text: str) -> tuple[Cell, ...]:
    return read(folder, text).cells


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    study = read(tmp_path, GRID)
    assert (study.name, study.wall_limit_s, study.memory_limit_bytes) == ("mine", 600.0, None)
    (cell,) = study.cells
    named = (cell.problem, cell.instance, cell.method)
    assert named == ("remat-chain", "resnet18-b4-224-cpu", "rotor")
    given = cell.resources
    assert (given.memory, given.alpha, given.bandwidth) == ("50%", None, None)
    options = cell.options
    assert (options.time_limit_s, options.gap, options.threads, options.seed) == (60.0, 0.0, 1, 0)


def test_limits_and_name_are_those_of_the_file(tmp_path: Path) -> None:
    study = read(tmp_path, 'name = "other"\nwall_limit_s = 3\nmemory_limit = "2GiB"\n' + GRID)
    assert (study.name, study.wall_limit_s, study.memory_limit_bytes) == ("other", 3.0, 2 * 2**30)


def test_a_grid_is_the_product_of_its_lists(tmp_path: Path) -> None:
    found = cells(
        tmp_path,
        """
        [[grid]]
        problem = ["remat-offload-chain"]
        instances = ["resnet18-b4-224-cpu", "vgg16-b2-224-cpu"]
        memory = ["1GiB", "50%", "alpha=0.5"]
        bandwidth = ["1GB/s", "12GB/s"]
        transfers = ["at-once", "fluid"]
        methods = ["pofo", "autocapper"]
        time_limit_s = [1, 2.5]
        gap = [0.0, 0.01]
        threads = [1, 2]
        seeds = [0, 1, 2]
        """,
    )
    # 2 instances, 3 memories, 2 links, 2 ways, 2 methods, 2 limits, 2 gaps, 2 threads, 3 seeds.
    assert len(found) == len(set(found)) == 2 * 3 * 2 * 2 * 2 * 2 * 2 * 2 * 3
    assert {cell.resources.transfers for cell in found} == {Transfers.AT_ONCE, Transfers.FLUID}
    assert {cell.options.time_limit_s for cell in found} == {1.0, 2.5}
    assert {cell.options.seed for cell in found} == {0, 1, 2}


def test_alpha_and_models_are_axes(tmp_path: Path) -> None:
    found = cells(tmp_path, GRID.replace('memory = "50%"', "alpha = [0, 0.25, 1e-7]"))
    # As they are read elsewhere: without exponents.
    assert [cell.resources.alpha for cell in found] == ["0.0", "0.25", "0.0000001"]
    text = '[[grid]]\nproblem = "multi-model"\ninstances = "dlrm-x8"\nmodels = [2, 4]\n'
    found = cells(tmp_path, text + 'memory = "40GiB"\nmethods = "hfta"')
    assert [cell.resources.models for cell in found] == [2, 4]


def test_a_range_of_shares_has_both_its_ends(tmp_path: Path) -> None:
    memory = 'memory = { from = "20%", to = "50%", step = "7.5%" }'
    found = cells(tmp_path, GRID.replace('memory = "50%"', memory))
    assert [cell.resources.memory for cell in found] == ["20%", "27.5%", "35%", "42.5%", "50%"]


def test_a_range_of_amounts_stops_at_the_last_that_it_reaches(tmp_path: Path) -> None:
    memory = 'memory = { from = "1KiB", to = "4KiB", step = "1500B" }'
    found = cells(tmp_path, GRID.replace('memory = "50%"', memory))
    # 1024, 2524, 4024; the next is beyond 4096.
    assert [cell.resources.memory for cell in found] == ["1024B", "2524B", "4024B"]


def test_without_methods_all_of_the_problem_are_run(tmp_path: Path) -> None:
    found = cells(tmp_path, GRID.replace('methods = "rotor"', ""))
    assert [cell.method for cell in found] == [item.name for item in methods_of("remat-chain")]


def test_what_two_grids_share_is_there_once(tmp_path: Path) -> None:
    assert len(cells(tmp_path, GRID + GRID)) == 1


def test_a_pattern_means_bundled_instances_or_else_files(tmp_path: Path) -> None:
    (tmp_path / "chains").mkdir()
    for name in ("a", "b"):
        save(small_chain(), tmp_path / "chains" / f"{name}.json")
    bundled = cells(tmp_path, GRID.replace("resnet18-b4-224-cpu", "resnet18-b*-cpu"))
    assert [cell.instance for cell in bundled] == ["resnet18-b4-224-cpu", "resnet18-b64-32-cpu"]
    files = cells(tmp_path, GRID.replace("resnet18-b4-224-cpu", "chains/*.json"))
    assert [Path(cell.instance).name for cell in files] == ["a.json", "b.json"]
    absolute = cells(tmp_path, GRID.replace("resnet18-b4-224-cpu", f"{tmp_path}/chains/?.json"))
    assert absolute == files
    (one,) = cells(tmp_path, GRID.replace("resnet18-b4-224-cpu", "chains/a.json"))
    assert Path(one.instance) == tmp_path / "chains" / "a.json"


def with_range(first: str, last: str, step: str) -> str:
    return GRID.replace('"50%"', f'{{from = "{first}", to = "{last}", step = "{step}"}}')


BAD = {
    "there is no grid": ("name = 'x'", "grid"),
    "a grid that is no table": ("grid = [1]", "grid[0]"),
    "a grid that is empty": ("[[grid]]", "grid[0].problem"),
    "an unknown field": ("nmae = 'x'\n" + GRID, "nmae"),
    "an unknown field of a grid": (GRID + "method = 'rotor'", "grid[0].method"),
    "a name that is a number": ("name = 3\n" + GRID, "name"),
    "two names": ("name = ['a', 'b']\n" + GRID, "name"),
    "a wall limit of nothing": ("wall_limit_s = 0\n" + GRID, "wall_limit_s"),
    "a wall limit without end": ("wall_limit_s = inf\n" + GRID, "wall_limit_s"),
    "a wall limit that is true": ("wall_limit_s = true\n" + GRID, "wall_limit_s"),
    "a memory limit without unit": ("memory_limit = '4'\n" + GRID, "memory_limit"),
    "two memory limits": ("memory_limit = ['1GiB', '2GiB']\n" + GRID, "memory_limit"),
    "a memory limit that is a number": ("memory_limit = 4\n" + GRID, "memory_limit"),
    "an unknown problem": (GRID.replace("remat-chain", "knapsack"), "grid[0].problem"),
    "no instance": (GRID.replace('instances = "resnet18-b4-224-cpu"', ""), "grid[0].instances"),
    "an empty list": (GRID.replace('"resnet18-b4-224-cpu"', "[]"), "grid[0].instances"),
    "a pattern of nothing": (GRID.replace("resnet18-b4", "nothing*"), "grid[0].instances"),
    "a pattern that is none": (GRID.replace("resnet18-b4-224-cpu", "**a"), "grid[0].instances"),
    "a null character": (GRID.replace("resnet18-b4-224-cpu", "a\\u0000"), "grid[0].instances"),
    "a memory without unit": (GRID.replace('"50%"', '"50"'), "grid[0].memory"),
    "a memory that is a number": (GRID.replace('"50%"', "50"), "grid[0].memory"),
    "a range without step": (GRID.replace('"50%"', '{from = "1%", to = "2%"}'), "grid[0].memory"),
    "a range of two kinds": (
        with_range("1%", "2GiB", "1%"),
        "grid[0].memory",
    ),
    "a range that descends": (
        with_range("9%", "2%", "1%"),
        "grid[0].memory",
    ),
    "a range that stands": (with_range("1%", "2%", "0%"), "grid[0].memory"),
    "a range of a million steps": (
        with_range("0B", "1MB", "1B"),
        "grid[0].memory",
    ),
    "a bad end of a range": (
        with_range("1%", "2", "1%"),
        "grid[0].memory.to",
    ),
    "memory and alpha": (GRID + "alpha = 0.5", "grid[0].alpha"),
    "an alpha above one": (GRID.replace('memory = "50%"', "alpha = 1.5"), "grid[0].alpha"),
    "an alpha that is no number": (GRID.replace('memory = "50%"', "alpha = nan"), "grid[0].alpha"),
    "a bandwidth of no unit": (GRID + "bandwidth = '12'", "grid[0].bandwidth"),
    "unknown transfers": (GRID + "transfers = 'slow'", "grid[0].transfers"),
    "models that are no number": (GRID + "models = 'two'", "grid[0].models"),
    "an unknown method": (GRID.replace("rotor", "magic"), "grid[0].methods"),
    "a time limit of nothing": (GRID + "time_limit_s = 0", "grid[0].time_limit_s"),
    "a time limit without end": (GRID + "time_limit_s = inf", "grid[0].time_limit_s"),
    "a gap of one": (GRID + "gap = 1", "grid[0].gap"),
    "no thread": (GRID + "threads = 0", "grid[0].threads"),
    "a negative seed": (GRID + "seeds = [0, -1]", "grid[0].seeds"),
    "a seed that is a text": (GRID + "seeds = 'a'", "grid[0].seeds"),
    "a number too long for a float": (GRID + f"gap = 1{'0' * 400}", "grid[0].gap"),
    "not TOML": ("[[grid", ""),
    "a number of thousands of digits": ("wall_limit_s = " + "9" * 5000, ""),
    "a nest of lists": ("x = " + "[" * 5000, ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_the_file_and_the_field(tmp_path: Path, name: str) -> None:
    text, field = BAD[name]
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert caught.value.source == str(tmp_path / "mine.toml")
    assert caught.value.field == field
    assert caught.value.expected
    assert "\n" not in str(caught.value)


def test_a_product_that_is_too_large_is_refused_before_it_is_made(tmp_path: Path) -> None:
    seeds = ", ".join(map(str, range(1000)))
    axes = f"seeds = [{seeds}]\nthreads = [{', '.join(map(str, range(1, 1001)))}]\n"
    with pytest.raises(InputError, match="1000000 jobs"):
        read(tmp_path, GRID + axes)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        Study.from_toml(tmp_path / "none.toml")


def test_parameters_of_a_grid_are_those_that_are_not_the_default(tmp_path: Path) -> None:
    path = write_study(tmp_path, methods=("rotor", "store-all"))
    with path.open("a") as stream:
        stream.write("\n[grid.params.rotor]\nfirst_slots = 40\nlargest_table_bytes = 4294967296\n")
    rotor, stored = Study.from_toml(path).cells
    assert rotor.params == (("first_slots", 40),)
    assert stored.params == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[grid.params.rotor]\nslots = 4", r"grid\[0\]\.params\.rotor\.slots: there is no such"),
        ("[grid.params.rotor]\nfirst_slots = 0", r"params\.rotor\.first_slots: 0; write a whole"),
        ("[grid.params.revolve]", r"grid\[0\]\.params\.revolve: the grid has no such method"),
        ("[grid.params]\nrotor = 3", r"grid\[0\]\.params: {'rotor': 3}; write \[grid\.params\.MET"),
    ],
)
def test_wrong_parameters_of_a_grid_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = write_study(tmp_path)
    with path.open("a") as stream:
        stream.write(f"\n{text}\n")
    with pytest.raises(InputError, match=message) as refused:
        Study.from_toml(path)
    assert refused.value.source == str(path)
