"""Marks of recomputation on graphs: published ones, generated ones, and those of long steps.

A row is a case with what `exact` found and whether its mark is held. Marks are overheads in per
cent of the time without recomputation: of the schedule, and of what is proved. Limits are CPU
seconds of one thread. MOCCASIN's and Checkmate's graphs (ICML 2023, MLSys 2020) are files that are
not in the repository; marks of those that are not there are left out, and their rows say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.cpu_clock import CpuLimit, cpu_seconds
from benchmarks.equal_layers import layers
from benchmarks.marks.job import Job
from benchmarks.marks.recurrent import recurrent
from benchmarks.marks.row import Row
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve_with

# Wall-clock seconds for each CPU second, after which a busy machine is given up.
_PATIENCE = 30.0
# Half of the last digit that marks are written with.
_ROUNDING = 0.00005


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Mark of one case.

    Attributes
    ----------
    graph
        The pattern of a file's name without its ending, or the name of a generated graph.
    memory
        The memory.
    cpu_limit_s
        CPU seconds that `exact` may use.
    overhead, proved
        The overhead that may not be exceeded and the one that has to be proved, in per cent of the
        time without recomputation; None for any.
    most_gap_points
        How far they may be apart, in points of that overhead; None for any.
    best_known
        What was published elsewhere, in words.
    """

    graph: str
    memory: str | int
    cpu_limit_s: float
    overhead: float | None = None
    proved: float | None = None
    most_gap_points: float | None = None
    best_known: str = ""


_MOCCASIN = "MOCCASIN"
_GUROBI = "Checkmate on Gurobi"
PUBLISHED = (
    Mark(
        graph="ResNet50*",
        memory="90%",
        cpu_limit_s=60,
        overhead=0.1085,
        proved=0.1085,
        best_known=f"{_MOCCASIN} .2 % in 65 s; {_GUROBI} .1 % in 434 s",
    ),
    Mark(
        graph="ResNet50*",
        memory="80%",
        cpu_limit_s=60,
        overhead=0.2786,
        proved=0.2786,
        best_known=f"{_MOCCASIN} .3 % in 69 s; {_GUROBI} .3 % in 485 s",
    ),
    Mark(graph="ResNet50*", memory="50%", cpu_limit_s=60, overhead=1.4988, proved=1.4988),
    Mark(graph="ResNet50*", memory="30%", cpu_limit_s=15, overhead=3.6384, proved=3.6384),
    Mark(graph="ResNet50*", memory="20%", cpu_limit_s=300, overhead=6.3488, most_gap_points=0.5),
    Mark(graph="vgg_unet*", memory="90%", cpu_limit_s=60, overhead=1.1289, proved=1.1289),
    Mark(graph="vgg_unet*", memory="50%", cpu_limit_s=60, overhead=6.9666, proved=6.9666),
    Mark(graph="VGG16*", memory="90%", cpu_limit_s=60, overhead=1.9677, proved=1.9677),
    Mark(graph="VGG19*", memory="90%", cpu_limit_s=60, overhead=0.1042, proved=0.1042),
    Mark(graph="VGG19*", memory="80%", cpu_limit_s=60, overhead=2.7559, proved=2.7559),
    Mark(
        graph="random_layered_n100_*", memory="90%", cpu_limit_s=60, overhead=0.7892, proved=0.7892
    ),
    Mark(
        graph="random_layered_n100_*", memory="80%", cpu_limit_s=60, overhead=2.2965, proved=2.2965
    ),
    Mark(
        graph="random_layered_n250_*",
        memory=132156,
        cpu_limit_s=60,
        overhead=0.9039,
        proved=0.9039,
        best_known=f"{_MOCCASIN} .9 % in 55 s; {_GUROBI} in 685 s",
    ),
    Mark(
        graph="random_layered_n250_*",
        memory=117472,
        cpu_limit_s=180,
        overhead=4.2606,
        proved=4.2335,
        best_known=f"{_MOCCASIN} 4.9 % in 640 s; {_GUROBI} found none",
    ),
)
# MOCCASIN's graph of a thousand nodes is no part of its files; these are drawn by its rules.
GENERATED = (
    Mark(graph="layered-n500", memory="80%", cpu_limit_s=300, most_gap_points=0.0),
    Mark(
        graph="layered-n1000",
        memory="80%",
        cpu_limit_s=300,
        most_gap_points=0.05,
        best_known=f"{_MOCCASIN} 3.4 % in an hour, on its own graph of this size",
    ),
    Mark(graph="layered-n1000", memory="70%", cpu_limit_s=300, most_gap_points=0.2),
    Mark(graph="layered-n2000", memory="80%", cpu_limit_s=300, most_gap_points=1.0),
    Mark(graph="layered-n5000", memory="80%", cpu_limit_s=300, most_gap_points=1.0),
    Mark(graph="recurrent-n5000", memory="25%", cpu_limit_s=300, most_gap_points=0.5),
    Mark(graph="layers-n10000", memory="50%", cpu_limit_s=60, most_gap_points=0.05),
)


