r"""Time and peak of a sequence of computations, without building and replaying a schedule.

A value lives from its computation to its last read before its node is computed again; the last
value of a kept node lives to the end, one that nothing reads only while it is computed
(`GraphSchedule.from_computations`). With :math:`a_p` the computation at place :math:`p` and
:math:`r_p \ge p` the place of the last read of its value, the memory in use there is

.. math:: W_{a_p} + \sum_{q \le p \le r_q} M_{a_q} ,

and the peak is the largest of these. All of them come from one sorted array of (node, place), in
which each read finds the computation that it reads, and one running sum. It is used to compare
candidates; the schedule that a method returns is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_graph.graph import Graph


class PlanMeasure:
    """Measure of staged sequences of computations of one graph.

    In a sequence every recomputation is read later, as in `GraphSchedule.computations`, and each
    node is computed at most once in each stage. Then all sums stay below 2^60, as those of the
    instance do.
    """

    def __init__(self, graph: Graph) -> None:
        self._duration_ns = np.array([node.duration_ns for node in graph.nodes], dtype=np.int64)
        self._output_bytes = np.array([node.output_bytes for node in graph.nodes], dtype=np.int64)
        self._workspace_bytes = np.array(
            [node.workspace_bytes for node in graph.nodes], dtype=np.int64
        )
        self._kept = np.flatnonzero([node.keep for node in graph.nodes])
        self._degree = np.array([len(sources) for sources in graph.inputs], dtype=np.int64)
        self._start = np.cumsum(self._degree) - self._degree
        self._sources = np.array(
            [source for sources in graph.inputs for source in sources], dtype=np.int64
        )

    def time_ns(self, computations: Sequence[int]) -> int:
        """Return the sum of the durations. Linear in the number of computations."""
        return int(self._duration_ns[np.asarray(computations, dtype=np.int64)].sum())

    def peak_bytes(self, computations: Sequence[int]) -> int:
        r"""Return the peak of the schedule that frees each value as early as it can.

        :math:`O(k (1 + d) \log k)` for `k` computations of `d` inputs.
        """
        nodes = np.asarray(computations, dtype=np.int64)
        count = len(nodes)
        last_read = self._last_reads(nodes)
        size = self._output_bytes[nodes]
        change = np.zeros(count + 1, dtype=np.int64)
        change[:count] = size
        np.subtract.at(change, last_read + 1, size)
        return int((np.cumsum(change[:count]) + self._workspace_bytes[nodes]).max())

    def _last_reads(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each computation the index of the last read of its value, else its own."""
        count = len(nodes)
        order = np.argsort(nodes, kind="stable")
        key = nodes[order] * count + order
        degree = self._degree[nodes]
        reader = np.repeat(np.arange(count), degree)
        within = np.arange(len(reader)) - np.repeat(np.cumsum(degree) - degree, degree)
        source = self._sources[np.repeat(self._start[nodes], degree) + within]
        # The last computation of the source before the place of its reader.
        read = order[np.searchsorted(key, source * count + reader) - 1]
        last_read = np.arange(count)
        np.maximum.at(last_read, read, reader)
        # The last computation of a kept node is the one before all of the next node.
        last_read[order[np.searchsorted(key, (self._kept + 1) * count) - 1]] = count - 1
        return last_read
