r"""Placement of prefetches between the computations of a round.

Memory is counted as if all offloads were complete (`RoundOrder`). A feature map can come back for
the computation that reads it first, or as many computations earlier as all needs allow with it.
Feature maps are handled in the order in which they are read, and one without a prompt does not come
back before the one that is read before it.

Among these positions, a prefetch takes the last one at which it is in time, if computations never
wait: with :math:`s_k` its start, :math:`d_k` its duration and :math:`u_k` the start of what reads
it, :math:`s_k = \min(u_k, s_{k+1}) - d_k`. An earlier return gains nothing, and takes memory for
which others may have to wait. A prefetch with a prompt takes the first position after its prompt,
and prefetches are issued in the order of these positions, as in µ-TWO's Algorithm H.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.multi_model.operation import MultiModelAction
from jettison.solvers.multi_model.executor.order import Computation


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Prefetch with its range of positions in a round.

    Attributes
    ----------
    array, place
        The sub-array, and the position of the feature map.
    size_bytes, swap_ns
        The size of the feature map, and the duration of the copy.
    trigger, use
        The prefetch is issued before computation `use` of the round, and not before the one that
        precedes computation `trigger` has started.
    """

    array: int
    place: int
    size_bytes: int
    swap_ns: int
    trigger: int
    use: int


class PrefetchPlanner:
    """Planner that places the prefetches of one round.

    Parameters
    ----------
    array, number
        The sub-array whose backward pass runs, and its place in the unit.
    swaps_ns
        Duration of a copy of each of its feature maps.
    memory_bytes
        The limit, which no need of the computations exceeds.
    """

    def __init__(
        self, array: SubArray, number: int, swaps_ns: Sequence[int], memory_bytes: int
    ) -> None:
        self._array = array
        self._number = number
        self._swaps_ns = swaps_ns
        self._memory_bytes = memory_bytes

    def place(
        self, computations: Sequence[Computation], prompts: Mapping[int, int]
    ) -> list[Prefetch]:
        """Return the prefetches in the order in which they are issued.

        Parameters
        ----------
        computations
            Those of the round.
        prompts
            Backward operators after which feature maps may be prefetched, or -1.

        Notes
        -----
        Time O(n f) for n computations and f prefetches.
        """
        earliest = self._earliest(computations, prompts)
        starts_ns = list(accumulate((item.run_ns for item in computations), initial=0))
        latest_ns = starts_ns[-1]
        placed = []
        for prefetch in reversed(earliest):
            latest_ns = min(latest_ns, starts_ns[prefetch.use]) - prefetch.swap_ns
            trigger = prefetch.trigger
            if prefetch.place not in prompts:
                in_time = bisect_right(starts_ns, latest_ns, 0, prefetch.use)
                trigger = max(trigger, in_time)
            placed.append(replace(prefetch, trigger=trigger))
        placed.reverse()
        return _in_order_of_issue(placed)

    def _earliest(
        self, computations: Sequence[Computation], prompts: Mapping[int, int]
    ) -> list[Prefetch]:
        """Return the prefetches, each as early as memory and its prompt allow."""
        needs_bytes = [item.need_bytes for item in computations]
        backward_at: dict[int, int] = {}
        offloaded_at: dict[int, int] = {}
        for at, item in enumerate(computations):
            operation = item.operation
            if operation.array == self._number:
                if operation.action is MultiModelAction.BACKWARD:
                    backward_at[operation.position] = at
                for place in item.offloads:
                    offloaded_at[place] = at
        found: list[Prefetch] = []
        last_trigger = 0
        # Where the backward pass begins: a sub-array alone runs its own forward pass before.
        begun = sum(
            item.operation.action is MultiModelAction.FORWARD
            and item.operation.array == self._number
            for item in computations
        )
        for use, item in enumerate(computations):
            for place in item.fetches:
                size_bytes = self._array.tensors[place].size_bytes
                # The feature maps of a pair were offloaded in the round before.
                earliest = offloaded_at.get(place, -1) + 1
                if place not in prompts:
                    earliest = max(earliest, last_trigger)
                else:
                    prompted = backward_at[prompts[place]] + 1 if prompts[place] >= 0 else begun
                    earliest = max(earliest, min(prompted, use))
                most_bytes = self._memory_bytes - size_bytes
                trigger = use
                while trigger > earliest and needs_bytes[trigger - 1] <= most_bytes:
                    trigger -= 1
                    needs_bytes[trigger] += size_bytes
                last_trigger = trigger
                found.append(
                    Prefetch(self._number, place, size_bytes, self._swaps_ns[place], trigger, use)
                )
        return _in_order_of_issue(found)


def _in_order_of_issue(prefetches: Sequence[Prefetch]) -> list[Prefetch]:
    """Sort prefetches by their triggers; none is used later than one that is issued after it."""
    ordered = sorted(prefetches, key=lambda item: item.trigger)
    use = ordered[-1].use if ordered else 0
    for at in range(len(ordered) - 1, -1, -1):
        use = min(use, ordered[at].use)
        ordered[at] = replace(ordered[at], use=use)
    return ordered
