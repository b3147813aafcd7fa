"""Study as declared in its file: grids of instances, resources, methods and options.

A TOML file::

    name = "chains"
    wall_limit_s = 120          # of one job, kept by killing it
    memory_limit = "4GiB"       # of one job

    [[grid]]
    problem = "remat-chain"     # or a list
    instances = ["opt-350m-b4-a100-40", "resnet*-gpu", "chains/*.json"]
    memory = ["4GiB", "50%"]    # or {from = "20%", to = "90%", step = "10%"}
    methods = ["rotor", "revolve"]
    time_limit_s = [10]
    seeds = [0, 1]

Instances are names of bundled ones, files (relative to the study), or patterns of either. A grid
may have ``alpha`` in place of ``memory``, ``bandwidth``, ``transfers`` and ``models`` where its
problem does, and ``gap`` and ``threads``. Without ``methods`` all of the problem's are run. Every
grid is the product of its lists. With ``certify = true`` each job of a grid looks for a certificate
of the best bound that its method proved as well, for which it has its time limit once more. A table
``[grid.params.METHOD]`` has parameters of a method (`jettison list methods PROBLEM -v`). The
memory limit holds for the process of a job and for each that it starts. The limits of processes are
not part of what a job is: a study may be run again with others, and ``--retry-failed``.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from jettison.instances.catalog import bundled_instances
from jettison.instances.core.card import Card
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.link import Transfers, parse_link
from jettison.instances.core.memory import Alpha, Amount
from jettison.instances.core.units import parse_bytes
from jettison.solvers.core.certified import can_be_certified
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import find_kind, find_method, methods_of
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.solve import checked_params
from jettison.studies.axis import checked_by, memory_axis, values_of

_STUDY_FIELDS = {"name", "wall_limit_s", "memory_limit", "grid"}
_GRID_FIELDS = {
    "problem",
    "instances",
    "memory",
    "alpha",
    "bandwidth",
    "transfers",
    "models",
    "devices",
    "microbatches",
    "weight_copies",
    "chunks",
    "host_memory",
    "card",
    "resident",
    "methods",
    "time_limit_s",
    "gap",
    "threads",
    "seeds",
    "certify",
    "params",
}
_WALL_LIMIT_S = 600.0
_MOST_CELLS = 100_000
_EXPECTED = "give a study (see the README)"

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Point of a grid: the request of one job.

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
    certify
        Whether a certificate is wanted as well.
    params
        Names and values of the parameters of the method that are not the default ones.
    place
        The grid of the study that it is a point of: ``grid[0]``. Says nothing about the job.
    """

    problem: str
    instance: str
    resources: Resources
    method: str
    options: SolveOptions
    certify: bool = False
    params: tuple[tuple[str, object], ...] = ()
    place: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Study:
    """Declared study.

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
    source
        The file, for messages.
    """

    name: str
    cells: tuple[Cell, ...]
    wall_limit_s: float = _WALL_LIMIT_S
    memory_limit_bytes: int | None = None
    source: str = ""

    @classmethod
    def from_toml(cls, path: Path) -> Study:
        """Read a study.

        Raises
        ------
        InputError
            If the file cannot be read or is no TOML, or a field is unknown, missing or wrong; the
            field is named by its path.
        """
        text = read_text(path)
        try:
            document = tomllib.loads(text)
        except RecursionError:
            raise InputError(
                "the TOML nests too deeply", source=str(path), expected=_EXPECTED
            ) from None
        except ValueError as error:
            # A number with thousands of digits is one that is not a TOMLDecodeError.
            raise InputError(f"not TOML: {error}", source=str(path), expected=_EXPECTED) from None
        try:
            return cls._from_document(document, path)
        except InputError as error:
            raise error.within(source=str(path)) from None

    @classmethod
    def _from_document(cls, document: Mapping[str, Any], path: Path) -> Study:
        _check_fields(document, _STUDY_FIELDS)
        name = values_of(document, "name", str, [path.stem])
        wall_limit_s = values_of(document, "wall_limit_s", float, [_WALL_LIMIT_S])
        memory_limit = values_of(document, "memory_limit", str)
        for key, values in (
            ("name", name),
            ("wall_limit_s", wall_limit_s),
            ("memory_limit", memory_limit),
        ):
            if len(values) > 1:
                raise InputError("several", field=key, expected="write one")
        if not 0 < wall_limit_s[0] < 1e7:
            raise InputError(
                f"{wall_limit_s[0]:g} seconds",
                field="wall_limit_s",
                expected="write a positive number of seconds",
            )
        limits = [
            checked_by(lambda text: Amount(parse_bytes(text)), text, "memory_limit").size_bytes
            for text in memory_limit
        ]
        grids = document.get("grid")
        if not isinstance(grids, list) or not grids:
            raise InputError("there is no grid", field="grid", expected="write [[grid]] and below")
        cells: dict[Cell, None] = {}
        for number, grid in enumerate(grids):
            place = f"grid[{number}]"
            try:
                cells.update(dict.fromkeys(_cells(grid, path.parent, place)))
            except InputError as error:
                raise error.within(prefix=place) from None
        return cls(
            name=name[0],
            cells=tuple(cells),
            wall_limit_s=wall_limit_s[0],
            memory_limit_bytes=limits[0] if limits else None,
            source=str(path),
        )


