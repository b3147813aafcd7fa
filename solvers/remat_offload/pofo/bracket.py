"""Bracket of POFO's optimum: a floor and a plan, from one run of the program on one grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_offload.pofo.params import PLANS
from jettison.solvers.remat_offload.pofo.program import (
    PofoFound,
    PofoProgram,
    Recomputation,
    Rounding,
)


@dataclass(frozen=True, slots=True)
class PofoBracket:
    """Lower bound and plan.

    Attributes
    ----------
    floor_ns
        Lower bound for persistent schedules that offload before the loss only, with partial
        transfers or without. None if no such schedule fits.
    plan
        A plan that fits, or None if none was found.
    plan_ns
        A time that the plan attains with partial transfers; None without a plan.
    labels, states
        Work: labels expanded, and curves of the backward phase.
    """

    floor_ns: Fraction | None = Fraction(0)
    plan: OffloadPlan | None = None
    plan_ns: Fraction | None = None
    labels: int = 0
    states: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether the plan attains the floor, or nothing fits."""
        return self.plan_ns == self.floor_ns

    def raised(self, floor_ns: Fraction | None, limit_ns: Fraction | int | None) -> PofoBracket:
        """Return the bracket with a lower bound for all that is faster than a limit.

        Parameters
        ----------
        floor_ns
            The bound; None if nothing is faster than the limit.
        limit_ns
            The limit; None for none, where everything counts.
        """
        proved = [time_ns for time_ns in (floor_ns, limit_ns) if time_ns is not None]
        if not proved or self.floor_ns is None:
            return replace(self, floor_ns=None)
        return replace(self, floor_ns=max(self.floor_ns, Fraction(min(proved))))

    def with_search(self, found: PofoFound, limit_ns: Fraction | int | None) -> PofoBracket:
        """Return the bracket with what a search found that is faster than a limit."""
        bracket = replace(
            self, labels=self.labels + found.labels, states=max(self.states, found.states)
        )
        plan_ns = found.plan_ns
        if plan_ns is not None and (self.plan_ns is None or plan_ns < self.plan_ns):
            bracket = replace(bracket, plan=found.plan, plan_ns=plan_ns)
        return bracket.raised(found.floor_ns, limit_ns) if found.has_floor else bracket


def pofo_bracket(
    chain: Chain,
    memory_bytes: int,
    bytes_per_s: int,
    slots: int,
    *,
    recomputation: Recomputation = Recomputation.ALLOWED,
    most_labels: int = PLANS.labels_of_plans,
    most_bytes: int = PLANS.most_table_bytes,
    time_limit_s: float | None = None,
) -> PofoBracket:
    """Bracket the optimum of POFO with the backward phase on one grid.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    bytes_per_s
        Bandwidth of the link, the same in both directions.
    slots
        Slots of memory :math:`S`, at least 1; fewer where a slot would be less than a byte.
    recomputation
        ``FORBIDDEN`` allows offloading only.
    most_labels
        Labels kept per stage; more make both sides of the bracket tighter.
    most_bytes
        Limit on the memory of the tables.
    time_limit_s
        Wall-clock seconds.

    Raises
    ------
    InputError
        If there is no slot, no label or no bandwidth.
    TimeoutError
        If the time limit is reached.
    MemoryError
        If the tables would take more than `most_bytes`.
    """
    program = PofoProgram(
        chain, memory_bytes, bytes_per_s, recomputation=recomputation, most_bytes=most_bytes
    )
    clock = Clock(time_limit_s)
    bracket = _with_plan(program, memory_bytes, slots, Rounding.UP, most_labels, clock)
    if bracket.floor_ns is None:
        return bracket
    limit_ns = bracket.plan_ns
    return bracket.with_search(
        program.search(Rounding.DOWN, most_labels, limit_ns, clock=clock), limit_ns
    )


def pofo_exact(
    chain: Chain,
    memory_bytes: int,
    bytes_per_s: int,
    *,
    slots: int = PLANS.exact_slots,
    recomputation: Recomputation = Recomputation.ALLOWED,
    most_labels: int = PLANS.most_labels,
    most_bytes: int = PLANS.most_table_bytes,
    limit_ns: Fraction | None = None,
    time_limit_s: float | None = None,
) -> PofoBracket:
    """Solve POFO exactly, with curves at all memory sizes that are reached; for short chains.

    Parameters and errors are those of `pofo_bracket`; the slots are those of the bound on what a
    label leads to, and change the work only. The bracket is closed unless `most_labels` is too
    small, or the numbers need more than 60 bits; with `limit_ns`, only what is faster counts.

    Notes
    -----
    No worst-case bound better than the number of reachable memory sizes is known.
    """
    program = PofoProgram(
        chain, memory_bytes, bytes_per_s, recomputation=recomputation, most_bytes=most_bytes
    )
    clock = Clock(time_limit_s)
    return _with_plan(program, memory_bytes, slots, Rounding.NONE, most_labels, clock, limit_ns)


def pofo_plan(
    chain: Chain,
    memory_bytes: int,
    bytes_per_s: int,
    slots: int,
    *,
    recomputation: Recomputation = Recomputation.ALLOWED,
    most_labels: int = PLANS.labels_of_plans,
    most_bytes: int = PLANS.most_table_bytes,
    limit_ns: Fraction | None = None,
    time_limit_s: float | None = None,
) -> PofoBracket:
    """Find a plan that is faster than a limit, without a search for a floor.

    Parameters and errors are those of `pofo_bracket`.
    """
    program = PofoProgram(
        chain, memory_bytes, bytes_per_s, recomputation=recomputation, most_bytes=most_bytes
    )
    clock = Clock(time_limit_s)
    return _with_plan(program, memory_bytes, slots, Rounding.UP, most_labels, clock, limit_ns)


def _with_plan(
    program: PofoProgram,
    memory_bytes: int,
    slots: int,
    rounding: Rounding,
    most_labels: int,
    clock: Clock,
    limit_ns: Fraction | None = None,
) -> PofoBracket:
    """Bound on one grid, then search for a plan with few labels, and with many that beat it."""
    for field, number in (("slots", slots), ("most_labels", most_labels)):
        if number < 1:
            raise InputError(f"{number}", field=field, expected="write at least 1")
    bracket = PofoBracket().raised(
        program.refine(-(-memory_bytes // slots) or 1, limit_ns, clock=clock), limit_ns
    )
    if bracket.floor_ns is None or bracket.floor_ns == limit_ns:
        return bracket
    for labels in (min(PLANS.first_labels, most_labels), most_labels):
        found = program.search(rounding, labels, limit_ns, clock=clock)
        bracket = bracket.with_search(found, limit_ns)
        limit_ns = bracket.plan_ns or limit_ns
        if found.is_complete:
            break
    return bracket
