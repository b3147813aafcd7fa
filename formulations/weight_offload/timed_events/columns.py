"""Columns of the model of `least_period`, with the sums that its rows are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch

if TYPE_CHECKING:
    import pulp

    # A column, a sum of columns, or a number that takes its place.
    Term = pulp.LpVariable | pulp.LpAffineExpression | float
else:
    pulp = lazy.load("pulp")


class EventColumns:
    """Columns of the model, in the order of its docstring.

    Parameters
    ----------
    frame
        The frame.
    problem
        The PuLP problem to which they are added.
    period
        The period, where it is given; None for a column.
    """

    def __init__(
        self, frame: EventFrame, problem: pulp.LpProblem, period: float | None
    ) -> None:
        self.frame = frame
        self._problem = problem
        layers, prefetches = frame.layers, frame.prefetches
        self.T = self._period(period)
        self.s = self._starts(period)
        self.c = {i: self._binary(f"c_{i}") for i in layers}
        self.y = {x: self._binary(f"y_{_of(x)}") for x in prefetches}
        self.tC = {i: self._time(f"tC_{i}") for i in layers}
        self.tP = {x: self._time(f"tP_{_of(x)}") for x in prefetches}
        self.qC = {
            i: {at: self._binary(f"qC_{i}_{at.number}") for at in frame.upload_places(i)}
            for i in layers
        }
        self.qP = {
            x: {at: self._binary(f"qP_{_of(x)}_{at.number}") for at in frame.prefetch_places(x)}
            for x in prefetches
        }
        self._oC = {(i, j): self._binary(f"oC_{i}_{j}") for i in layers for j in layers if i < j}
        self._oP = {
            (x, z): self._binary(f"oP_{_of(x)}_{_of(z)}")
            for x in prefetches
            for z in prefetches
            if x < z
        }
        self.dC = {
            (j, x): self._binary(f"dC_{j}_{_of(x)}")
            for x in prefetches
            for j in layers
            if j != x.layer
        }
        self.A = {
            (i, k): self._part(f"A_{i}_{k}")
            for k, operation in enumerate(frame.problem.cycle)
            for i in layers
            if i != operation.layer
        }
        self.a = {
            (z, x): self._part(f"a_{_of(z)}_{_of(x)}")
            for x in prefetches
            for z in prefetches
            if z.layer != x.layer
        }

    def oC(self, first: int, second: int) -> Term:  # noqa: N802
        """Return 1 if the upload of one layer ends before that of another one in the frame."""
        if first < second:
            return self._oC[first, second]
        return 1 - self._oC[second, first]

    def oP(self, first: Prefetch, second: Prefetch) -> Term:  # noqa: N802
        """Return 1 if one prefetch starts before another one in the frame."""
        if first < second:
            return self._oP[first, second]
        return 1 - self._oP[second, first]

    def start(self, place: Place) -> Term:
        """Return the time at which a place begins."""
        if place.is_idle:
            return self.s[place.index] + self.frame.durations[place.index]
        return self.s[place.index]

    def end(self, place: Place) -> Term:
        """Return the time at which a place ends."""
        if place.is_idle:
            return self.s[place.index + 1]
        return self.s[place.index] + self.frame.durations[place.index]

    def uploaded(self, layer: int, where: Callable[[Place], bool]) -> Term:
        """Return 1 if the upload of a layer ends in one of some places."""
        return pulp.lpSum(column for at, column in self.qC[layer].items() if where(at))

    def prefetched(self, prefetch: Prefetch, where: Callable[[Place], bool]) -> Term:
        """Return 1 if a prefetch starts in one of some places."""
        return pulp.lpSum(column for at, column in self.qP[prefetch].items() if where(at))

    def wrapped_upload(self, layer: int) -> Term:
        """Return 1 if the upload of a layer ends in the frame after that of its backward."""
        return self.uploaded(layer, lambda at: self.frame.is_wrapped(layer, at))

    def wrapped_prefetch(self, prefetch: Prefetch, layer: int) -> Term:
        """Return 1 if a prefetch starts in a frame after that of some layer's backward."""
        return self.prefetched(prefetch, lambda at: self.frame.is_wrapped(layer, at))

    def _period(self, period: float | None) -> Term:
        if period is not None:
            return period
        kind = pulp.LpInteger if self.frame.counts_nanoseconds else pulp.LpContinuous
        return self._problem.add_variable("T", sum(self.frame.durations), self.frame.most, cat=kind)

    def _starts(self, period: float | None) -> list[Term]:
        """Return the starts of the operations, and the period after them."""
        frame = self.frame
        starts: list[Term] = []
        earliest = 0.0
        for k, duration in enumerate(frame.durations):
            latest = frame.most - sum(frame.durations[k:])
            is_fixed = k == 0 or not frame.has_idle_places
            starts.append(
                earliest if is_fixed else self._problem.add_variable(f"s_{k}", earliest, latest)
            )
            earliest += duration
        return [*starts, self.T]

    def _binary(self, name: str) -> pulp.LpVariable:
        return self._problem.add_variable(name, cat=pulp.LpBinary)

    def _time(self, name: str) -> pulp.LpVariable:
        return self._problem.add_variable(name, 0, self.frame.most)

    def _part(self, name: str) -> pulp.LpVariable:
        return self._problem.add_variable(name, 0, 1)


def _of(prefetch: Prefetch) -> str:
    return f"{prefetch.layer}_{prefetch.gap}"


def total(terms: Iterable[tuple[Term, float]]) -> Term:
    """Return a weighted sum."""
    return pulp.lpSum(term * weight for term, weight in terms)
