"""The fastest of all schedules of a tiny chain on a link that both directions share.

The search of `unrestricted` with the rules of copies replaced, nanosecond by nanosecond: a copy has
units of work left, of which a byte is two, and loses what its direction moves in each nanosecond.
Anything may also wait: a copy that starts later may leave the link to a more urgent one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain
from tests.remat_offload.oracles.unrestricted import Copying, Moment, OffloadSearch, Tensor


class SharedSearch(OffloadSearch):
    """The search for one chain, one memory and whole bytes per ns, of one direction and of both."""

    def __init__(self, chain: Chain, memory_bytes: int, alone: int, together: int) -> None:
        self.chain = chain
        self.memory_bytes = memory_bytes
        self.alone = 2 * alone
        self.together = together
        self.count = len(chain.stages)

    def next_moments(self, moment: Moment) -> Iterator[tuple[int, Moment]]:
        """Yield each decision that can be made now, and the next nanosecond."""
        for wait_ns, after in super().next_moments(moment):
            if wait_ns == 0:
                yield 0, after
        lanes = (moment.operation, moment.to_host, moment.from_host)
        if any(lane is not None for lane in lanes):
            step_ns = 0 if moment.operation is not None and not moment.operation.left_ns else 1
            for after in self.with_room(self.passed(moment, step_ns), 0, frozenset()):
                yield step_ns, after

    def passed(self, moment: Moment, time_ns: int) -> Moment:
        """Return the moment so much later."""
        both = moment.to_host is not None and moment.from_host is not None
        moved = time_ns * (self.together if both else self.alone)
        to_host, from_host = (
            self._moved(moment.to_host, moved),
            self._moved(moment.from_host, moved),
        )
        # What still moves has more left than passes here, and what has ended as much.
        return super().passed(
            replace(
                moment,
                to_host=None
                if to_host is None
                else replace(to_host, left_ns=to_host.left_ns + time_ns),
                from_host=None
                if from_host is None
                else replace(from_host, left_ns=from_host.left_ns + time_ns),
            ),
            time_ns,
        )

    @staticmethod
    def _moved(copy: Copying | None, moved: int) -> Copying | None:
        return None if copy is None else replace(copy, left_ns=max(0, copy.left_ns - moved))

    def copy_ns(self, tensor: Tensor) -> int:
        """Return the work of a copy, in the place of its time."""
        return 2 * self.size_bytes(tensor)
