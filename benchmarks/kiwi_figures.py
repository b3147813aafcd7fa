"""Figures 5, 6 and 7 of KIWI at the paper's size, as tables that the notebook on KIWI draws.

Figure 5 is an encoder and a decoder of four layers on the meshes (1, 8), (2, 4) and (4, 2),
Figure 6 the decoder on (1, 4) over links 1, 10 and 100 times slower, Figure 7 the solver's time for
an encoder of up to 20 layers on (1, 8), in 90 and 100 % of memory. Percents are of what Alpa's plan
takes without a limit, in Figure 6 over the fast links.

KIWI is `kiwi-reduced`, as in the paper. On two-dimensional meshes, where an operator has up to 25
strategies, `exact` is measured as well; it is cut off at its limit with a plan and a bound. There
and in Figure 7 `kiwi-reduced` starts from the fastest plan of the baselines that it may have, as it
does by itself, but their seconds are in their own rows. The rows of the one-dimensional meshes of
Figures 5 and 6 were measured before, with the baselines inside.

A row is one method on one instance in one memory. `time_ns` and `peak_bytes` are those of the
replay; `cpu_s` counts HiGHS in its child process as well. Rows that are there are kept, so that the
study can be stopped and continued. A row is measured again if its instance has changed, if it was
cut off at a lower limit than today's, or after it has been deleted. Limits are of CPU seconds, so
that a busy machine measures the same; one that is reached ends a method as Ctrl-C does. Rows that
were recorded before November 2026 had them of the wall clock. An hour in all, on a machine that
does nothing else. Name sections to run only those.

    .venv/bin/python benchmarks/kiwi_figures.py figure6 figure7 figure5
"""

from __future__ import annotations

import csv
import io
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from cpu_clock import CpuLimit, cpu_seconds

import jettison as jt
from jettison.instances.core.atomic_file import replacing
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.solver_versions import solver_versions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import MOVES_PER_SECOND
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from jettison.solvers.remat_sharding.kiwi.reduced import find_reduced
from jettison.solvers.remat_sharding.kiwi.search import KIWI
from jettison.solvers.remat_sharding.least_memory import with_smallest_strategies

RECORDED = Path(__file__).parents[1] / "notebooks" / "_recorded"
GAP = 1e-3
# CPU seconds.
LIMIT_S = {
    "alpa": 300.0,
    "alpa-checkpoint-dots": 120.0,
    "alpa-selective": 300.0,
    "kiwi-reduced": 300.0,
    "exact": 45.0,
}
# Of the wall clock, as a multiple: for a method that waits for what never comes.
WALL_TIMES = 20
BASELINES = ("alpa", "alpa-checkpoint-dots", "alpa-selective")


@dataclass(frozen=True)
class Row:
    """Row of one method's result; None where it found nothing."""

    instance: str
    memory_percent: int
    method: str
    time_ns: int | None
    lower_bound_ns: int | None
    valid_for: str | None
    status: str
    termination: str
    schedule_class: str | None
    memory_bytes: int
    peak_bytes: int | None
    cpu_s: float
    time_limit_s: float
    gap: float
    operators: int
    fastest_ns: int
    instance_sha256: str
    versions: str
    machine: str
    recorded: str


@dataclass(frozen=True)
class Point:
    """Measurement to make: methods on an instance in a memory."""

    graph: ShardedGraph
    percent: int
    memory_bytes: int
    methods: tuple[str, ...]


def share_bytes(graph: ShardedGraph, percent: int) -> int:
    """Return a share of what the fastest plan takes without a limit, rounded down."""
    return jt.RematSharding(graph, f"{percent}%").memory_bytes


