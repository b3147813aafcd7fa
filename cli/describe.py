"""Rows of a printed answer: the same facts in the same words in every command."""

from __future__ import annotations

from jettison.cli.output import percent
from jettison.instances.core.units import BYTE_UNITS, NANOSECOND_UNITS, format_bytes, format_ns
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.sharding.problem import Sharding
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.replay import Replay
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import Infeasibility, Problem
from jettison.solvers.core.result import base_time_of, link_of, overheads_of, transfers_of

Rows = list[tuple[str, str]]


def size(amount_bytes: int) -> str:
    """Write an amount of memory for a person, and to the byte."""
    if amount_bytes < BYTE_UNITS["KiB"]:
        return f"{amount_bytes} bytes"
    return f"{format_bytes(amount_bytes)} ({amount_bytes} bytes)"


def span(time_ns: int, *remarks: str) -> str:
    """Write a time for a person, and in brackets to the nanosecond, with what is to be remarked."""
    exact = [f"{time_ns} ns"] if time_ns >= NANOSECOND_UNITS["us"] else []
    inside = ", ".join([*exact, *remarks])
    return f"{format_ns(time_ns)} ({inside})" if inside else format_ns(time_ns)


def compared_ns(problem: Problem) -> int:
    """Return the time that others are compared to: the base time, or the fastest plan's.

    The base time of a sharded graph need not be that of a plan; the fastest plan, where the graph
    names one, is what shares of memory refer to as well.
    """
    if isinstance(problem, RematSharding) and problem.instance.fastest:
        return with_strategies(problem.instance, problem.instance.fastest).base_time_ns
    return base_time_of(problem)


def baseline(problem: Problem) -> str:
    """Say what a step of that time does without."""
    if isinstance(problem, RematSharding) and problem.instance.fastest:
        return "limit on memory"
    if isinstance(problem, Sharding):
        return "interaction"
    if isinstance(problem, MultiModelTraining):
        return "recomputation or waiting"
    return "waiting" if isinstance(problem, WeightOffload) else "recomputation"


def duration(problem: Problem, time_ns: int) -> str:
    """Write the time of a step, to the nanosecond, and what it has over what it is compared to."""
    base_ns = compared_ns(problem)
    overhead = time_ns / base_ns - 1 if base_ns else 0.0
    # A schedule that breaks rules can be faster than the step itself.
    sign = "" if overhead < 0 else "+"
    return span(time_ns, f"{sign}{percent(overhead)} over no {baseline(problem)}")


def problem_rows(problem: Problem) -> Rows:
    """Say what was asked."""
    rows = [
        ("problem", f"{problem.problem} {problem.instance.name}"),
        ("memory", size(problem.memory_bytes)),
    ]
    link, transfers = link_of(problem), transfers_of(problem)
    if link is not None:
        manner = "" if transfers is None else f", transfers {transfers}"
        rows.append(("link", f"{link} each way{manner}"))
    return rows


def overhead_rows(problem: Problem, replay: Replay | None) -> Rows:
    """Say what goes into recomputation and waiting, where the problem tells them apart."""
    return [
        (key.removesuffix("_ns"), span(spent_ns))
        for key, spent_ns in overheads_of(problem, replay).items()
        if spent_ns is not None
    ]


def limit_rows(
    infeasibility: Infeasibility | None,
    bound: Bound | None,
    bound_of_all: Bound | None,
    gap: float | None,
) -> Rows:
    """Say what is impossible: any schedule in this memory, or a faster one than the bound.

    Where the bound is for a class of schedules, the one for all of them stands beside it.
    """
    if infeasibility is not None:
        if infeasibility.least_memory_bytes is None:
            rows = [("least memory", "none would do: what is forbidden leaves no choice")]
            if infeasibility.needed_by is not None:
                rows.append(("without a choice", infeasibility.needed_by))
            return rows
        word = "least memory" if infeasibility.is_exact else "least memory, at least"
        rows = [(word, size(infeasibility.least_memory_bytes))]
        if infeasibility.needed_by is not None:
            rows.append(("needed by", infeasibility.needed_by))
        return rows
    if bound is None:
        return []
    rows = [
        ("lower bound", span(bound.time_ns, bound.method)),
        ("valid for", f"{bound.valid_for}, by {bound.evidence}"),
        ("gap", percent(gap)),
    ]
    if bound_of_all is not None and bound.valid_for is not bound_of_all.valid_for:
        rows.append(
            ("all schedules", f"at least {span(bound_of_all.time_ns, bound_of_all.method)}")
        )
    return rows
