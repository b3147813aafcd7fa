"""Parts of a search with POFO's program: what comes before other searches, and what comes last.

What comes first is measured in work, slots and labels, so that it is the same on a busy machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from jettison.instances.core.link import Transfers
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.pofo.at_once import offer_at_once, offer_plans
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets
from jettison.solvers.remat_offload.pofo.params import PlanParams
from jettison.solvers.remat_offload.pofo.program import Recomputation


class LaterClock(Clock):
    """Clock that another one takes the place of, for a search that pauses and goes on.

    Attributes
    ----------
    clock
        The clock that counts now.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(None)
        self.clock = clock

    @property
    def left_s(self) -> float:
        """Seconds until the limit that counts now."""
        return self.clock.left_s

    def require_time(self) -> None:
        """Raise an exception if no time is left.

        Raises
        ------
        TimeoutError
            If there is none.
        """
        self.clock.require_time()


class ProgramSearch:
    """Search with POFO's program, with recomputation or without, for one incumbent.

    Parameters
    ----------
    incumbent
        Takes the plans; only what is faster than its schedule is looked for.
    recomputation
        Whether values may be computed again.
    options, clock, params
        Of the method.

    Attributes
    ----------
    brackets
        The brackets of the optimum.
    """

    def __init__(
        self,
        incumbent: OffloadIncumbent,
        recomputation: Recomputation,
        options: SolveOptions,
        clock: Clock,
        params: PlanParams,
    ) -> None:
        problem = incumbent.problem
        self._incumbent = incumbent
        self._recomputation = recomputation
        self._options = options
        self._clock = clock
        self._params = params
        self._until = LaterClock(clock)
        self.brackets = PofoBrackets(problem, recomputation, params, lambda: incumbent.time_ns)
        self._steps: Iterator[PofoBracket] | None = None
        self._stopped: MemoryError | None = None
        self._offered: OffloadPlan | None = None
        self._is_at_once = problem.transfers is Transfers.AT_ONCE

    @property
    def is_closed(self) -> bool:
        """Whether the best schedule is as close to the floor as was asked for."""
        floor_ns, time_ns = self.brackets.best.floor_ns, self._incumbent.time_ns
        if time_ns is None:
            return False
        if floor_ns is None:
            # Nothing of the class fits.
            return True
        base_ns = self._incumbent.problem.instance.base_time_ns
        return self._options.is_close_enough(time_ns, math.ceil(floor_ns), base_ns)

    def first(self, until: Clock) -> Iterator[None]:
        """Offer the plans of the brackets that take little work, or end with a part of the time."""
        self._until.clock = until
        try:
            for _ in self._refine():
                yield
                if self.brackets.is_dear:
                    return
        except TimeoutError:
            self._steps = None

    def rest(self) -> Iterator[None]:
        """Offer the plans of all other brackets."""
        self._until.clock = self._clock
        if not self.is_closed:
            yield from self._refine()

    def end(self) -> None:
        """Say why brackets were left out, if the gap is open.

        Raises
        ------
        MemoryError
            If the tables did not fit in memory.
        """
        if self._stopped is not None and not self.is_closed:
            raise self._stopped

    def plans(self, slots: int) -> Iterator[None]:
        """Offer plans for other resources from one grid, timed with transfers at once."""
        self._until.clock = self._clock
        if not self._is_at_once or self.is_closed or self._stopped is not None:
            return
        plans = partial(self.brackets.plan, slots=slots, clock=self._clock)
        try:
            yield from offer_plans(self._incumbent, plans, slots, self._params)
        except MemoryError as error:
            self._stopped = error

    def levels(self) -> Iterator[int]:
        """Yield the numbers of slots of the grids of plans for other resources.

        On a short chain the plans depend on no grid, and without a time limit one pass is enough.
        """
        slots = self._params.first_slots_of_plans
        yield slots
        while not self.brackets.is_short and not math.isinf(self._clock.left_s):
            slots *= 2
            if slots > self._params.most_slots_of_plans:
                return
            yield slots

    def _refine(self) -> Iterator[None]:
        if self._stopped is not None:
            return
        if self._steps is None:
            self._steps = self.brackets.refine(self._options, self._until)
        try:
            for found in self._steps:
                if found.plan is not None and found.plan is not self._offered:
                    self._offered = found.plan
                    offer_at_once(self._incumbent, found.plan)
                    self._incumbent.offer_fluid(found.plan)
                if self._recomputation is Recomputation.ALLOWED and found.floor_ns:
                    self._incumbent.prove(floor_of(found))
                yield
        except MemoryError as error:
            self._stopped = error


def floor_of(bracket: PofoBracket) -> Bound:
    """Return the floor of a bracket of the whole class as a bound, rounded up to nanoseconds."""
    assert bracket.floor_ns is not None
    return Bound(
        time_ns=math.ceil(bracket.floor_ns),
        valid_for=ScheduleClass.POFO,
        evidence=Evidence.EXACT,
        method="pofo",
    )