def figure5() -> Iterator[Point]:
    """Ask for the encoder and the decoder on three meshes; what is quick comes first."""
    for model in ("encoder", "decoder"):
        graph = jt.load(f"{model}-4l-mesh1x8")
        for percent in (40, 50, 60, 70, 80, 90):
            yield Point(graph, percent, share_bytes(graph, percent), (*BASELINES, "kiwi-reduced"))
    on_planes = [
        jt.load(f"{model}-4l-mesh{mesh}")
        for model in ("encoder", "decoder")
        for mesh in ("2x4", "4x2")
    ]
    for percent in (40, 50, 60):
        for graph in on_planes:
            yield Point(graph, percent, share_bytes(graph, percent), BASELINES)
    for methods in (("kiwi-reduced",), BASELINES, ("exact",)):
        for percent in (40, 90, 70, 80, 60, 50):
            for graph in on_planes:
                yield Point(graph, percent, share_bytes(graph, percent), methods)


def figure6() -> Iterator[Point]:
    """Ask for the decoder over slower links, in memory that is measured over the fast ones."""
    fast = jt.load("decoder-4l-mesh1x4")
    slow = (jt.load(f"decoder-4l-mesh1x4-slow{slowdown}") for slowdown in (10, 100))
    for graph in (fast, *slow):
        for percent in (40, 50, 60, 70, 80, 90):
            yield Point(graph, percent, share_bytes(fast, percent), (*BASELINES, "kiwi-reduced"))


def figure7() -> Iterator[Point]:
    """Ask for encoders of 1 to 20 layers."""
    for layers in (1, 2, 4, 8, 12, 16, 20):
        program = named_program(f"encoder-{layers}l")
        graph = with_fastest(on_v100_mesh(program, (1, 8), 1, f"encoder-{layers}l-mesh1x8"))
        for percent in (90, 100):
            yield Point(graph, percent, share_bytes(graph, percent), ("alpa", "kiwi-reduced"))


SECTIONS = {section.__name__: section for section in (figure6, figure7, figure5)}


def sha256(graph: ShardedGraph) -> str:
    """Return the hash without the fastest plan, of which there may be several."""
    return replace(graph, fastest=()).sha256


def machine() -> str:
    """Return what kind of machine this is."""
    processor = platform.processor() or platform.machine()
    names = Path("/proc/cpuinfo")
    if names.exists():
        lines = names.read_text(encoding="utf-8").splitlines()
        named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        processor = next(named, processor)
    return f"{processor}, one thread"


def versions() -> str:
    """Return the versions of what took part."""
    packages = ("jettison", "highspy", "numpy", "scipy")
    named = [f"{package} {metadata.version(package)}" for package in packages]
    return ", ".join([*named, f"Python {platform.python_version()}"])


def reduced_from(
    problem: RematSharding, start: ShardedSchedule | None, options: SolveOptions
) -> Result:
    """Return what `kiwi-reduced` finds from a plan, without running baselines of its own.

    First the graph of the smallest strategies, in which a proof that nothing fits is quick.
    """
    started = time.perf_counter()
    smallest = with_smallest_strategies(problem.instance)
    with solver_versions() as solvers:
        outcome = find_reduced(RematSharding(smallest, problem.memory_bytes), options, None, KIWI)
        if outcome.infeasibility is None:
            outcome = find_reduced(problem, options, start, KIWI)
    seconds = time.perf_counter() - started
    return Result.from_outcome(problem, "kiwi-reduced", outcome, seconds, solvers)


def start_of(method: str, plans: list[tuple[Row, ShardedSchedule]]) -> ShardedSchedule | None:
    """Return the fastest plan that a method may start from, of those found at its point."""
    if method in BASELINES:
        return None
    known = [
        (row, plan)
        for row, plan in plans
        if method == "exact" or row.schedule_class == ScheduleClass.KIWI_REDUCED
    ]
    return min(known, key=lambda pair: pair[0].time_ns or 0)[1] if known else None


