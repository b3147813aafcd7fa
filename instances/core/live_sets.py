"""Memory in use over time, for values that each live during one half-open interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


def usage_over_time(parts: Iterable[tuple[Interval, int]]) -> list[tuple[int, int]]:
    r"""Return the memory in use as a step function: pairs (time, usage from then on), ascending.

    Parameters
    ----------
    parts
        (from, to) and a usage for each value; an interval with from = to is empty.

    Notes
    -----
    :math:`O(n \log n)`.
    """
    changes: dict[int, int] = {}
    for (begin, end), usage in parts:
        if begin < end and usage:
            changes[begin] = changes.get(begin, 0) + usage
            changes[end] = changes.get(end, 0) - usage
    profile: list[tuple[int, int]] = []
    usage = 0
    for time in sorted(changes):
        if changes[time]:
            usage += changes[time]
            profile.append((time, usage))
    return profile


def maximal_live_times(intervals: Sequence[Interval]) -> list[int]:
    r"""Return one time for each inclusion-maximal set of values that are live together.

    Whatever the non-negative usages are, their sum is largest at one of these times: the set of
    any other time is part of one of theirs. A set is maximal exactly at a beginning :math:`t` such
    that one of the intervals live at :math:`t` is over at the next beginning. There are at most as
    many as beginnings.

    Notes
    -----
    :math:`O(n \log n)`.
    """
    beginnings = sorted({begin for begin, end in intervals if begin < end})
    ends = sorted({end for begin, end in intervals if begin < end})
    times = []
    place = 0
    for number, begin in enumerate(beginnings):
        while ends[place] <= begin:
            place += 1
        if number + 1 == len(beginnings) or ends[place] <= beginnings[number + 1]:
            times.append(begin)
    return times
