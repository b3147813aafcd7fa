"""Link on which one direction slows down the other, in exact integers."""

from __future__ import annotations

from jettison.instances.core.link import Link

# A byte is this many units of work, so that the rates are integers per nanosecond.
_UNITS_PER_BYTE = 2 * 10**9


class SharedLink:
    """State of a link with at most one transfer in each direction.

    A transfer that is alone moves at the rate of the link. Two at a time, one in each direction,
    share the total of the link in equal parts. Transfers start and end at whole nanoseconds: what
    ends within one ends with it, and shares the link until then.

    Parameters
    ----------
    link
        The link.
    """

    def __init__(self, link: Link) -> None:
        self._alone = 2 * link.bytes_per_s
        self._together = link.total_bytes_per_s
        # Units that the transfer of each direction has left; a direction without one is absent.
        self._left: dict[bool, int] = {}
        self._now_ns = 0

    def is_free(self, to_host: bool) -> bool:
        """Tell whether a direction carries nothing."""
        return to_host not in self._left

    def start(self, to_host: bool, size_bytes: int, now_ns: int) -> None:
        """Start a transfer of at least one byte at `now_ns`, which is not in the past."""
        self.advance(now_ns)
        self._left[to_host] = size_bytes * _UNITS_PER_BYTE

    def next_end(self) -> tuple[int, bool] | None:
        """Return when the next transfer ends if nothing else starts, and its direction.

        Where both end at once, it is the one to the host.
        """
        if not self._left:
            return None
        rate = self._rate
        left, from_host = min((left, not to_host) for to_host, left in self._left.items())
        return self._now_ns + max(0, -(-left // rate)), not from_host

    def end(self, to_host: bool, now_ns: int) -> None:
        """Take away the transfer of a direction, which ends at `now_ns`."""
        self.advance(now_ns)
        del self._left[to_host]

    def advance(self, now_ns: int) -> None:
        """Let time pass in which no transfer starts or ends."""
        moved = (now_ns - self._now_ns) * self._rate if self._left else 0
        self._left = {to_host: left - moved for to_host, left in self._left.items()}
        self._now_ns = now_ns

    @property
    def _rate(self) -> int:
        return self._together if len(self._left) == 2 else self._alone
