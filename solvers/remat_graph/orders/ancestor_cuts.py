r"""Lower bound on the peak of a step without recomputation, for every order of its operators.

While unit :math:`v` runs, a set :math:`D` of units has run before: it holds the ancestors of
:math:`v`, none of its descendants, and with each unit all that it reads. In memory is the need of
:math:`v`, and each value of a unit of :math:`D` that is kept or has a reader outside :math:`D`. So
every order has a peak of at least

.. math:: \max_v \Big( need_v + \min_D \sum_{x \in live(D)} s_x \Big) .

The inner minimum is a minimum cut. The side of the source is :math:`D`; arcs without limit lead
from each unit to those it reads; of a value an arc of its size leads from its unit to a vertex of
its own, and from there arcs without limit to its readers: it is cut unless all of them are in
:math:`D`. Ancestors are the source, and descendants the sink, so that networks are as large as what
may run before or after :math:`v`.

Units are looked at by the bytes in memory while they run in known orders, which no bound for them
exceeds; when that is no more than the bound of another unit, the rest is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.orders.single_runs import SingleRuns
from jettison.solvers.remat_graph.planners.minimum_cut import FlowNetwork


class PeakBound:
    """Bound for one graph.

    Parameters
    ----------
    runs
        The graph as units.
    """

    def __init__(self, runs: SingleRuns) -> None:
        self._runs = runs
        count = len(runs)
        self._above = [0] * count
        self._below = [0] * count
        # Units are in a topological order, that of the graph.
        for unit in range(count):
            for source in runs.before[unit]:
                self._above[unit] |= self._above[source] | 1 << source
        for unit in reversed(range(count)):
            for reader in runs.after[unit]:
                self._below[unit] |= self._below[reader] | 1 << reader

    def over(self, orders: Sequence[Sequence[int]], clock: Clock) -> int:
        """Return the bound; orders are known ones, of units, that tell where to look first.

        When the clock runs out, the bound of the units looked at by then is returned: it is valid.
        """
        runs = self._runs
        most = [sum(value.size_bytes for value in runs.values) + need for need in runs.need_bytes]
        for order in orders:
            for unit, during in zip(order, runs.during_bytes(order), strict=True):
                most[unit] = min(most[unit], during)
        best = max(
            sum(value.size_bytes for value in runs.values if value.is_kept), *runs.need_bytes
        )
        for unit in sorted(range(len(runs)), key=lambda item: -most[item]):
            if most[unit] <= best or not clock.left_s:
                break
            best = max(best, self.at(unit))
        return best

    def at(self, unit: int) -> int:
        """Return the least number of bytes in memory, in any order, while a unit runs."""
        runs = self._runs
        done, never = self._above[unit], self._below[unit] | 1 << unit
        free = [i for i in range(len(runs)) if not (done | never) >> i & 1]
        run_first = set(self._least_side(free, done, never)) if free else set()
        live = 0
        for value in runs.values:
            is_made = done >> value.unit & 1 or value.unit in run_first
            is_over = all(done >> i & 1 or i in run_first for i in value.readers)
            if is_made and (value.is_kept or not is_over):
                live += value.size_bytes
        return live + runs.need_bytes[unit]

    def _least_side(self, free: Sequence[int], done: int, never: int) -> Iterable[int]:
        """Return those of the free units that run before, in a minimum cut."""
        runs = self._runs
        vertex = {unit: place + 2 for place, unit in enumerate(free)}
        touched = [
            value
            for value in runs.values
            if not never >> value.unit & 1
            and (value.unit in vertex or any(i in vertex for i in value.readers))
        ]
        network = FlowNetwork(2 + len(free) + len(touched))
        endless = 1 + sum(value.size_bytes for value in runs.values)

        def place_of(unit: int) -> int:
            if unit in vertex:
                return vertex[unit]
            return FlowNetwork.SOURCE if done >> unit & 1 else FlowNetwork.SINK

        for unit in free:
            for source in runs.before[unit]:
                if source in vertex:
                    network.add_arc(vertex[unit], vertex[source], endless)
        for number, value in enumerate(touched):
            maker, own = place_of(value.unit), 2 + len(free) + number
            if value.is_kept or any(never >> i & 1 for i in value.readers):
                # It is in memory wherever its unit has run.
                if maker != FlowNetwork.SOURCE:
                    network.add_arc(maker, FlowNetwork.SINK, value.size_bytes)
                continue
            network.add_arc(maker, own, value.size_bytes)
            for reader in value.readers:
                if reader in vertex:
                    network.add_arc(own, vertex[reader], endless)
        beyond = network.sink_side()
        return [unit for unit in free if vertex[unit] not in beyond]