def _cells(grid: object, folder: Path, place: str) -> list[Cell]:
    """Return the points of one grid."""
    if not isinstance(grid, dict):
        raise InputError(f"{grid!r}", expected="write [[grid]] and fields below")
    _check_fields(grid, _GRID_FIELDS)
    problems = values_of(grid, "problem", str)
    if not problems:
        raise InputError("is missing", field="problem", expected="name a problem")
    for problem in problems:
        checked_by(find_kind, problem, "problem")
    instances = [
        name for pattern in values_of(grid, "instances", str) for name in _matching(pattern, folder)
    ]
    if not instances:
        raise InputError("there is none", field="instances", expected="name at least one")
    wanted = values_of(grid, "methods", str)
    methods = [
        (problem, _method(problem, name))
        for problem in problems
        for name in (wanted or [method.name for method in methods_of(problem)])
    ]
    given, options = _resources(grid), _options(grid)
    certify = _certify(grid, problems)
    params = _params(grid, methods)
    _check_count([instances, methods, given, options])
    return [
        Cell(
            problem=problem,
            instance=instance,
            resources=resources,
            method=method,
            options=option,
            certify=certify,
            params=params.get((problem, method), ()),
            place=place,
        )
        for problem in problems
        for instance, resources, (_, method), option in itertools.product(
            instances, given, [pair for pair in methods if pair[0] == problem], options
        )
    ]


def _method(problem: str, name: str) -> str:
    return checked_by(lambda given: find_method(problem, given), name, "methods").name


def _params(
    grid: Mapping[str, Any], methods: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], tuple[tuple[str, object], ...]]:
    """Return the parameters of problems' methods that are given and not the default ones."""
    given = grid.get("params", {})
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise InputError(
            f"{given!r:.100}", field="params", expected="write [grid.params.METHOD] and values"
        )
    found = {}
    for name, values in given.items():
        asked = [(problem, method) for problem, method in methods if method == name]
        if not asked:
            raise InputError(
                "the grid has no such method",
                field=f"params.{name}",
                expected=f"leave it out, or write one of {', '.join(name for _, name in methods)}",
            )
        for problem, method in asked:
            try:
                checked_params(problem, {method: values})
            except InputError as error:
                raise error.within(prefix="params") from None
            found[problem, method] = _changed(problem, method, values)
    return found


def _changed(
    problem: str, method: str, values: Mapping[str, object]
) -> tuple[tuple[str, object], ...]:
    """Return what is not the default: who writes a default asks for the same as who does not."""
    params = find_method(problem, method).params
    return tuple(
        (name, value) for name, value in sorted(values.items()) if getattr(params, name) != value
    )


def _certify(grid: Mapping[str, Any], problems: Sequence[str]) -> bool:
    """Tell whether certificates are wanted of a grid."""
    wanted = grid.get("certify", False)
    if not isinstance(wanted, bool):
        raise InputError(f"{wanted!r}", field="certify", expected="write true or false")
    without = [problem for problem in problems if not can_be_certified(problem)]
    if wanted and without:
        raise InputError(
            f"bounds of {without[0]} have no certificates",
            field="certify",
            expected="leave it out, or put the problem into a grid of its own",
        )
    return wanted


