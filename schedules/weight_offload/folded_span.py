"""Spans of time in a cycle, wrapped into one period."""

from __future__ import annotations


def folded_span(start_ns: int, end_ns: int, period_ns: int) -> list[tuple[int, int]]:
    """Return the parts of a span that starts in a period; what crosses its end is wrapped."""
    if end_ns <= period_ns:
        return [(start_ns, end_ns)]
    if end_ns - start_ns >= period_ns:
        return [(0, period_ns)]
    return [(start_ns, period_ns), (0, end_ns - period_ns)]
