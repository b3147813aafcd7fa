"""Columns of the model of `least_period`, with the sums that its rows are made of."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import lazy_loader as lazy

from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Place, Prefetch

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")

# A column, a sum of columns, or a number that takes its place; PuLP has no types.
Term: TypeAlias = Any


class EventColumns:
    """Columns of the model, in the order of its docstring.

    Parameters
    ----------
    frame
        The frame.
    problem
        The PuLP problem to which they are added.
    """

    def __init__(self, frame: EventFrame, problem: pulp.LpProblem) -> None:
        self.frame = frame
        self._problem = problem
        layers, prefetches = frame.layers, frame.prefetches
        self.T = self._period()
        self.s = self._starts()
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
            return self.s[place.operation] + self.frame.durations[place.operation]
        return self.s[place.operation]

    def end(self, place: Place) -> Term:
        """Return the time at which a place ends."""
        if place.is_idle:
            return self.s[place.operation + 1]
        return self.s[place.operation] + self.frame.durations[place.operation]

    def uploaded(self, layer: int, where: Container[Place]) -> Term:
        """Return 1 if the upload of a layer ends in one of some places."""
        return pulp.lpSum(column for at, column in self.qC[layer].items() if at in where)

    def prefetched(self, prefetch: Prefetch, where: Container[Place]) -> Term:
        """Return 1 if a prefetch starts in one of some places."""
        return pulp.lpSum(column for at, column in self.qP[prefetch].items() if at in where)

    def wrapped_upload(self, layer: int) -> Term:
        """Return 1 if the upload of a layer ends in the frame after that of its backward."""
        return _wrapped(self.frame, layer, self.qC[layer])

    def wrapped_prefetch(self, prefetch: Prefetch, layer: int) -> Term:
        """Return 1 if a prefetch starts in a frame after that of some layer's backward."""
        return _wrapped(self.frame, layer, self.qP[prefetch])

    def _period(self) -> Term:
        frame = self.frame
        if frame.is_period_given:
            return frame.most
        kind = pulp.LpInteger if frame.counts_nanoseconds else pulp.LpContinuous
        return self._problem.add_variable("T", frame.least, frame.most, cat=kind)

    def _starts(self) -> list[Term]:
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


def _wrapped(frame: EventFrame, layer: int, placed: Mapping[Place, pulp.LpVariable]) -> Term:
    return pulp.lpSum(column for at, column in placed.items() if frame.is_wrapped(layer, at))


def _of(prefetch: Prefetch) -> str:
    return f"{prefetch.layer}_{prefetch.gap}"


def total(terms: Iterable[tuple[Term, float]]) -> Term:
    """Return a weighted sum."""
    return pulp.lpSum(term * weight for term, weight in terms)
