r"""Fastest step of a pipeline: tables of the devices on finer and finer grids, and cuts on them.

Each round fills two tables of `device_times`, with sizes rounded up for plans and rounded down for
bounds, or one where the grid is exact, and looks for cuts on them (`cutting`). Only parts are
looked at whose time without recomputation is at most a cap: with any other one the step takes more
than the cap for each micro-batch, which is a bound as well. The cap is raised until it reaches the
time of the best step for each micro-batch, so that nothing faster is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import MOST_MICROBATCHES, PipelineChain
from jettison.instances.remat_chain.smaller_gradients import (
    has_larger_gradients,
    with_smaller_gradients,
)
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule, spans_of
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.pipeline_chain.cutting import Cutting, Spans
from jettison.solvers.pipeline_chain.device_times import (
    NEVER_NS,
    DeviceTimes,
    PipelineNeeds,
    device_times,
)


@dataclass(frozen=True, kw_only=True)
class PipelineParams(Params):
    """Parameters of the search for a pipeline: its grids, and what the search for cuts may take.

    Attributes
    ----------
    first_slots
        Slots of the first grid; each further grid has twice as many.
    most_slots
        Slots of the finest grid.
    most_work
        Additions that a table of a grid may take, by estimate; a finer one is not begun.
    most_exact_slots
        A grid of up to so many slots on which nothing is rounded is the only one.
    most_entries
        Limit on the entries of rotor's table of a grid, of 8 bytes each.
    most_labels
        Labels of one state of the bound before labels are merged.
    most_cuts
        Cuts that the search looks at in a round before it gives up to close the gap.
    """

    first_slots: int = 100
    most_slots: int = 6400
    most_work: float = 4e9
    most_exact_slots: int = 300
    most_entries: int = 2**28
    most_labels: int = 2048
    most_cuts: int = 300


PIPELINE = PipelineParams()
# More than any step can take; the kernel adds to it.
_NO_LIMIT_NS = 2**60


@dataclass(frozen=True)
class Grid:
    """Tables of one grid.

    Attributes
    ----------
    plans, floor
        Times with sizes rounded up, and rounded down.
    is_exact
        Whether nothing is rounded, so that both are the same.
    is_last
        Whether no finer grid follows.
    """

    plans: DeviceTimes
    floor: DeviceTimes
    is_exact: bool
    is_last: bool


class PipelineSearch:
    """Search for the fastest step of one problem.

    Parameters
    ----------
    problem, params, clock
        The problem, what the search may take, and its time.

    Attributes
    ----------
    step_ns, schedule
        The fastest step so far; None if there is none.
    lower_bound_ns
        Lower bound on persistent schedules.
    refuted
        Whether no persistent schedule fits.
    """

    def __init__(self, problem: PipelineChain, params: PipelineParams, clock: Clock) -> None:
        self.problem, self._params, self._clock = problem, params, clock
        chain = problem.instance
        self.needs = PipelineNeeds(problem, chain)
        smaller = has_larger_gradients(chain)
        self.floor_needs = (
            PipelineNeeds(problem, with_smaller_gradients(chain)) if smaller else self.needs
        )
        self.schedule: PipelineSchedule | None = None
        self.step_ns: int | None = None
        self.lower_bound_ns = 0
        self.refuted = False
        self.slots = 0
        self.cuts = 0
        # Best cuts of any table, tried again on the next one.
        self._spans: Spans | None = None
        most = self.needs.base_ns[self.needs.room_bytes >= 0]
        self._largest_cap_ns = int(most.max(initial=0))
        self._cap_ns = min(self._largest_cap_ns, problem.least_bottleneck_ns * 5 // 4)

    @property
    def is_closed(self) -> bool:
        """Whether bound and step meet, or nothing fits."""
        return self.refuted or (self.step_ns is not None and self.step_ns <= self.lower_bound_ns)

    def grids(self) -> Iterator[Grid]:
        """Yield tables, each with a finer grid or a larger cap, until nothing is left to refine."""
        slots = self._params.first_slots
        while True:
            within = self.within(self._cap_ns)
            yield (grid := self._grid(within, slots))
            self.slots = grid.plans.slots
            if self.is_closed:
                return
            if self._raise_cap():
                continue
            if grid.is_last:
                return
            slots *= 2

    def _may_take(self, within: NDArray[np.bool_], slots: int) -> bool:
        """Tell whether a grid stays within the limits on slots, work and memory."""
        usable = within & (self.needs.room_bytes >= 0)
        anywhere: NDArray[np.bool_] = np.logical_or.reduce(usable, axis=0)
        count = len(self.problem.instance)
        lengths = [
            last + 1 - int(np.argmax(anywhere[: last + 1, last])) if anywhere[:, last].any() else 0
            for last in range(count)
        ]
        # Half of the pairs of stages, and a quarter of the pairs of slots, are met.
        work = sum(length * length / 2 for length in lengths) * slots * slots / 4
        return (
            slots <= self._params.most_slots
            and work <= self._params.most_work
            and sum(lengths) * (slots + 1) <= self._params.most_entries
        )

    def within(self, cap_ns: int) -> NDArray[np.bool_]:
        """Return the devices and stages that fit at all and take at most the cap."""
        return (self.needs.room_bytes >= 0) & (self.needs.base_ns <= cap_ns)

    def _raise_cap(self) -> bool:
        """Raise the cap where more parts can matter; tell whether it was."""
        if self._cap_ns >= self._largest_cap_ns:
            return False
        if self.step_ns is None:
            self._cap_ns = min(self._largest_cap_ns, 2 * self._cap_ns)
            return True
        enough = (self.step_ns - 1) // self.problem.microbatches
        if enough <= self._cap_ns:
            return False
        self._cap_ns = min(enough, self._largest_cap_ns)
        return True

    def _grid(self, within: NDArray[np.bool_], slots: int) -> Grid:
        exact = self.needs.exact_slots(within)
        is_exact = exact is not None and exact <= self._params.most_exact_slots
        if is_exact and exact is not None:
            slots = max(1, exact)
        is_last = is_exact or not self._may_take(within, 2 * slots)
        plans = self._table(self.needs, within, slots, rounds_up=True)
        if is_exact and self.floor_needs is self.needs:
            return Grid(plans, plans, is_exact, is_last)
        floor = self._table(self.floor_needs, within, slots, rounds_up=False)
        return Grid(plans, floor, is_exact, is_last)

    def _table(
        self, needs: PipelineNeeds, within: NDArray[np.bool_], slots: int, *, rounds_up: bool
    ) -> DeviceTimes:
        self._clock.require_time()
        left_s = self._clock.left_s
        return device_times(
            needs,
            within,
            slots,
            rounds_up=rounds_up,
            most_entries=self._params.most_entries,
            time_limit_s=None if math.isinf(left_s) else left_s,
        )

    def offer(self, table: DeviceTimes, spans: Spans) -> int | None:
        """Keep cuts if their step is faster than the fastest so far; return its time."""
        cutting = Cutting(self.problem, table.needs, table.busy_ns)
        step_ns = cutting.step_ns(spans)
        self.cuts += 1
        if step_ns is None or (self.step_ns is not None and step_ns >= self.step_ns):
            return step_ns
        schedule = PipelineSchedule(
            tuple(table.plan(at, first, last) for at, (first, last) in enumerate(spans, start=1))
        )
        # Where gradients are larger than outputs the program may be wrong about a plan.
        if schedule.replay(self.problem).valid:
            self.step_ns, self.schedule, self._spans = step_ns, schedule, spans
        return step_ns

    def offer_on_grids(self, spans: Spans) -> None:
        """Offer cuts with the best plans of the finest grid, which are those of all grids."""
        within = np.zeros_like(self.needs.room_bytes, dtype=bool)
        for at, (first, last) in enumerate(spans):
            within[at, first - 1, last - 1] = True
        slots = self._params.first_slots
        while True:
            grid = self._grid(within, slots)
            self.slots = grid.plans.slots
            self.offer(grid.plans, spans)
            if grid.is_last:
                return
            slots *= 2

    def improve(self, grid: Grid) -> None:
        """Look for cuts on the table of plans: two programs, then one cut moved at a time."""
        cutting = Cutting(self.problem, self.needs, grid.plans.busy_ns)
        least = cutting.least_bottleneck()
        if least is None:
            return
        tried = [least[1], *([self._spans] if self._spans else [])]
        bounded = self.least_bound(grid.plans)
        if bounded is not None:
            tried.append(bounded[1])
        for spans in tried:
            self.offer(grid.plans, spans)
        while self._spans is not None and not self.is_closed:
            before = self._spans
            for spans in _moved(before):
                self._clock.require_time()
                if cutting.bound_ns(spans) < (self.step_ns or NEVER_NS):
                    self.offer(grid.plans, spans)
            if self._spans == before:
                return

    def least_bound(self, table: DeviceTimes) -> tuple[int, Spans] | None:
        """Return the least bound on the step of all cuts of a table; None if nothing fits."""
        return least_step_bound(table.needs, table.busy_ns, self._params, self._clock)

    def prove(self, grid: Grid) -> None:
        """Raise the lower bound by the table that is rounded down, and by its cuts if few are left.

        The bound of the cuts comes first. Then the cuts with a lesser bound than the step that is
        known are timed one by one; if all have been, the least time is a bound.
        """
        found = self.least_bound(grid.floor)
        beyond_ns = self.problem.microbatches * self.beyond_cap_ns()
        if found is None:
            if self._cap_ns >= self._largest_cap_ns:
                self.refuted = self.schedule is None
            return
        self.lower_bound_ns = max(self.lower_bound_ns, min(found[0], beyond_ns))
        if self.is_closed or self.step_ns is None or not grid.is_last:
            return
        cutting = Cutting(self.problem, self.floor_needs, grid.floor.busy_ns)
        least_ns = self.step_ns
        exact = grid.floor is grid.plans

        def limit_ns() -> int:
            return least_ns

        for looked, (_, spans) in enumerate(cutting.faster_than(limit_ns)):
            self._clock.require_time()
            if looked == self._params.most_cuts:
                return
            step_ns = self.offer(grid.plans, spans) if exact else cutting.step_ns(spans)
            if step_ns is not None:
                least_ns = min(least_ns, step_ns)
        self.lower_bound_ns = max(self.lower_bound_ns, min(least_ns, beyond_ns))

    def beyond_cap_ns(self) -> int:
        """Return the least time of a micro-batch on a device with a part beyond the cap."""
        if self._cap_ns >= self._largest_cap_ns:
            return NEVER_NS // MOST_MICROBATCHES
        return self._cap_ns + 1


def least_step_bound(
    needs: PipelineNeeds, busy_ns: NDArray[np.int64], params: PipelineParams, clock: Clock
) -> tuple[int, Spans] | None:
    """Return the least bound of `cutting` over all cuts, and the cuts; None if nothing fits."""
    problem = needs.problem
    bound_ns, firsts, _ = _kernels.pipeline_step_bound(
        busy_ns,
        needs.forward_ns,
        problem.microbatches,
        _NO_LIMIT_NS,
        params.most_labels,
        None if math.isinf(clock.left_s) else clock.left_s,
    )
    if not firsts:
        return None
    return bound_ns, tuple(spans_of(firsts[1:], len(problem.instance)))


def _moved(spans: Spans) -> Iterator[Spans]:
    """Yield the spans with one cut a stage to the left or to the right."""
    cuts = [last for _, last in spans[:-1]]
    count = spans[-1][1]
    for at in range(len(cuts)):
        for by in (-1, 1):
            moved = [*cuts[:at], cuts[at] + by, *cuts[at + 1 :]]
            ends = [0, *moved, count]
            if all(before < end for before, end in pairwise(ends)):
                yield tuple(spans_of(moved, count))
