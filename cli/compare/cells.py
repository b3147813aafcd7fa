"""Cells of the tables of `jettison compare`."""

from __future__ import annotations

from jettison.instances.core.card import as_card
from jettison.instances.core.units import format_bytes, format_ns, percent
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.result import Result

# Methods side by side differ in the later digits.
_DIGITS = 5


def nanoseconds(duration_ns: int | None) -> str:
    """Write a duration with as many digits as methods differ in, or a dash."""
    return "-" if duration_ns is None else format_ns(duration_ns, _DIGITS)


def title_of(result: Result) -> str:
    """Write problem, instance, and the time of what gaps and overheads are relative to."""
    problem = result.problem
    reference = kind_of(problem).reference(problem)
    base = nanoseconds(reference.time_ns)
    return f"{problem.problem} {problem.instance.name}, {base} without {reference.without}"


def overhead(result: Result) -> str:
    """Write the share by which a schedule exceeds the time without recomputation."""
    base_ns = kind_of(result.problem).reference(result.problem).time_ns
    if result.time_ns is None or base_ns == 0:
        return "-"
    return percent(result.time_ns / base_ns - 1)


def peak(result: Result) -> str:
    """Write the peak of the schedule."""
    return "-" if result.peak_bytes is None else format_bytes(result.peak_bytes)


def peak_on_card(result: Result) -> str:
    """Write the peak of a schedule on its card, or the least card where nothing fits."""
    card, proof = as_card(result.problem.memory), result.infeasibility
    if card is None:
        return "-"
    if result.peak_bytes is not None:
        return format_bytes(card.with_plan(result.peak_bytes))
    if proof is None or proof.least_memory_bytes is None:
        return "-"
    return f">= {format_bytes(card.with_plan(proof.least_memory_bytes))}"


def certified(result: Result) -> str:
    """Write the bound that a checked certificate proves for a result."""
    refuted = result.infeasibility
    if refuted is not None:
        return "infeasible" if refuted.evidence is Evidence.CERTIFICATE else "-"
    bound = result.certified_bound
    if bound is None:
        return "-"
    # The class of schedules is that of the bound that counts, unless it is named.
    same = result.bound is not None and result.bound.valid_for is bound.valid_for
    suffix = "" if same else f" ({bound.valid_for})"
    return f"{nanoseconds(bound.time_ns)}{suffix}"


def bound_and_class(bound: Bound) -> str:
    """Write a bound with the class of schedules that it holds for."""
    return f"{nanoseconds(bound.time_ns)} ({bound.valid_for})"
