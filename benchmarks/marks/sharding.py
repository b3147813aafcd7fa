"""Marks of sharding: contest instances, and contest-like ones whose memory is nearly the least.

A row is a case with what was found and whether its mark is held. Limits are in CPU seconds of one
thread, which the work that a method shares out is made to fit, so that a busy machine changes
nothing. What was published elsewhere stands beside: `best_known_ns`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.cpu_clock import CpuLimit, cpu_seconds
from benchmarks.marks.job import Job
from benchmarks.marks.row import Row
from jettison.instances.importers.iopddl import import_iopddl
from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.work import MOVES_PER_SECOND

# Wall-clock seconds for each CPU second, after which a busy machine is given up.
_PATIENCE = 60.0


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Mark of one case.

    Attributes
    ----------
    letter
        The contest instance.
    method
        The method that has to reach it.
    cpu_limit_s
        CPU seconds that it may use.
    most_cost_ns, least_bound_ns
        The cost that may not be exceeded, and the bound that may not be missed; None for any.
    best_known_ns
        The best cost published, where that is of the same memory.
    is_proved
        Whether the answer has to be proved, whatever it costs.
    memory_bytes
        The memory; None for that of the instance.
    source
        Where the mark comes from.
    """

    letter: str
    method: str
    cpu_limit_s: float
    most_cost_ns: int | None = None
    least_bound_ns: int | None = None
    best_known_ns: int | None = None
    memory_bytes: int | None = None
    is_proved: bool = False
    source: str


_ISSUE = "what was asked for"
MARKS = (
    Mark(
        letter="B",
        method="exact",
        cpu_limit_s=2.0,
        most_cost_ns=532_843,
        least_bound_ns=532_843,
        best_known_ns=532_843,
        source="proved before in 2 CPU s",
    ),
    Mark(
        letter="K",
        method="exact",
        cpu_limit_s=120.0,
        most_cost_ns=2_265_062_137,
        least_bound_ns=2_050_000_000,
        best_known_ns=2_242_635_780,
        source=f"{_ISSUE}: within 1 % of the best known, and a bound of 2.05e9",
    ),
    Mark(
        letter="K",
        method="greedy",
        cpu_limit_s=10.0,
        most_cost_ns=2**62,
        source=f"{_ISSUE}: any choice in 10 s",
    ),
    # A fifth of the room that the instance leaves above the least memory. The relaxation after
    # the reductions is weak here, and greedy choices are far off.
    Mark(
        letter="B",
        method="local-search",
        cpu_limit_s=10.0,
        most_cost_ns=545_019,
        memory_bytes=13_345_798,
        source="reached in 3 CPU s when the mark was set",
    ),
    Mark(
        letter="B",
        method="exact",
        cpu_limit_s=300.0,
        most_cost_ns=545_019,
        least_bound_ns=545_019,
        memory_bytes=13_345_798,
        source=f"{_ISSUE}: contest-like, many rows, proved in 300 s",
    ),
    Mark(
        letter="G",
        method="exact",
        cpu_limit_s=4.0,
        is_proved=True,
        source="proved before in 2 CPU s",
    ),
    Mark(
        letter="V",
        method="exact",
        cpu_limit_s=120.0,
        most_cost_ns=1_617_084,
        best_known_ns=1_632_051,
        source="the optimum, found before",
    ),
    Mark(
        letter="S",
        method="exact",
        cpu_limit_s=120.0,
        best_known_ns=1_511_377_982,
        source="report beside the contest's best 1534613444",
    ),
)


def jobs(folder: Path | None) -> Iterator[Job]:
    """Yield a job for each mark.

    Parameters
    ----------
    folder
        Holds the files of the contest, ``asplos-2025-iopddl-K.json.gz`` and so on; None for no such
        folder. Marks of files that are not there are left out, and their rows say so.
    """
    for mark in MARKS:
        yield Job(
            problem="sharding",
            name=f"{_name(mark)} {mark.method}",
            cpu_limit_s=mark.cpu_limit_s,
            measure=partial(_row, mark, folder),
        )


def _row(mark: Mark, folder: Path | None) -> Row:
    name = f"asplos-2025-iopddl-{mark.letter}.json.gz"
    path = None if folder is None else folder / name
    if path is not None and path.is_file():
        return _measured(mark, path)
    return Row(
        instance=_name(mark),
        method=mark.method,
        mark=_words(mark),
        is_held=None,
        best_known=_best_known(mark),
        note=f"left out: there is no {name}",
    )


def _measured(mark: Mark, path: Path) -> Row:
    problem = Sharding(import_iopddl(path), mark.memory_bytes)
    options = SolveOptions(
        time_limit_s=_PATIENCE * mark.cpu_limit_s,
        gap=0,
        most_moves=int(mark.cpu_limit_s * MOVES_PER_SECOND),
    )
    started = cpu_seconds()
    with CpuLimit(mark.cpu_limit_s):
        result = solve_with(problem, mark.method, options)
    spent_s = cpu_seconds() - started
    time_ns, bound_ns = result.time_ns, result.lower_bound_ns
    is_bounded = mark.least_bound_ns is None or (bound_ns or 0) >= mark.least_bound_ns
    is_cheap = mark.most_cost_ns is None or (time_ns is not None and time_ns <= mark.most_cost_ns)
    return Row(
        instance=_name(mark),
        method=mark.method,
        time_ns=time_ns,
        bound_ns=bound_ns,
        cpu_s=spent_s,
        mark=_words(mark),
        is_held=is_cheap and is_bounded and (result.status == "optimal" or not mark.is_proved),
        best_known=_best_known(mark),
    )


def _best_known(mark: Mark) -> str:
    return "" if mark.best_known_ns is None else f"{mark.best_known_ns}, the contest"


def _name(mark: Mark) -> str:
    memory = "" if mark.memory_bytes is None else f" in {mark.memory_bytes} B"
    return f"iopddl-{mark.letter}{memory}"


def _words(mark: Mark) -> str:
    parts = [f"{mark.cpu_limit_s:g} CPU s"]
    if mark.most_cost_ns is not None and mark.most_cost_ns < 2**62:
        parts.append(f"cost at most {mark.most_cost_ns}")
    if mark.least_bound_ns is not None:
        parts.append(f"bound at least {mark.least_bound_ns}")
    return ", ".join(parts) + f" ({mark.source})"
