"""Marks of sharding with recomputation: KIWI's encoder, twenty layers, and the perceptron.

A row is a case with what was found and whether its mark is held. Limits are CPU seconds of one
thread: the plan and the bound of a mark are those that were known when so many had passed. A method
whose time limit is counted by the wall gets a multiple of them, and is ended when they are spent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.cpu_clock import CpuLimit, cpu_seconds
from benchmarks.marks.job import Job
from benchmarks.marks.row import Row
from jettison.instances.catalog import load
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.solve import solve_with

BASELINES = ("alpa", "alpa-checkpoint-dots", "alpa-selective", "alpa-recompute-all")
# Wall-clock seconds for each CPU second, after which a busy machine is given up.
_PATIENCE = 30.0
# 36 % of the peak of the fastest choice of strategies that messages find without a limit.
_TWENTY_LAYERS_BYTES = 24_354_807_645


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Mark of one case.

    Attributes
    ----------
    instance, memory
        The case.
    cpu_limit_s
        CPU seconds that `exact` may use.
    most_gap_percent
        The gap between plan and bound that may not be exceeded, in per cent of the bound; None
        where any plan will do.
    is_beside_baselines
        Whether every baseline is run too, with as many CPU seconds, and none may be faster.
    """

    instance: str
    memory: str | int
    cpu_limit_s: float
    most_gap_percent: float | None = None
    is_beside_baselines: bool = False


_ENCODER, _DEEP = "encoder-4l-mesh2x4", "encoder-20l-mesh2x4"
MARKS = (
    Mark(instance="mlp-26", memory="20%", cpu_limit_s=2.0, most_gap_percent=0.0),
    Mark(instance=_ENCODER, memory="80%", cpu_limit_s=120.0, most_gap_percent=0.05),
    Mark(instance=_ENCODER, memory="60%", cpu_limit_s=120.0, most_gap_percent=0.05),
    Mark(
        instance=_ENCODER,
        memory="40%",
        cpu_limit_s=120.0,
        most_gap_percent=0.05,
        is_beside_baselines=True,
    ),
    Mark(instance=_DEEP, memory=_TWENTY_LAYERS_BYTES, cpu_limit_s=10.0),
    Mark(
        instance=_DEEP,
        memory=_TWENTY_LAYERS_BYTES,
        cpu_limit_s=240.0,
        most_gap_percent=0.3,
        is_beside_baselines=True,
    ),
)


def jobs() -> Iterator[Job]:
    """Yield a job for each mark."""
    for mark in MARKS:
        yield Job(
            problem="remat-sharding",
            name=f"{mark.instance} {mark.memory}",
            cpu_limit_s=mark.cpu_limit_s,
            measure=partial(_measured, mark),
        )


def _measured(mark: Mark) -> Row:
    problem = RematSharding(_instance(mark.instance), mark.memory)
    time_ns, bound_ns, cpu_s = _run(problem, "exact", mark.cpu_limit_s)
    gap = None if time_ns is None or bound_ns is None else 100 * (time_ns / bound_ns - 1)
    is_held = time_ns is not None
    if mark.most_gap_percent is not None:
        is_held = gap is not None and gap <= mark.most_gap_percent
    words = [f"in {mark.cpu_limit_s:g} CPU s"]
    words.append(
        "a plan" if mark.most_gap_percent is None else f"a gap of {mark.most_gap_percent:g} %"
    )
    notes = []
    if mark.is_beside_baselines:
        words.append("no baseline faster")
        for name in BASELINES:
            baseline_ns, _, _ = _run(problem, name, mark.cpu_limit_s)
            if baseline_ns is not None:
                is_held = is_held and time_ns is not None and time_ns <= baseline_ns
                notes.append(f"{name} {baseline_ns}")
    return Row(
        instance=f"{mark.instance}, {mark.memory}",
        method="exact",
        time_ns=time_ns,
        bound_ns=bound_ns,
        cpu_s=cpu_s,
        mark=", ".join(words),
        is_held=is_held,
        note="; ".join(notes),
    )


def _run(
    problem: RematSharding, method: str, cpu_limit_s: float
) -> tuple[int | None, int | None, float]:
    """Return plan and bound known within a CPU limit, and the seconds that were used."""
    started = cpu_seconds()
    known: list[Progress] = []

    def note(progress: Progress) -> None:
        if cpu_seconds() - started <= cpu_limit_s:
            known.append(progress)

    options = SolveOptions(time_limit_s=_PATIENCE * cpu_limit_s, gap=0, on_progress=note)
    with CpuLimit(cpu_limit_s):
        result = solve_with(problem, method, options)
    cpu_s = cpu_seconds() - started
    if cpu_s <= cpu_limit_s or not known:
        # Baselines report nothing while they run: what they have when they are ended counts.
        return result.time_ns, result.lower_bound_ns, cpu_s
    return known[-1].time_ns, known[-1].lower_bound_ns, cpu_s


def _instance(name: str) -> ShardedGraph:
    if name == _DEEP:
        return on_v100_mesh(named_program("encoder-20l"), (2, 4), 1, name)
    found = load(name)
    assert isinstance(found, ShardedGraph)
    return found