def measured(
    point: Point, method: str, start: ShardedSchedule | None
) -> tuple[Row, ShardedSchedule | None]:
    """Return what a method finds at a point, from the fastest plan of those before it.

    Raises
    ------
    KeyboardInterrupt
        If the method was interrupted: what it has by then is no measurement.
    """
    limit_s = LIMIT_S[method]
    problem = RematSharding(point.graph, point.memory_bytes)
    options = SolveOptions(time_limit_s=WALL_TIMES * limit_s, gap=GAP)
    started = cpu_seconds()
    with CpuLimit(limit_s) as limit:
        if method == "kiwi-reduced":
            result = reduced_from(problem, start, options)
        elif method == "exact":
            # Its shares are of the work of a usual machine in the limit.
            moves = round(limit_s * MOVES_PER_SECOND)
            result = solve_with(problem, method, replace(options, start=start, most_moves=moves))
        else:
            result = solve_with(problem, method, options)
    seconds = cpu_seconds() - started
    termination = result.termination
    if termination is Termination.INTERRUPTED:
        if not limit.is_reached:
            raise KeyboardInterrupt
        termination = Termination.TIME_LIMIT
    fastest = with_strategies(point.graph, point.graph.fastest)
    row = Row(
        instance=point.graph.name,
        memory_percent=point.percent,
        method=method,
        time_ns=result.time_ns,
        lower_bound_ns=result.lower_bound_ns,
        valid_for=None if result.bound is None else str(result.bound.valid_for),
        status=result.status,
        termination=str(termination),
        schedule_class=None if result.replay is None else str(result.replay.schedule_class),
        memory_bytes=point.memory_bytes,
        peak_bytes=result.peak_bytes,
        cpu_s=round(seconds, 2),
        time_limit_s=limit_s,
        gap=GAP,
        operators=len(point.graph),
        fastest_ns=fastest.base_time_ns,
        instance_sha256=sha256(point.graph),
        versions=versions(),
        machine=machine(),
        recorded=datetime.now(UTC).date().isoformat(),
    )
    assert result.schedule is None or isinstance(result.schedule, ShardedSchedule)
    return row, result.schedule


class Table:
    """Table of rows in a file that is complete at any time.

    Parameters
    ----------
    path
        Of the file; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[tuple[str, str, str], dict[str, object]] = {}
        if path.exists():
            with path.open(encoding="utf-8", newline="") as stream:
                for row in csv.DictReader(stream):
                    key = row["instance"], row["memory_percent"], row["method"]
                    self._rows[key] = dict(row)

    def has(self, point: Point, method: str) -> bool:
        """Tell whether there is a row for what the instance is now, given the time of now."""
        row = self._rows.get((point.graph.name, str(point.percent), method))
        if row is None or row["instance_sha256"] != sha256(point.graph):
            return False
        had_enough = float(str(row["time_limit_s"])) >= LIMIT_S[method]
        return had_enough or row["termination"] != Termination.TIME_LIMIT

    def put(self, row: Row) -> None:
        """Add a row, or write it in the place of the one before."""
        self._rows[row.instance, str(row.memory_percent), row.method] = asdict(row)
        self._path.parent.mkdir(exist_ok=True)
        names = [field.name for field in fields(Row)]
        in_order = sorted(self._rows, key=lambda key: (key[0], int(key[1]), key[2]))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows[key] for key in in_order)
        with replacing(self._path) as stream:
            stream.write(text.getvalue().encode())


def main() -> None:
    """Measure what is missing in the named sections, or in all."""
    for name in sys.argv[1:] or SECTIONS:
        table = Table(RECORDED / f"kiwi_{name}.csv")
        for point in SECTIONS[name]():
            plans: list[tuple[Row, ShardedSchedule]] = []
            for method in point.methods:
                if table.has(point, method):
                    continue
                row, plan = measured(point, method, start_of(method, plans))
                table.put(row)
                if plan is not None:
                    plans.append((row, plan))
                time = "none" if row.time_ns is None else f"{row.time_ns / row.fastest_ns:.4f}"
                print(
                    f"{name}  {row.instance:27} {row.memory_percent:3} %  {method:20} {time:>7}"
                    f"  {row.cpu_s:6.2f} s  {row.status}, {row.termination}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
