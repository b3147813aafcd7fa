"""Grids of memory for a pipeline: how fine they may be, and the tables of the devices on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.smaller_gradients import (
    has_larger_gradients,
    with_smaller_gradients,
)
from jettison.solvers.core.clock import Clock
from jettison.solvers.pipeline_chain.device_times import DeviceTimes, PipelineNeeds, device_times
from jettison.solvers.pipeline_chain.pipeline_params import PipelineParams


@dataclass(frozen=True)
class Grid:
    """Tables of one grid.

    Attributes
    ----------
    plans, floor
        Times with sizes rounded up, and rounded down.
    is_exact
        Whether nothing is rounded, so that both are the same.
    """

    plans: DeviceTimes
    floor: DeviceTimes
    is_exact: bool


class Grids:
    """Grids for one problem.

    Parameters
    ----------
    problem, params, clock
        The problem, what grids may take, and what ends the filling of a table early.
    most_work
        Additions that a table may take, by estimate.

    Attributes
    ----------
    needs, floor_needs
        What devices need, for plans and for bounds.
    most_work
        As given; it may be changed.
    """

    def __init__(
        self, problem: PipelineChain, params: PipelineParams, clock: Clock, most_work: float
    ) -> None:
        self.problem, self._params, self._clock = problem, params, clock
        self.most_work = most_work
        chain = problem.instance
        self.needs = PipelineNeeds(problem, chain)
        smaller = has_larger_gradients(chain)
        self.floor_needs = (
            PipelineNeeds(problem, with_smaller_gradients(chain)) if smaller else self.needs
        )

    def first_slots(self, within: NDArray[np.bool_]) -> int:
        """Return the slots of the first grid for some parts."""
        slots = self._params.first_slots
        while slots // 2 >= self._params.least_slots and not self.may_take(within, slots):
            slots //= 2
        return slots

    def may_take(self, within: NDArray[np.bool_], slots: int) -> bool:
        """Tell whether a grid stays within the limits on slots, work and memory."""
        count = len(self.problem.instance)
        anywhere: NDArray[np.bool_] = np.logical_or.reduce(within, axis=0)
        lengths = np.where(anywhere.any(axis=0), np.arange(count) + 1 - anywhere.argmax(axis=0), 0)
        # A part asks for one row in K slots where K > 1 micro-batches are in flight, else for one.
        flying = np.array(
            [self.problem.in_flight(at + 1) for at in range(self.problem.devices)], dtype=np.int64
        )[:, None, None]
        rooms = np.where(within, self.needs.room_bytes, 0)
        asked = np.where(flying > 1, rooms / max(1, rooms.max(initial=0)) * slots / flying, 0) + 1
        rows = np.minimum(slots + 1, np.where(within, asked, 0).sum(axis=(0, 1)))
        # Half of the pairs of stages, and half of the slots of a row, are met.
        work = float((lengths.astype(float) ** 2 / 2 * (rows / 2 + 1) * slots).sum())
        # A part of rotor's table begins with the first stage from which any part is asked.
        return (
            slots <= self._params.most_slots
            and work <= self.most_work
            and int(lengths.sum()) * (slots + 1) <= self._params.most_entries
        )

    def filled(self, within: NDArray[np.bool_], slots: int) -> Grid:
        """Return the tables of some parts, on a grid without rounding where that is as cheap."""
        exact = self.needs.exact_slots(within)
        is_exact = (
            exact is not None
            and exact <= max(slots, self._params.most_exact_slots)
            and self.may_take(within, max(1, exact))
        )
        if is_exact and exact is not None:
            slots = max(1, exact)
        plans = self._table(self.needs, within, slots, rounds_up=True)
        if is_exact and self.floor_needs is self.needs:
            return Grid(plans, plans, is_exact)
        floor = self._table(self.floor_needs, within, slots, rounds_up=False)
        return Grid(plans, floor, is_exact)

    def _table(
        self, needs: PipelineNeeds, within: NDArray[np.bool_], slots: int, *, rounds_up: bool
    ) -> DeviceTimes:
        left_s = self._clock.left_s
        return device_times(
            needs,
            within,
            slots,
            rounds_up=rounds_up,
            most_entries=self._params.most_entries,
            time_limit_s=None if math.isinf(left_s) else left_s,
        )
