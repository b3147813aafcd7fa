"""Rows of a printed answer: the same facts in the same words in every command."""

from __future__ import annotations

from jettison.cli.output import percent
from jettison.instances.remat_offload_chain import RematOffloadChain
from jettison.instances.units import format_bytes, format_ns
from jettison.solvers.bound import Bound
from jettison.solvers.outcome import Infeasibility, Problem

Rows = list[tuple[str, str]]


def size(amount_bytes: int) -> str:
    """Write an amount of memory for a person, and to the byte."""
    return f"{format_bytes(amount_bytes)} ({amount_bytes} bytes)"


def duration(problem: Problem, time_ns: int) -> str:
    """Write the time of a step, to the nanosecond, and what it has over no recomputation."""
    base_ns = problem.instance.base_time_ns
    overhead = percent(time_ns / base_ns - 1 if base_ns else 0.0)
    return f"{format_ns(time_ns)} ({time_ns} ns, +{overhead} over no recomputation)"


def problem_rows(problem: Problem) -> Rows:
    """Say what was asked."""
    rows = [
        ("problem", f"{problem.problem} {problem.instance.name}"),
        ("memory", size(problem.memory_bytes)),
    ]
    if isinstance(problem, RematOffloadChain):
        rows.append(("link", f"{problem.link} each way, transfers {problem.transfers}"))
    return rows


def limit_rows(infeasibility: Infeasibility | None, bound: Bound | None, gap: float | None) -> Rows:
    """Say what is impossible: any schedule in this memory, or a faster one than the bound."""
    if infeasibility is not None:
        word = "least memory" if infeasibility.is_exact else "least memory, at least"
        return [(word, size(infeasibility.least_memory_bytes))]
    if bound is None:
        return []
    return [
        ("lower bound", f"{format_ns(bound.time_ns)} ({bound.time_ns} ns, {bound.method})"),
        ("valid for", f"{bound.valid_for}, by {bound.evidence}"),
        ("gap", percent(gap)),
    ]