def jobs(folder: Path | None) -> Iterator[Job]:
    """Yield a job for each mark.

    Parameters
    ----------
    folder
        Holds MOCCASIN's graphs as networkx node-link JSON; None for no such folder.
    """
    for mark in (*PUBLISHED, *GENERATED):
        yield Job(
            problem="remat-graph",
            name=f"{mark.graph} {mark.memory}",
            cpu_limit_s=mark.cpu_limit_s,
            measure=partial(_row, mark, folder),
        )


def _row(mark: Mark, folder: Path | None) -> Row:
    graph = _graph(mark.graph, folder)
    if graph is not None:
        return _measured(mark, graph)
    return Row(
        instance=_name(mark, mark.graph),
        method="exact",
        mark=_words(mark),
        is_held=None,
        best_known=mark.best_known,
        note=f"left out: there is no {mark.graph}.json",
    )


def _graph(name: str, folder: Path | None) -> Graph | None:
    kind, _, nodes = name.partition("-n")
    if kind == "layered":
        return LayeredGraphs(nodes=int(nodes), passes=Passes.FORWARD).draw(0)
    if kind == "recurrent":
        return recurrent(int(nodes))
    if kind == "layers":
        return layers(int(nodes))
    files = [] if folder is None else sorted(folder.glob(f"{name}.json"))
    return import_networkx_graph(files[0]) if files else None


def _measured(mark: Mark, graph: Graph) -> Row:
    problem = RematGraph(graph, mark.memory)
    started_s = cpu_seconds()
    known: list[Progress] = []

    def note(progress: Progress) -> None:
        if cpu_seconds() - started_s <= mark.cpu_limit_s:
            known.append(progress)

    options = SolveOptions(time_limit_s=_PATIENCE * mark.cpu_limit_s, gap=0, on_progress=note)
    with CpuLimit(mark.cpu_limit_s):
        result = solve_with(problem, "exact", options)
    cpu_s = cpu_seconds() - started_s
    time_ns, bound_ns = result.time_ns, result.lower_bound_ns
    if cpu_s > mark.cpu_limit_s and known:
        # It is ended some moments late; what counts is what was known in time.
        time_ns, bound_ns = known[-1].time_ns, known[-1].lower_bound_ns
    overhead, proved = (
        None if found_ns is None else 100 * (found_ns / graph.base_time_ns - 1)
        for found_ns in (time_ns, bound_ns)
    )
    return Row(
        instance=_name(mark, graph.name),
        method="exact",
        time_ns=time_ns,
        bound_ns=bound_ns,
        cpu_s=cpu_s,
        mark=_words(mark),
        is_held=is_held(mark, overhead, proved),
        best_known=mark.best_known,
    )


def is_held(mark: Mark, overhead: float | None, proved: float | None) -> bool:
    """Tell whether overheads, in per cent of the time without recomputation, reach a mark."""
    if overhead is None or proved is None:
        return False
    return (
        (mark.overhead is None or overhead <= mark.overhead + _ROUNDING)
        and (mark.proved is None or proved >= mark.proved - _ROUNDING)
        and (mark.most_gap_points is None or overhead - proved <= mark.most_gap_points + _ROUNDING)
    )


def _name(mark: Mark, graph: str) -> str:
    return f"{graph}, {mark.memory}"


def _words(mark: Mark) -> str:
    parts = [f"{mark.cpu_limit_s:g} CPU s"]
    if mark.overhead is not None:
        parts.append(f"overhead at most {mark.overhead:.4f} %")
    if mark.proved is not None:
        parts.append(f"at least {mark.proved:.4f} % proved")
    if mark.most_gap_points is not None:
        parts.append(f"within {mark.most_gap_points:g} points")
    return ", ".join(parts)
