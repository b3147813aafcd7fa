"""A study as its file declares it: grids of instances, resources, methods and options.

A TOML file::

    name = "chains"
    wall_limit_s = 120          # of one job, kept by killing it
    memory_limit = "4GiB"       # of one job

    [[grid]]
    problem = "remat-chain"     # or a list
    instances = ["vgg16-b2-224-cpu", "resnet*-cpu", "chains/*.json"]
    memory = ["4GiB", "50%"]    # or {from = "20%", to = "90%", step = "10%"}
    methods = ["rotor", "revolve"]
    time_limit_s = [10]
    seeds = [0, 1]

Instances are names of bundled ones, files (relative to the study), or patterns of either. A grid
may have ``alpha`` in place of ``memory``, and ``bandwidth``, ``transfers`` and ``models`` where its
problem does. Without ``methods`` all of the problem's are run. Every grid is the product of its
lists.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from jettison.instances.catalog import bundled_instances
from jettison.instances.errors import InputError
from jettison.instances.memory import Amount
from jettison.instances.remat_offload_chain import Transfers
from jettison.instances.units import parse_bytes
from jettison.solvers.methods import find_method, methods_of
from jettison.solvers.outcome import SolveOptions
from jettison.solvers.posed_problem import Resources, check_problem_name
from jettison.studies.axis import memory_axis, values_of

_STUDY_FIELDS = {"name", "wall_limit_s", "memory_limit", "grid"}
_GRID_FIELDS = {
    "problem",
    "instances",
    "memory",
    "alpha",
    "bandwidth",
    "transfers",
    "models",
    "methods",
    "time_limit_s",
    "gap",
    "threads",
    "seeds",
}
_WALL_LIMIT_S = 600.0

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of a grid: what one job is asked to do.

    Attributes
    ----------
    problem, method
        Their names.
    instance
        As `load` takes it.
    resources
        As they are written.
    options
        Time limit, gap, threads and seed.
    """

    problem: str
    instance: str
    resources: Resources
    method: str
    options: SolveOptions


@dataclass(frozen=True, kw_only=True)
class Study:
    """A declared study.

    Attributes
    ----------
    name
        Its name.
    cells
        All points of its grids, in the order of the file; none twice.
    wall_limit_s
        Seconds after which a job is killed, start of its process included.
    memory_limit_bytes
        Most address space of a job; None for no limit.
    """

    name: str
    cells: tuple[Cell, ...]
    wall_limit_s: float = _WALL_LIMIT_S
    memory_limit_bytes: int | None = None

    @classmethod
    def from_toml(cls, path: Path) -> Study:
        """Read a study.

        Raises
        ------
        InputError
            If the file cannot be read or is no TOML, or a field is unknown, missing or wrong; the
            field is named by its path.
        """
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(
                f"cannot read the file: {error.strerror or error}",
                source=str(path),
                expected="give a study (see the README)",
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"not TOML: {error}", source=str(path), expected="give a study (see the README)"
            ) from None
        try:
            return cls._from_document(document, path)
        except InputError as error:
            raise error.within(source=str(path)) from None

    @classmethod
    def _from_document(cls, document: Mapping[str, Any], path: Path) -> Study:
        _check_fields(document, _STUDY_FIELDS)
        grids = document.get("grid")
        if not isinstance(grids, list) or not grids:
            raise InputError("there is no grid", field="grid", expected="write [[grid]] and below")
        cells: dict[Cell, None] = {}
        for number, grid in enumerate(grids):
            try:
                cells.update(dict.fromkeys(_cells(grid, path.parent)))
            except InputError as error:
                raise error.within(prefix=f"grid[{number}]") from None
        wall_limit_s = document.get("wall_limit_s", _WALL_LIMIT_S)
        if not isinstance(wall_limit_s, int | float) or not 0 < wall_limit_s < 1e7:
            raise InputError(
                f"{wall_limit_s}", field="wall_limit_s", expected="write a number of seconds"
            )
        limit = document.get("memory_limit")
        return cls(
            name=str(document.get("name", path.stem)),
            cells=tuple(cells),
            wall_limit_s=float(wall_limit_s),
            memory_limit_bytes=None
            if limit is None
            else Amount(parse_bytes(str(limit))).size_bytes,
        )


def _cells(grid: Mapping[str, Any], folder: Path) -> Iterator[Cell]:
    """Yield the points of one grid."""
    _check_fields(grid, _GRID_FIELDS)
    problems = values_of(grid, "problem", str)
    if not problems:
        raise InputError("nothing says which", field="problem", expected="name a problem")
    for problem in problems:
        check_problem_name(problem)
    instances = [
        name for pattern in values_of(grid, "instances", str) for name in _matching(pattern, folder)
    ]
    if not instances:
        raise InputError("there is none", field="instances", expected="name at least one")
    options = [
        SolveOptions(time_limit_s=float(limit), gap=float(gap), threads=threads, seed=seed)
        for limit in values_of(grid, "time_limit_s", float, [60.0])
        for gap in values_of(grid, "gap", float, [1e-4])
        for threads in values_of(grid, "threads", int, [1])
        for seed in values_of(grid, "seeds", int, [0])
    ]
    wanted = values_of(grid, "methods", str)
    for problem in problems:
        for method in wanted:
            find_method(problem, method)
        methods = wanted or [method.name for method in methods_of(problem)]
        yield from (
            Cell(problem=problem, instance=instance, resources=given, method=method, options=option)
            for instance, given, method, option in itertools.product(
                instances, list(_resources(grid)), methods, options
            )
        )


def _resources(grid: Mapping[str, Any]) -> Iterator[Resources]:
    if "memory" in grid and "alpha" in grid:
        raise InputError("memory and alpha both say how much", field="alpha", expected="keep one")
    for memory, alpha, bandwidth, transfers, models in itertools.product(
        _or_absent(memory_axis(grid.get("memory"))),
        _or_absent([f"{value}" for value in values_of(grid, "alpha", float)]),
        _or_absent(values_of(grid, "bandwidth", str)),
        _or_absent([Transfers(text) for text in _transfers(grid)]),
        _or_absent(values_of(grid, "models", int)),
    ):
        yield Resources(memory, alpha, bandwidth, transfers, models)


def _or_absent(values: Sequence[_Value]) -> Sequence[_Value | None]:
    return values or [None]


def _transfers(grid: Mapping[str, Any]) -> list[str]:
    values = values_of(grid, "transfers", str)
    for value in values:
        if value not in set(Transfers):
            raise InputError(
                f"{value!r}", field="transfers", expected=f"choose of {', '.join(Transfers)}"
            )
    return values


def _matching(pattern: str, folder: Path) -> list[str]:
    """Return the bundled instances or files that a name or pattern means."""
    if not any(mark in pattern for mark in "*?["):
        beside = folder / pattern
        return [str(beside) if beside.is_file() else pattern]
    bundled = [entry.name for entry in bundled_instances() if fnmatchcase(entry.name, pattern)]
    found = bundled or sorted(str(path) for path in folder.glob(pattern) if path.is_file())
    if not found:
        raise InputError(
            f"nothing matches {pattern!r}",
            field="instances",
            expected="run `jettison list instances` for names; files are relative to the study",
        )
    return found


def _check_fields(fields: Mapping[str, Any], known: set[str]) -> None:
    for key in fields:
        if key not in known:
            raise InputError(
                "unknown", field=key, expected=f"the fields are {', '.join(sorted(known))}"
            )
