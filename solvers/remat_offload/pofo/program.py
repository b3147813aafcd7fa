r"""POFO's dynamic program: the fastest persistent schedule with offloading, as a bracket.

Source: Beaumont, Eyraud-Dubois, Shilova, NeurIPS 2021, Appendix B. Stage :math:`N` is the loss,
:math:`a^N` has no size, and :math:`\bar a` includes :math:`a`. Values leave before the boundary
between :math:`F^N` and :math:`B^N` and come back after it; memory is given back and taken while a
transfer runs. Units are chosen so that the link moves 1 unit per tick: :math:`\beta = 1`. Let
:math:`x^+ = \max(x, 0)`, and :math:`P` be the time of a run of forward operations.

.. math::

    F_0(k) &= \delta + [k>i]\,a^{k-1} + a^k + o_f^k, \quad F_A(i) = \delta + \bar a^i + o_f^i,
    \quad M_B(i) = \bar a^i + \delta^i + [\delta^{i-1}] + o_b^i

Backward phase (B.3, equation 2), :math:`\delta = \delta^j`, :math:`v = M - A`, where :math:`A`
includes the input and :math:`D` is what must be back at the *end* of :math:`(i, j)`:

.. math::

    C^{all}(i,j,A,D) &= u_f^i + u_b^i + \epsilon_B + c + \epsilon_F, \quad
      F_A(i) \le v,\; M_B(i) \le v \\
      &\epsilon_B = (M_B - v + D)^+,\; D_1 = (D - u_b^i - \epsilon_B)^+,\;
      c = [i<j]\, C(i+1, j, A + \bar a^i, D_1) \\
      &\epsilon_F = (F_A - v + (D_1 - c)^+)^+ \\
    C^{ck}(i,j,A,D) &= \min_{i \le i' < j} P(i,i') + c_1 + c_2 + \epsilon, \quad
      F_0(k) \le v \text{ for } i \le k \le i' \\
      &c_1 = C(i, i', A, D),\; D_2 = (D - c_1)^+,\; c_2 = C(i'+1, j, A + a^{i'}, D_2) \\
      &\epsilon = \bigl(\max_k (F_0(k) - P(k+1,i')) - v + (D_2 - c_2)^+\bigr)^+

Forward phase (B.1, equation 1), :math:`\delta = 0`, input :math:`I = a^{i-1}` or
:math:`\bar a^{i-1}`, :math:`v = M - A - I`:

.. math::

    OC^{all}(i,A,\Delta_F,\Delta_B) &= t_F + t_B + \min_{keep, offload} OC(i+1, A', \Delta_F',
      \Delta_B'),\quad F_A(i) \le v,\; M_B(i) \le v \\
      &t_F = u_f^i + (F_A - v + \Delta_F)^+,\; t_B = u_b^i + (M_B - v + \Delta_B)^+ \\
    OC^{ck}(i,A,\Delta_F,\Delta_B) &= \min_{i \le j < N} t_F + t_B + \min_{keep, offload}
      OC(j+1, A', \Delta_F', \Delta_B'),\quad F_0(k) \le v \text{ for } i \le k \le j \\
      &t_F = P(i,j) + (\max_k (F_0(k) - P(i,k-1)) - v + \Delta_F)^+,\;
       t_B = C(i, j, A + I, \Delta_B)

with :math:`(A', \Delta_F', \Delta_B') = (A + I, (\Delta_F - t_F)^+, (\Delta_B - t_B)^+)` where the
input is kept and :math:`(A, (\Delta_F + I - t_F)^+, (\Delta_B - t_B)^+ + I)` where it is offloaded
(Table 2); after stage :math:`N`, :math:`\Delta_F' + \Delta_B'` ticks pass (B.2). The answer is
:math:`OC(1, 0, 0, 0)`.

Readings of the print, each with a test that exposes the other one:

* no gradient is in memory in the forward phase: the print writes
  :math:`\mathcal M^{i,L}`, which counts :math:`\delta^L`;
* :math:`F_{ck}` parts reach up to :math:`j = N - 1`, the stage before the loss, not one less;
* the time during which values come back beside a part is :math:`C(i, j, A + I, \Delta_B)`, not
  :math:`C(i, j, A, \Delta_B)`;
* :math:`C^{all}` is valid if :math:`\delta^j` fits beside :math:`F_{all}^i`, not :math:`\delta^i`;
* an offloaded input leaves during its own part already: Table 2 is right;
* one test :math:`F_0(k) \le v` serves kept and offloaded inputs alike.

How it is solved. In closed form the rules only contain terms that are flat or grow by 1 per unit
of :math:`D`, so that :math:`C(i,j,A,\cdot)` is such a curve, computed for all :math:`D` at once;
only :math:`A` is ever rounded, to slots of memory. :math:`OC` is searched forward over labels with
exact :math:`A, \Delta_F, \Delta_B`, under a bound from two programs of one state less. The native
sources hold the proofs: rounded down, every value is a lower bound, because :math:`C` and
:math:`OC` are nondecreasing in what is stored and grow by at most 1 per unit to move; rounded up,
it is the time of a schedule that fits, and is timed again without rounding. The slots are counted
from the limit on memory downwards, so that where all sizes are multiples of a slot nothing is
rounded.

Where a gradient is larger than its output, floors are those of `with_smaller_gradients`, and need
not be met by the plans.

A `PofoProgram` is refined from grid to grid. Only schedules faster than a limit count, the best
that is known: what cannot beat it by the bound of the grid before is left out of the next one.

Complexity: the paper counts :math:`O(N^2 S^3 + N^3 S^2)`. Here a grid of :math:`S` slots takes
:math:`O(N^3 S)` for rotor's table, two curves for each of :math:`2 N S` states of the bound, each
from at most :math:`N` parts, those that can matter; at most ``most_labels`` labels for each stage
are expanded, in :math:`O(N)` each, and curves of the backward phase are made where labels ask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.smaller_gradients import with_smaller_gradients
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.least_memory import chain_schedule
from jettison.solvers.remat_offload.pofo.kernel_units import (
    Side,
    Totals,
    Units,
    arrays_of,
    slower_link,
    units_for,
)
from jettison.solvers.remat_offload.pofo.params import PLANS

NS_PER_S = 10**9


class Recomputation(Enum):
    """Whether the program may recompute values, or only offload them."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


