r"""Least period of events of which each follows others, in exact integers.

Given are arcs :math:`t_B \ge t_A + c - \omega T` with integers :math:`c` and
:math:`\omega \ge 0`. For one :math:`T` there are such times if no cycle of arcs has
:math:`\sum c > T \sum \omega`; then the longest paths are times, and they are integers. So the
least integer :math:`T` is the largest :math:`\lceil \sum c / \sum \omega \rceil` of all cycles: a
cycle that is too long for :math:`T` raises it, until there is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

Event = Hashable


class Arc(NamedTuple):
    r"""Rule that one event is no earlier than another: :math:`t_B \ge t_A + c - \omega T`.

    Attributes
    ----------
    first, second
        The events A and B.
    lasts_ns
        The least time :math:`c` from the one to the other.
    periods
        How many periods before B the event A is meant, :math:`\omega`.
    """

    first: Event
    second: Event
    lasts_ns: int
    periods: int


def least_times(arcs: Sequence[Arc], least_ns: int) -> tuple[int, dict[Event, int]] | None:
    """Return the least period from `least_ns` on, with times from 0; None if there is none.

    Notes
    -----
    A pass for n events takes :math:`O(n m)` for m arcs; each raises the period to the ratio of a
    cycle, of which few are met.
    """
    period_ns = least_ns
    while True:
        times_ns, cycle = _longest_paths(arcs, period_ns)
        if not cycle:
            return period_ns, times_ns
        periods = sum(arc.periods for arc in cycle)
        if periods <= 0:
            return None
        period_ns = -(-sum(arc.lasts_ns for arc in cycle) // periods)


def _longest_paths(arcs: Sequence[Arc], period_ns: int) -> tuple[dict[Event, int], list[Arc]]:
    """Return the longest paths from all events at 0, or a cycle that is too long."""
    events = dict.fromkeys(event for arc in arcs for event in arc[:2])
    times_ns = dict.fromkeys(events, 0)
    by: dict[Event, Arc] = {}
    raised = None
    for _ in range(len(events) + 1):
        raised = None
        for arc in arcs:
            least_ns = times_ns[arc.first] + arc.lasts_ns - arc.periods * period_ns
            if least_ns > times_ns[arc.second]:
                times_ns[arc.second] = least_ns
                by[arc.second] = arc
                raised = arc.second
        if raised is None:
            return times_ns, []
    # Who was raised in the last pass is on a cycle, or behind one.
    event: Event = raised
    for _ in events:
        event = by[event].first
    cycle = [by[event]]
    while cycle[-1].first != event:
        cycle.append(by[cycle[-1].first])
    return times_ns, cycle
