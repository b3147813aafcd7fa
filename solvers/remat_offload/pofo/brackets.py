"""Brackets of POFO's optimum on one chain, refined for as long as there is time.

Slots come before labels: on a coarse grid the bound of the program is weak, and more labels hardly
raise it. So each grid has four times the slots of the one before, begins from its bound, and is
searched with few labels at first, for a plan and then for a floor. Where the sizes that matter have
a common unit, the grid of that unit rounds nothing. On the last grid that the time or the memory
allows, the labels are multiplied until none is left out. Where few labels remain, memory is counted
to the byte, which closes what the grid leaves open. Short chains are solved to the byte at once.

The paper found 50 slots to be enough; here they are not on the longest chains
(``notebooks/pofo.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket, pofo_exact, pofo_plan
from jettison.solvers.remat_offload.pofo.params import PLANS, PlanParams
from jettison.solvers.remat_offload.pofo.program import (
    PofoFound,
    PofoProgram,
    Recomputation,
    Rounding,
)


class PofoBrackets:
    """Sequence of tighter and tighter brackets of POFO's optimum on one chain.

    Parameters
    ----------
    problem
        Chain, memory and link.
    recomputation
        Whether values may be computed again.
    params
        How fine the brackets are.
    known_ns
        Returns the time of the best schedule that is known from elsewhere, or None: only what is
        faster is looked for.

    Attributes
    ----------
    best
        The best floor and the best plan so far.
    slots
        Slots of the last grid.
    most_slots
        Slots of the finest grid of plans for other resources; 0 before the first.
    why_open
        Why no tighter bracket was tried, where the last one is open; None before the end.
    is_dear
        Whether the next step takes so much work that other searches come before it.
    """

    def __init__(
        self,
        problem: RematOffloadChain,
        recomputation: Recomputation,
        params: PlanParams = PLANS,
        known_ns: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._params = params
        self._problem = problem
        self._recomputation = recomputation
        self._known_ns = known_ns
        self.best = PofoBracket()
        self.slots = self.most_slots = 0
        self.why_open: str | None = None
        self.is_dear = False

    @property
    def is_short(self) -> bool:
        """Whether the chain is so short that its memory need not be counted in slots."""
        return len(self._problem.instance) <= self._params.most_stages_exact

    def refine(self, options: SolveOptions, clock: Clock) -> Iterator[PofoBracket]:
        """Yield the best bracket after each step, until it is closed.

        Raises
        ------
        TimeoutError
            When the time is up.
        MemoryError
            If the next step would take more memory than there is.
        """
        problem = self._problem
        program = PofoProgram(
            problem.instance,
            problem.memory_bytes,
            problem.link.bytes_per_s,
            recomputation=self._recomputation,
            most_bytes=self._params.most_table_bytes,
        )
        for _ in self._steps(program, clock):
            yield self.best
            if self._is_closed(options):
                self.why_open = None
                return

    def plan(
        self,
        memory_bytes: int,
        bytes_per_s: int,
        limit_ns: Fraction | None = None,
        *,
        slots: int,
        clock: Clock,
    ) -> PofoBracket:
        """Return the plan for other resources, on one grid, if one is faster than the limit."""
        self.most_slots = max(self.most_slots, slots)
        params, chain = self._params, self._problem.instance
        limit_s = None if math.isinf(clock.left_s) else clock.left_s
        if self.is_short:
            return pofo_exact(
                chain,
                memory_bytes,
                bytes_per_s,
                slots=self._params.exact_slots,
                recomputation=self._recomputation,
                most_labels=params.exact_labels,
                most_bytes=params.most_table_bytes,
                limit_ns=limit_ns,
                time_limit_s=limit_s,
            )
        return pofo_plan(
            chain,
            memory_bytes,
            bytes_per_s,
            slots,
            recomputation=self._recomputation,
            most_labels=params.labels_of_plans,
            most_bytes=params.most_table_bytes,
            limit_ns=limit_ns,
            time_limit_s=limit_s,
        )

    def _steps(self, program: PofoProgram, clock: Clock) -> Iterator[None]:
        """Do one step after the other, each with the best schedule so far as its limit."""
        params = self._params
        memory_bytes = self._problem.memory_bytes
        sizes = list(sizes_of_slots(self._problem.instance, memory_bytes, params))
        if self.is_short:
            sizes = [-(-memory_bytes // params.exact_slots) or 1]
        # Where it goes on after a limit, coarser grids than the usual one have nothing to add.
        known_slots = min(self.slots, params.usual_slots)
        while len(sizes) > 1 and memory_bytes // sizes[1] <= known_slots:
            sizes.pop(0)
        growth, last_s, search_s = params.most_growth, 0.0, 0.0
        slots = 0
        while sizes:
            started_s = clock.seconds
            # Where there is no room for the next grid, there may be for one that is half as fine.
            between = sizes[0] * (params.grid_growth // 2)
            is_between = slots < memory_bytes // between < memory_bytes // sizes[0]
            if clock.left_s < growth * last_s + search_s:
                if is_between and clock.left_s > math.sqrt(growth) * last_s + search_s:
                    sizes.insert(0, between)
                else:
                    # Labels are what is left, and then a bound that may end in time after all.
                    yield from self._with_more_labels(program, clock)
                    started_s = clock.seconds
            entries = memory_bytes // sizes[0] * len(self._problem.instance)
            if slots and entries > params.most_entries_of_first:
                yield from self._before_a_dear_step()
            try:
                self._bound(program, sizes[0], clock)
            except MemoryError:
                if not slots:
                    raise
                # The grid before is still there.
                if not is_between:
                    break
                sizes = [between]
                continue
            slots = memory_bytes // sizes.pop(0)
            bound_s = clock.seconds - started_s
            yield
            yield from self._with_few_labels(program, clock)
            if last_s:
                growth = min(max(bound_s / last_s, params.least_growth), params.most_growth)
            last_s = bound_s
            search_s = clock.seconds - started_s - bound_s
        yield from self._with_more_labels(program, clock)

    def _bound(self, program: PofoProgram, slot_bytes: int, clock: Clock) -> None:
        """Bound on the next grid; where nothing but the bound gets better, of one program alone."""
        params, limit_ns = self._params, self._limit_ns
        slots = self._problem.memory_bytes // slot_bytes
        entries = slots * len(self._problem.instance)
        with self._said(f"the program with {slots} slots"):
            floor_ns = program.refine(
                slot_bytes,
                limit_ns,
                backward_slot_bytes=slot_bytes * max(-(-slots // params.most_backward_slots), 1),
                both_programs=slots <= params.most_units or entries <= params.most_entries_of_both,
                clock=clock,
            )
        self.slots = slots
        self.best = self.best.raised(floor_ns, limit_ns)

    def _with_few_labels(self, program: PofoProgram, clock: Clock) -> Iterator[None]:
        """Search with few labels for a plan, then for a floor, and to the byte if they are all."""
        params, started_s = self._params, clock.seconds
        with self._said(f"the search with {self.slots} slots"):
            if self.is_short:
                self._search(program, Rounding.NONE, params.first_labels, clock)
                yield
                return
            is_fine = self.slots >= params.usual_slots
            most_of_plans = params.labels_of_floors if is_fine else params.labels_of_plans
            for rounding, most in (
                (Rounding.UP, most_of_plans),
                (Rounding.DOWN, params.labels_of_floors),
            ):
                labels = params.first_labels
                found = self._search(program, rounding, labels, clock)
                while not found.is_complete and labels < most:
                    yield
                    labels = min(params.more_labels * labels, most)
                    found = self._search(program, rounding, labels, clock)
                yield
            if not found.is_complete or found.labels > params.most_labels_to_the_byte:
                return
        spent_s = max(clock.seconds - started_s, params.least_s_to_the_byte)
        try:
            self._search(program, Rounding.NONE, labels, Clock(min(spent_s, clock.left_s)))
        except TimeoutError:
            if not clock.left_s:
                raise
        except MemoryError:
            # The next grid gives the memory back.
            pass
        yield

    def _with_more_labels(self, program: PofoProgram, clock: Clock) -> Iterator[None]:
        """Search on the last grid until no label is left out, then to the byte."""
        params = self._params
        labels = params.exact_labels if self.is_short else params.labels_of_plans
        while True:
            if labels > params.most_labels_of_first:
                yield from self._before_a_dear_step()
            with self._said(f"the search with {self.slots} slots and {labels:,} labels a stage"):
                complete = True
                for rounding in () if self.is_short else (Rounding.UP, Rounding.DOWN):
                    complete &= self._search(program, rounding, labels, clock).is_complete
                    yield
                if complete:
                    complete = self._search(program, Rounding.NONE, labels, clock).is_complete
                    yield
            if complete or labels >= params.most_labels:
                break
            labels = min(params.more_labels * labels, params.most_labels)
        self.why_open = f"no more than {self.slots} slots and {labels:,} labels a stage are tried"

    def _before_a_dear_step(self) -> Iterator[None]:
        """Yield before a step to which others may be preferred."""
        self.is_dear = True
        yield

    def _search(
        self, program: PofoProgram, rounding: Rounding, labels: int, clock: Clock
    ) -> PofoFound:
        """Search with so many labels for each stage, and keep what was found."""
        limit_ns = self._limit_ns
        found = program.search(rounding, labels, limit_ns, clock=clock)
        self.best = self.best.with_search(found, limit_ns)
        return found

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        """Say what the time or the memory ended, if it does."""
        try:
            yield
        except TimeoutError:
            self.why_open = f"the time ended {what}"
            raise
        except MemoryError:
            self.why_open = f"the tables of {what} did not fit in memory"
            raise

    @property
    def _limit_ns(self) -> Fraction | int | None:
        times = [time for time in (self.best.plan_ns, self._known_ns()) if time is not None]
        return min(times, default=None)

    def _is_closed(self, options: SolveOptions) -> bool:
        if self.best.is_exact:
            return True
        limit_ns, floor_ns = self._limit_ns, self.best.floor_ns
        if floor_ns is None or limit_ns is None:
            return floor_ns is None
        base_ns = self._problem.instance.base_time_ns
        return options.is_close_enough(math.ceil(limit_ns), math.ceil(floor_ns), base_ns)


def sizes_of_slots(chain: Chain, memory_bytes: int, params: PlanParams = PLANS) -> tuple[int, ...]:
    """Return the bytes of a slot on each grid, from coarse to fine.

    The sizes that matter, each more than a small part of the memory, may have a common unit. If the
    memory has not too many of them, one of the grids has slots of this unit, which rounds only the
    small sizes.
    """
    sizes = {chain.input_bytes}
    for stage in chain:
        sizes |= {stage.output_bytes, stage.saved_bytes}
    least = memory_bytes / params.negligible_part
    unit_bytes = math.gcd(*(size for size in sizes if size > least))
    usual_bytes = max(memory_bytes // params.usual_slots, 1)
    if not unit_bytes or not params.first_slots <= memory_bytes // unit_bytes <= params.most_units:
        unit_bytes = usual_bytes
    found = [unit_bytes]
    while memory_bytes // (found[0] * params.grid_growth) >= params.first_slots:
        found.insert(0, found[0] * params.grid_growth)
    while (finer := found[-1] // params.grid_growth) and memory_bytes // finer <= params.most_slots:
        found.append(finer)
    return tuple(found)
