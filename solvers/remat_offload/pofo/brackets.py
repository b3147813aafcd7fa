"""Brackets of POFO's optimum on one chain, refined for as long as there is time.

Short chains are solved exactly, again with more labels where some had to be left out. On longer
ones memory is counted in 50 slots, as in the paper, then in 100, 200, ... up to 800: the paper
found 50 to be enough, and here they are not on the longest chains (``notebooks/pofo.py``). After
that, and where a grid twice as fine would not end in the time that is left, the grid is as fine as
that time allows, and then more labels are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.pofo.params import PLANS, PlanParams
from jettison.solvers.remat_offload.pofo.program import (
    PofoBracket,
    Recomputation,
    pofo_bracket,
    pofo_exact,
)


@dataclass(frozen=True, slots=True)
class _Level:
    """Effort of one bracket: the number of memory slots, and of labels kept for each stage."""

    slots: int
    labels: int


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

    Attributes
    ----------
    best
        The best floor and the best plan of all brackets so far.
    slots
        Slots of the last bracket.
    most_slots
        Slots of the finest grid of plans for other resources; 0 before the first.
    why_open
        Why no tighter bracket was tried, where the last one is open; None before the end.
    """

    def __init__(
        self,
        problem: RematOffloadChain,
        recomputation: Recomputation,
        params: PlanParams = PLANS,
    ) -> None:
        self._params = params
        self._problem = problem
        self._recomputation = recomputation
        self.best = PofoBracket(None, None, None, False, 0, 0)
        self.slots = self.most_slots = 0
        self.why_open: str | None = None

    @property
    def is_solved_exactly(self) -> bool:
        """Whether the chain is so short that its memory need not be counted in slots."""
        return len(self._problem.instance) <= self._params.most_stages_exact

    def refine(self, options: SolveOptions, clock: Clock) -> Iterator[PofoBracket]:
        """Yield the best of all brackets after each one, until it is closed.

        Raises
        ------
        TimeoutError
            When the time is up.
        MemoryError
            If the next bracket would take more memory than there is.
        """
        params = self._params
        level = _Level(params.first_slots, self._first_labels)
        growth, last_s = params.most_growth, 0.0
        while True:
            self.slots = level.slots
            started_s = clock.seconds
            try:
                found = self._bracket(
                    self._problem.memory_bytes,
                    self._problem.link.bytes_per_s,
                    level,
                    clock.left_s,
                )
            except MemoryError:
                self.why_open = f"the tables of {_text(level)} do not fit in memory"
                raise
            except TimeoutError:
                self.why_open = f"the time ended the program with {_text(level)}"
                raise
            if found.floor_ns is None:
                # No schedule of POFO's class fits.
                return
            self._keep(found)
            yield self.best
            if self.best.is_exact or self._gap <= options.gap:
                return
            seconds = clock.seconds - started_s
            if last_s:
                growth = min(max(seconds / last_s, params.least_growth), params.most_growth)
            last_s = seconds
            left_s = clock.left_s
            if not left_s:
                self.why_open = f"the time ended after the program with {_text(level)}"
                raise TimeoutError
            tighter = self._tighter(level, math.log2(left_s / seconds) / math.log2(growth))
            if tighter is None:
                self.why_open = f"no more than {_text(level)} are tried"
                return
            level = tighter

    def plan(
        self, memory_bytes: int, bytes_per_s: int, *, slots: int, clock: Clock
    ) -> OffloadPlan | None:
        """Return the plan for other resources, on one grid."""
        self.most_slots = max(self.most_slots, slots)
        level = _Level(slots, self._first_labels)
        return self._bracket(memory_bytes, bytes_per_s, level, clock.left_s).plan

    @property
    def _first_labels(self) -> int:
        params = self._params
        return params.exact_labels if self.is_solved_exactly else params.first_labels

    def _tighter(self, last: _Level, doublings: float) -> _Level | None:
        """Return the next level; None where there is none.

        Parameters
        ----------
        last
            The level before.
        doublings
            How often the slots could be doubled in the time that is left.
        """
        params = self._params
        if not self.is_solved_exactly and last.slots < params.most_slots:
            finer = 2 ** min(doublings, 1.0)
            if finer >= params.least_refinement:
                return _Level(min(int(finer * last.slots), params.most_slots), last.labels)
        more = _Level(last.slots, params.more_labels * last.labels)
        return more if last.labels < more.labels <= params.most_labels else None

    def _bracket(
        self, memory_bytes: int, bytes_per_s: int, level: _Level, time_limit_s: float
    ) -> PofoBracket:
        """Return one bracket: the exact program on short chains, else the one on a grid."""
        chain = self._problem.instance
        limit_s = None if math.isinf(time_limit_s) else time_limit_s
        if self.is_solved_exactly:
            return pofo_exact(
                chain,
                memory_bytes,
                bytes_per_s,
                slots=self._params.exact_slots,
                recomputation=self._recomputation,
                most_labels=level.labels,
                most_bytes=self._params.most_table_bytes,
                time_limit_s=limit_s,
            )
        return pofo_bracket(
            chain,
            memory_bytes,
            bytes_per_s,
            level.slots,
            recomputation=self._recomputation,
            most_labels=level.labels,
            most_bytes=self._params.most_table_bytes,
            time_limit_s=limit_s,
        )

    @property
    def _gap(self) -> float:
        if self.best.plan_ns is None or self.best.floor_ns is None:
            return 1.0
        base_ns = self._problem.instance.base_time_ns
        if self.best.plan_ns <= base_ns:
            return 0.0
        return float((self.best.plan_ns - self.best.floor_ns) / (self.best.plan_ns - base_ns))

    def _keep(self, found: PofoBracket) -> None:
        best = self.best
        floor_ns = max(best.floor_ns or Fraction(0), found.floor_ns or Fraction(0))
        plan, plan_ns = best.plan, best.plan_ns
        if found.plan_ns is not None and (plan_ns is None or found.plan_ns < plan_ns):
            plan, plan_ns = found.plan, found.plan_ns
        self.best = PofoBracket(
            floor_ns,
            plan,
            plan_ns,
            plan_ns == floor_ns,
            best.labels + found.labels,
            best.states + found.states,
        )


def _text(level: _Level) -> str:
    return f"{level.slots} slots and {level.labels:,} labels a stage"