def _options(grid: Mapping[str, Any]) -> list[SolveOptions]:
    axes = (
        values_of(grid, "time_limit_s", float, [60.0]),
        values_of(grid, "gap", float, [0.0]),
        values_of(grid, "threads", int, [1]),
        values_of(grid, "seeds", int, [0]),
    )
    # One axis after the other, so that an error names its own; the product may be large.
    for value in axes[0]:
        checked_by(lambda given: SolveOptions(time_limit_s=given), value, "time_limit_s")
    for value in axes[1]:
        checked_by(lambda given: SolveOptions(gap=given), value, "gap")
    for number in axes[2]:
        checked_by(lambda given: SolveOptions(threads=given), number, "threads")
    for number in axes[3]:
        checked_by(lambda given: SolveOptions(seed=given), number, "seeds")
    _check_count(axes)
    return [
        SolveOptions(time_limit_s=limit, gap=gap, threads=threads, seed=seed)
        for limit, gap, threads, seed in itertools.product(*axes)
    ]


def _resources(grid: Mapping[str, Any]) -> list[Resources]:
    if "memory" in grid and "alpha" in grid:
        raise InputError("memory and alpha exclude each other", field="alpha", expected="keep one")
    cards, residents = _cards(grid)
    alphas = values_of(grid, "alpha", float)
    for alpha in alphas:
        checked_by(lambda given: Alpha(Fraction(given)), alpha, "alpha")
    bandwidths = values_of(grid, "bandwidth", str)
    for bandwidth in bandwidths:
        checked_by(parse_link, bandwidth, "bandwidth")
    host_memories = values_of(grid, "host_memory", str)
    for host_memory in host_memories:
        checked_by(parse_bytes, host_memory, "host_memory")
    axes = (
        _or_absent(memory_axis(grid.get("memory"))),
        _or_absent([f"{Decimal(str(value)):f}" for value in alphas]),
        _or_absent(bandwidths),
        _or_absent([Transfers(text) for text in _transfers(grid)]),
        _or_absent(values_of(grid, "models", int)),
        _or_absent(values_of(grid, "devices", int)),
        _or_absent(values_of(grid, "microbatches", int)),
        _or_absent(values_of(grid, "weight_copies", int)),
        _or_absent(values_of(grid, "chunks", int)),
        _or_absent(host_memories),
        _or_absent(cards),
        _or_absent(residents),
    )
    _check_count(axes)
    return list(itertools.starmap(Resources, itertools.product(*axes)))


def _cards(grid: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the cards of a grid and their resident bytes, each pair of which has been read."""
    cards, residents = values_of(grid, "card", str), values_of(grid, "resident", str)
    others = [field for field in ("memory", "alpha") if field in grid]
    if cards and others:
        raise InputError(
            f"card and {others[0]} exclude each other", field="card", expected="keep one"
        )
    if residents and not cards:
        raise InputError(
            "it is taken off a card, and none is given",
            field="resident",
            expected='write card = "96GiB", or leave it out',
        )
    for card, resident in itertools.product(cards, _or_absent(residents)):
        # The error names the one of both that is wrong.
        Card(card, resident)
    return cards, residents


def _check_count(axes: Sequence[Sequence[object]]) -> None:
    """Refuse a grid with too many points before it is expanded."""
    count = math.prod(len(axis) for axis in axes)
    if count > _MOST_CELLS:
        raise InputError(
            f"{count} jobs", expected=f"write grids of at most {_MOST_CELLS} jobs, in several files"
        )


def _or_absent(values: Sequence[_Value]) -> Sequence[_Value | None]:
    return values or [None]


def _transfers(grid: Mapping[str, Any]) -> list[str]:
    values = values_of(grid, "transfers", str)
    for value in values:
        if value not in set(Transfers):
            raise InputError(
                f"{value!r}", field="transfers", expected=f"choose one of {', '.join(Transfers)}"
            )
    return values


def _matching(pattern: str, folder: Path) -> list[str]:
    """Return the bundled instances or files that a name or pattern means."""
    if "\0" in pattern:
        raise InputError(f"{pattern!r}", field="instances", expected="write a name or a path")
    if not any(mark in pattern for mark in "*?["):
        beside = folder / pattern
        return [str(beside.resolve()) if beside.is_file() else pattern]
    bundled = [entry.name for entry in bundled_instances() if fnmatchcase(entry.name, pattern)]
    root = Path(pattern).anchor
    start = Path(root) if root else folder.resolve()
    try:
        files = [] if bundled else list(start.glob(pattern.removeprefix(root)))
    except ValueError as error:
        raise InputError(
            f"{pattern!r}: {error}", field="instances", expected="write a pattern such as *.json"
        ) from None
    found = bundled or sorted(str(path) for path in files if path.is_file())
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
