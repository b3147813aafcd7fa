"""Judge of transfers on a shared link, which counts nanosecond by nanosecond what they move."""

from __future__ import annotations

from fractions import Fraction

from jettison import Link
from jettison.core import Replay

_NS_PER_S = 10**9


def moved_as_the_link_does(replay: Replay, link: Link) -> bool:
    """Tell whether every transfer takes as long as the link does, rounded up."""
    for item in replay.transfers:
        others = [other for other in replay.transfers if other.to_host is not item.to_host]
        moved = before = Fraction(0)
        for now_ns in range(item.start_ns, item.end_ns):
            both = any(other.start_ns <= now_ns < other.end_ns for other in others)
            rate = Fraction(link.total_bytes_per_s, 2) if both else Fraction(link.bytes_per_s)
            before, moved = moved, moved + rate / _NS_PER_S
        if item.size_bytes and not before < item.size_bytes <= moved:
            return False
    return True
