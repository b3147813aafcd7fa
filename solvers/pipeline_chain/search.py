r"""Fastest step of a pipeline: tables of the devices on finer and finer grids, and cuts on them.

Each round fills two tables of `device_times`, with sizes rounded up for plans and rounded down for
bounds, or one where the grid is exact, and looks for cuts on them (`cutting`). Only parts are
looked at whose time without recomputation is at most a cap: with any other one the step takes more
than the cap for each micro-batch, which is a bound as well. The cap is raised until it reaches the
time of the best step for each micro-batch, so that nothing faster is left out. From then on only
parts are looked at of which some cut has a bound below the best step: they are few, and finer grids
for them cost little.

How fine the grids are is decided by work, by estimate, and not by the clock: a time limit is
converted into work, so that the same limit gives the same answer on a busy machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import MOST_MICROBATCHES, PipelineChain
from jettison.schedules.pipeline_chain.schedule import PipelineSchedule, spans_of
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.pipeline_chain.cutting import Cutting, Spans
from jettison.solvers.pipeline_chain.device_times import NEVER_NS, DeviceTimes, PipelineNeeds
from jettison.solvers.pipeline_chain.grids import Grid, Grids
from jettison.solvers.pipeline_chain.pipeline_params import PipelineParams

# More than any step can take; the kernel adds to it.
_NO_LIMIT_NS = 2**60


class PipelineSearch:
    """Search for the fastest step of one problem, or for the least bottleneck.

    Parameters
    ----------
    problem, params
        The problem, and what the search may take.
    time_limit_s
        A limit that is converted into work; None for no other than that of the parameters.
    clock
        What ends the search early; None for nothing but its work.
    for_bottleneck
        Whether parts are left out by the bottleneck of their cuts instead of by the step; the
        fastest step is `microbatches` times the bottleneck then.

    Attributes
    ----------
    step_ns, schedule
        The fastest step so far; None if there is none.
    lower_bound_ns
        Lower bound on persistent schedules.
    refuted
        Whether no persistent schedule fits.
    last
        The last grid; None before the first one.
    """

    def __init__(
        self,
        problem: PipelineChain,
        params: PipelineParams,
        time_limit_s: float | None,
        clock: Clock | None = None,
        *,
        for_bottleneck: bool = False,
    ) -> None:
        self.problem, self._params = problem, params
        self._clock = Clock(None) if clock is None else clock
        self._for_bottleneck = for_bottleneck
        most_work = params.most_work
        if time_limit_s is not None:
            most_work = min(most_work, time_limit_s * params.work_per_second)
        self._grids = Grids(problem, params, self._clock, most_work)
        self.needs, self.floor_needs = self._grids.needs, self._grids.floor_needs
        self.schedule: PipelineSchedule | None = None
        self.step_ns: int | None = None
        self.lower_bound_ns = 0
        self.refuted = False
        self.last: Grid | None = None
        self.slots = 0
        self.cuts = 0
        # Best cuts of any table, tried again on the next one.
        self._spans: Spans | None = None
        most = self.needs.base_ns[self.needs.room_bytes >= 0]
        self._largest_cap_ns = int(most.max(initial=0))
        self._cap_ns = min(self._largest_cap_ns, problem.least_bottleneck_ns * 5 // 4)
        # The parts that are not left out, and the least step of cuts with one that is.
        self._decides: NDArray[np.bool_] | None = None
        self._left_out_ns = NEVER_NS

    @property
    def is_closed(self) -> bool:
        """Whether bound and step meet, or nothing fits."""
        return self.refuted or (self.step_ns is not None and self.step_ns <= self.lower_bound_ns)

    def grids(self) -> Iterator[Grid]:
        """Yield tables, with a finer grid, a larger cap or fewer parts, until work ends them."""
        self._raise_cap()
        slots = self._grids.first_slots(self.within())
        while True:
            self._clock.require_time()
            grid = self.last = self._grids.filled(self.within(), slots)
            self.slots = max(self.slots, grid.plans.slots)
            yield grid
            if self.is_closed:
                return
            if self._raise_cap():
                slots = min(slots, self._grids.first_slots(self.within()))
                continue
            self._leave_out(grid.floor)
            if not self.within().any():
                self._raise_bound(NEVER_NS)
                return
            if grid.is_exact or not self._grids.may_take(self.within(), 2 * slots):
                return
            slots *= 2

    def within(self) -> NDArray[np.bool_]:
        """Return the devices and stages that fit at all, take at most the cap, and may decide."""
        wanted = (self.needs.room_bytes >= 0) & (self.needs.base_ns <= self._cap_ns)
        return wanted if self._decides is None else wanted & self._decides

    def _raise_cap(self) -> bool:
        """Raise the cap where more parts can matter; tell whether it was."""
        if self._cap_ns >= self._largest_cap_ns:
            return False
        if self.step_ns is None:
            if self.last is None:  # no grid has said yet that nothing fits
                return False
            self._cap_ns = min(self._largest_cap_ns, 2 * self._cap_ns)
            return True
        enough = (self.step_ns - 1) // self.problem.microbatches
        if enough <= self._cap_ns:
            return False
        self._cap_ns = min(enough, self._largest_cap_ns)
        return True

    def _leave_out(self, floor: DeviceTimes) -> None:
        """Leave out the parts all of whose cuts are no faster than the step that is known."""
        if self.step_ns is None:
            return
        cutting = Cutting(self.problem, floor.needs, floor.busy_ns)
        if self._for_bottleneck:
            bounds = cutting.bottlenecks_with() * self.problem.microbatches
        else:
            bounds = cutting.bounds_with()
        self._decides = self.within() & (bounds < self.step_ns)
        self._left_out_ns = min(self._left_out_ns, self.step_ns)

    def offer(self, table: DeviceTimes, spans: Spans) -> int | None:
        """Keep cuts if their step is faster than the fastest so far; return its time."""
        cutting = Cutting(self.problem, table.needs, table.busy_ns)
        step_ns = cutting.step_ns(spans)
        self.cuts += 1
        if step_ns is None or (self.step_ns is not None and step_ns >= self.step_ns):
            return step_ns
        schedule = self.planned(table, spans)
        if schedule is not None:
            self.step_ns, self.schedule, self._spans = step_ns, schedule, spans
        return step_ns

    def planned(self, table: DeviceTimes, spans: Spans) -> PipelineSchedule | None:
        """Return the schedule of cuts; None if the replay refuses it.

        Where gradients are larger than outputs the program may be wrong about a plan.
        """
        schedule = PipelineSchedule(
            tuple(table.plan(at, first, last) for at, (first, last) in enumerate(spans, start=1))
        )
        return schedule if schedule.replay(self.problem).valid else None

    def begin_from(self, schedule: PipelineSchedule, step_ns: int) -> None:
        """Begin from a schedule that fits, and its time."""
        self.schedule, self.step_ns = schedule, step_ns
        self._spans = tuple((plan.first, plan.last) for plan in schedule.devices)

    def offer_on_grids(self, spans: Spans) -> None:
        """Offer cuts with the best plans of the finest grid, which are those of all grids."""
        within = np.zeros_like(self.needs.room_bytes, dtype=bool)
        for at, (first, last) in enumerate(spans):
            within[at, first - 1, last - 1] = True
        self._grids.most_work *= self._params.share_of_given_cuts
        slots = self._grids.first_slots(within)
        while True:
            grid = self._grids.filled(within, slots)
            self.slots = grid.plans.slots
            self.offer(grid.plans, spans)
            if grid.is_exact or not self._grids.may_take(within, 2 * slots):
                return
            slots *= 2

    def fits(self) -> tuple[bool, bool]:
        """Tell whether it is proved on the first grid that nothing fits, and whether cuts do."""
        within = self.needs.room_bytes >= 0
        if not within.any():
            return True, False
        grid = self._grids.filled(within, self._grids.first_slots(within))
        plans = Cutting(self.problem, self.needs, grid.plans.busy_ns).least_bottleneck()
        floor = Cutting(self.problem, grid.floor.needs, grid.floor.busy_ns).least_bottleneck()
        does = plans is not None and self.planned(grid.plans, plans[1]) is not None
        return floor is None, does

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
        """Raise the lower bound by the least one of all cuts on the table that is rounded down."""
        if self._for_bottleneck:
            least = Cutting(self.problem, grid.floor.needs, grid.floor.busy_ns).least_bottleneck()
            found = None if least is None else (self.problem.microbatches * least[0], least[1])
        else:
            found = self.least_bound(grid.floor)
        if found is None and self._decides is None and self._cap_ns >= self._largest_cap_ns:
            self.refuted = self.schedule is None
            return
        self._raise_bound(NEVER_NS if found is None else found[0])

    def settle(self) -> None:
        """Time the cuts with a lesser bound than the step that is known, if they are few.

        They are those on the table of the last grid that is rounded down. If all have been timed,
        the least time is a bound.
        """
        grid = self.last
        if grid is None or self.is_closed or self.step_ns is None:
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
        self._raise_bound(least_ns)

    def _raise_bound(self, of_the_parts_ns: int) -> None:
        """Raise the lower bound to what holds for all parts that were looked at, and for others."""
        beyond_ns = self.problem.microbatches * self.beyond_cap_ns()
        least_ns = min(of_the_parts_ns, beyond_ns, self._left_out_ns)
        if least_ns < NEVER_NS:
            self.lower_bound_ns = max(self.lower_bound_ns, least_ns)

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
