r"""Gap between a schedule and a bound, as a share of the schedule's overhead.

With a schedule of time :math:`T`, a lower bound :math:`b \le T` and the base time :math:`c \le b`,
which no schedule goes below (every operation once, no waiting), the gap is

.. math:: \frac{T - b}{T - c},

the part of the overhead :math:`T - c` that may be avoidable; 0 where the bound meets the time. Most
of a step's time no schedule avoids: a share of :math:`T` would call a schedule close to the best
that wastes most of what it could save. Everything that jettison calls a gap is this.
"""

from __future__ import annotations


def gap_of(time_ns: int, bound_ns: int, base_ns: int) -> float:
    """Return the share of a schedule's overhead that a bound leaves open; 0 to 1."""
    open_ns = time_ns - max(bound_ns, base_ns)
    return open_ns / (time_ns - base_ns) if open_ns > 0 else 0.0


def gap_of_step(time_ns: int, bound_ns: int) -> float:
    """Return the share of a schedule's whole time that a bound leaves open; 0 to 1."""
    return max(0, time_ns - bound_ns) / time_ns if time_ns else 0.0


def most_open_ns(gap: float, time_ns: int, base_ns: int) -> int:
    """Return the largest distance between a time and its bound for a gap of at most `gap`."""
    return int(gap * max(0, time_ns - base_ns))