class Rounding(Enum):
    """Counting of memory in the backward phase of a search."""

    # In slots, rounded so that no time is above that of the best schedule: proves floors.
    DOWN = "down"
    # In slots, rounded so that every plan fits: proves no floor.
    UP = "up"
    # To the byte: proves floors and finds plans, for few labels or short chains.
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PofoFound:
    """Outcome of one search of POFO's program for what is faster than a limit.

    Attributes
    ----------
    plan
        A plan that is faster than the limit; None if none was found, or none was searched for.
    plan_ns
        A time that the plan attains with partial transfers; None without a plan.
    has_floor
        Whether the search proves a lower bound.
    floor_ns
        The bound for all schedules that are faster than the limit; None if there is none.
    is_complete
        Whether no label was left out that might have led to a faster schedule.
    labels, states
        Work: labels expanded, and curves of the backward phase.
    """

    plan: OffloadPlan | None
    plan_ns: Fraction | None
    has_floor: bool
    floor_ns: Fraction | None
    is_complete: bool
    labels: int
    states: int


class PofoProgram:
    """POFO's program on one chain, refined from grid to grid.

    All times are of persistent schedules that offload before the loss only, with partial transfers
    or without. Numbers that do not fit the integers of the kernel are rounded to the safe side.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    bytes_per_s
        Bandwidth of the link, the same in both directions.
    recomputation
        ``FORBIDDEN`` allows offloading only.
    most_bytes
        Limit on the memory of the tables.

    Raises
    ------
    InputError
        If there is no bandwidth.
    """

    def __init__(
        self,
        chain: Chain,
        memory_bytes: int,
        bytes_per_s: int,
        *,
        recomputation: Recomputation = Recomputation.ALLOWED,
        most_bytes: int = PLANS.most_table_bytes,
    ) -> None:
        _require_positive("bytes_per_s", bytes_per_s)
        bandwidth = Fraction(bytes_per_s, NS_PER_S)
        totals = Totals.of(chain, memory_bytes)

        def rounded(sizes: Chain, rate: Fraction, side: Side) -> _Rounded:
            units = units_for(rate, memory_bytes, totals, side)
            kernel = _kernels.PofoProgram(
                **arrays_of(sizes, units),
                # No tensor with a size fits where there is no memory, nor does it in half a byte.
                memory=units.memory(memory_bytes) or 1,
                recomputes=recomputation is Recomputation.ALLOWED,
                most_bytes=most_bytes,
            )
            return _Rounded(units, kernel)

        # With gradients larger than outputs the program need not find the best of its class: floors
        # are those of smaller gradients, plans those of the chain as it is.
        relaxed = with_smaller_gradients(chain)
        self._floors = rounded(relaxed, bandwidth, Side.EXACT)
        self._plans: _Rounded | None = self._floors
        if self._floors.units.shift:
            # Times and sizes rounded down and memory rounded up only make a schedule easier:
            # shorter operations can wait. The other way round they only make it harder, as does a
            # slower link. With a bandwidth of few digits the sizes and the memory need no rounding,
            # and schedules that fit to the byte are still found.
            self._floors = rounded(relaxed, bandwidth, Side.OPTIMISTIC)
            slower = slower_link(bandwidth, totals) or bandwidth
            self._plans = rounded(chain, slower, Side.FEASIBLE)
            if not self._plans.units.memory(memory_bytes):
                self._plans = None
        elif relaxed is not chain:
            self._plans = rounded(chain, bandwidth, Side.EXACT)

    @property
    def is_rounded(self) -> bool:
        """Whether floors and plans are of other numbers each, so that they need not meet."""
        return self._floors is not self._plans

    def refine(
        self,
        slot_bytes: int,
        limit_ns: Fraction | int | None = None,
        *,
        backward_slot_bytes: int | None = None,
        both_programs: bool = True,
        clock: Clock,
    ) -> Fraction | None:
        """Count memory in slots of another size; return a floor, None if nothing is faster.

        Parameters
        ----------
        slot_bytes
            Size of a slot of what is kept from the forward phase, at least 1.
        limit_ns
            Only schedules faster than this count, here and on all later grids.
        backward_slot_bytes
            Size of a slot of what the backward phase keeps, at least 1; by default the same.
        both_programs
            Whether both programs of the bound are filled. Otherwise the one that is weaker on the
            grid before stays as it is there, in half of the time and of the memory.
        clock
            The time limit.

        Raises
        ------
        InputError
            If a slot has no size.
        TimeoutError
            If the time is up; the grid before remains.
        MemoryError
            If the tables would take more than there is; the grid before remains.
        """
        sizes_bytes = (
            slot_bytes,
            slot_bytes if backward_slot_bytes is None else backward_slot_bytes,
        )
        for field, size_bytes in zip(
            ("slot_bytes", "backward_slot_bytes"), sizes_bytes, strict=True
        ):
            _require_positive(field, size_bytes)
        if self._plans is not None and self.is_rounded:
            self._plans.refine(sizes_bytes, both_programs, limit_ns, clock)
        return self._floors.refine(sizes_bytes, both_programs, limit_ns, clock)

    def search(
        self,
        rounding: Rounding,
        most_labels: int,
        limit_ns: Fraction | int | None = None,
        *,
        clock: Clock,
    ) -> PofoFound:
        """Search for a plan that is faster than a limit, or for a floor.

        Parameters
        ----------
        rounding
            How memory is counted in the backward phase.
        most_labels
            Labels kept for each stage, at least 1.
        limit_ns
            Only schedules faster than this count.
        clock
            The time limit.

        Raises
        ------
        InputError
            If no label is kept.
        TimeoutError
            If the time is up.
        MemoryError
            If the tables would take more than there is.
        """
        _require_positive("most_labels", most_labels)
        if rounding is Rounding.DOWN:
            return self._floors.search(rounding, most_labels, limit_ns, clock)
        found = PofoFound(None, None, rounding is Rounding.NONE, None, True, 0, 0)
        if self._plans is not None:
            found = self._plans.search(rounding, most_labels, limit_ns, clock)
        if rounding is Rounding.UP or not self.is_rounded:
            return found
        floor = self._floors.search(rounding, most_labels, limit_ns, clock)
        return replace(
            found,
            floor_ns=floor.floor_ns,
            is_complete=found.is_complete and floor.is_complete,
            labels=found.labels + floor.labels,
            states=found.states + floor.states,
        )


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Kernel with the units of its numbers."""

    units: Units
    kernel: _kernels.PofoProgram

    def refine(
        self,
        sizes_bytes: tuple[int, int],
        both_programs: bool,
        limit_ns: Fraction | int | None,
        clock: Clock,
    ) -> Fraction | None:
        slot, backward_slot = (self.units.size(size_bytes) or 1 for size_bytes in sizes_bytes)
        floor = self.kernel.refine(
            slot=slot,
            backward_slot=backward_slot,
            both_programs=both_programs,
            limit=self.units.limit(limit_ns),
            time_limit_s=_left_s(clock),
        )
        return None if floor is None else self.units.ns(floor)

    def search(
        self, rounding: Rounding, most_labels: int, limit_ns: Fraction | int | None, clock: Clock
    ) -> PofoFound:
        floor, time, sequence, offloaded, is_complete, labels, states = self.kernel.search(
            accuracy=_accuracy(rounding),
            most_labels=most_labels,
            limit=self.units.limit(limit_ns),
            time_limit_s=_left_s(clock),
        )
        tensors = tuple(
            Tensor(TensorKind.SAVED if is_saved else TensorKind.PLAIN, stage)
            for stage, is_saved in offloaded
        )
        return PofoFound(
            plan=None if time is None else OffloadPlan(chain_schedule(sequence), tensors),
            plan_ns=None if time is None else self.units.ns(time),
            has_floor=rounding is not Rounding.UP,
            floor_ns=None if floor is None else self.units.ns(floor),
            is_complete=is_complete,
            labels=labels,
            states=states,
        )


def _accuracy(rounding: Rounding) -> _kernels.Accuracy:
    accuracy = _kernels.Accuracy
    return {
        Rounding.DOWN: accuracy.LOWER,
        Rounding.UP: accuracy.UPPER,
        Rounding.NONE: accuracy.EXACT,
    }[rounding]


def _left_s(clock: Clock) -> float | None:
    return None if math.isinf(clock.left_s) else clock.left_s


def _require_positive(field: str, number: int) -> None:
    if number < 1:
        raise InputError(f"{number}", field=field, expected="write at least 1")
