"""Marks of several models in one memory: gaps on six networks in 12 GiB, and exact answers.

A row is a case with what was found and whether its mark is held. Limits are CPU seconds of one
thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.cpu_clock import CpuLimit, cpu_seconds
from benchmarks.marks.job import Job
from benchmarks.marks.row import Row
from jettison.instances.catalog import load
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with

MEMORY = "12GiB"
NETWORK_CPU_S = 60.0
MOST_GAP_PERCENT = 2.0
# Two models of so many operators and feature maps, in a memory in which one fits with all kept.
PAIR_OPERATORS, PAIR_MAPS = 14, 10
PAIR_CPU_S = 60.0
PAIR_SEEDS = range(3)
# Wall-clock seconds for each CPU second, after which a busy machine is given up.
_PATIENCE = 30.0


def jobs() -> Iterator[Job]:
    """Yield a job for each mark."""
    for network in FUSED_NETWORKS:
        yield Job(
            problem="multi-model",
            name=f"{network}-x8 {MEMORY}",
            cpu_limit_s=NETWORK_CPU_S,
            measure=partial(_network, f"{network}-x8"),
        )
    for seed in PAIR_SEEDS:
        yield Job(
            problem="multi-model",
            name=f"pair of {PAIR_MAPS} feature maps, seed {seed}",
            cpu_limit_s=PAIR_CPU_S,
            measure=partial(_pair, seed),
        )


def _network(name: str) -> Row:
    """Measure local search beside the bound, which share the limit."""
    models = load(name)
    assert isinstance(models, MultiModel)
    problem = MultiModelTraining(models, MEMORY)
    bound, bound_s = _run(problem, "bound", NETWORK_CPU_S / 2)
    found, found_s = _run(problem, "local-search", NETWORK_CPU_S / 2)
    time_ns, bound_ns = found.time_ns, bound.lower_bound_ns
    is_held = (
        time_ns is not None
        and bound_ns is not None
        and 100 * (time_ns / bound_ns - 1) <= MOST_GAP_PERCENT
    )
    return Row(
        instance=f"{name}, {MEMORY}",
        method="local-search",
        time_ns=time_ns,
        bound_ns=bound_ns,
        cpu_s=bound_s + found_s,
        mark=f"in {NETWORK_CPU_S:g} CPU s, a gap of {MOST_GAP_PERCENT:g} %",
        is_held=is_held,
    )


def _pair(seed: int) -> Row:
    models = RandomModels(operators=PAIR_OPERATORS, tensors=PAIR_MAPS, models=2).draw(seed)
    one, two = models.sub_array(1), models.sub_array(2)
    least_bytes = 2 * one.static_bytes + one.largest_peak_bytes
    room_bytes = max(0, two.store_all_peak_bytes - least_bytes)
    problem = MultiModelTraining(models, least_bytes + room_bytes // 2)
    result, cpu_s = _run(problem, "exact", PAIR_CPU_S)
    return Row(
        instance=f"random pair of {PAIR_MAPS} feature maps, seed {seed}",
        method="exact",
        time_ns=result.time_ns,
        bound_ns=result.lower_bound_ns,
        cpu_s=cpu_s,
        mark=f"settled in {PAIR_CPU_S:g} CPU s",
        is_held=result.status in {"optimal", "infeasible"},
    )


def _run(problem: MultiModelTraining, method: str, limit_s: float) -> tuple[Result, float]:
    started_s = cpu_seconds()
    with CpuLimit(limit_s):
        options = SolveOptions(time_limit_s=_PATIENCE * limit_s, gap=0)
        result = solve_with(problem, method, options)
    return result, cpu_seconds() - started_s
