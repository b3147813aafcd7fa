r"""POFO's dynamic program: the fastest persistent schedule with offloading, as a bracket.

Source: Beaumont, Eyraud-Dubois, Shilova, NeurIPS 2021, Appendix B. Stage :math:`N` is the loss,
:math:`a^N` has no size, and :math:`\bar a` includes :math:`a`. Values leave before the boundary
between :math:`F^N` and :math:`B^N` and come back after it; memory is given back and taken while a
transfer runs. Units are chosen so that the link moves 1 unit per tick: :math:`\beta = 1`. Let
:math:`x^+ = \max(x, 0)`, and :math:`P` be the time of a run of forward operations.

.. math::

    F_0(k) &= \delta + [k>i]\,a^{k-1} + a^k + o_f^k, \quad F_A(i) = \delta + \bar a^i + o_f^i,
    \quad M_B(i) = \bar a^i + a^i + [a^{i-1}] + o_b^i

Backward phase (B.3, equation 2), :math:`\delta = a^j`, :math:`v = M - A`, where :math:`A` includes
the input and :math:`D` is what must be back at the *end* of :math:`(i, j)`:

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
only :math:`A` is ever rounded, to :math:`M / S` for :math:`S` slots. :math:`OC` is searched forward
over labels with exact :math:`A, \Delta_F, \Delta_B`, under a bound from two programs of one state
less. The native sources hold the proofs: rounded down, every value is a lower bound, because
:math:`C` and :math:`OC` are nondecreasing in what is stored and grow by at most 1 per unit to move;
rounded up, it is the time of a schedule that fits, and is timed again without rounding.

Complexity: the paper counts :math:`O(N^2 S^3 + N^3 S^2)`. Here at most :math:`O(N^2 S)` curves are
computed, each from at most :math:`N` splits, those that can matter; and at most ``most_labels``
labels per stage are expanded, in :math:`O(N)` each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.least_memory import chain_schedule
from jettison.solvers.remat_offload.pofo.params import PLANS

NS_PER_S = 10**9
# Beyond this, sums of times or of sizes might not fit the integers of the kernel.
LARGEST_SUM = 2**59


class Recomputation(Enum):
    """Whether the program may recompute values, or only offload them."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class PofoBracket:
    """Lower bound and plan from one run of the program.

    Attributes
    ----------
    floor_ns
        Lower bound for persistent schedules that offload before the loss only, with partial
        transfers or without. None if no such schedule fits.
    plan
        A plan that fits, or None if none fits with sizes rounded up.
    plan_ns
        A time that the plan attains with partial transfers; None without a plan.
    is_exact
        Whether the plan attains the floor, or nothing fits.
    labels, states
        Work: labels expanded, and curves of the backward phase.
    """

    floor_ns: Fraction | None
    plan: OffloadPlan | None
    plan_ns: Fraction | None
    is_exact: bool
    labels: int
    states: int


def pofo_bracket(
    chain: Chain,
    memory_bytes: int,
    bytes_per_s: int,
    slots: int,
    *,
    recomputation: Recomputation = Recomputation.ALLOWED,
    most_labels: int = PLANS.first_labels,
    most_bytes: int = PLANS.most_table_bytes,
    time_limit_s: float | None = None,
) -> PofoBracket:
    """Bracket the optimum of POFO with the backward phase on two grids.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    bytes_per_s
        Bandwidth of the link, the same in both directions.
    slots
        Slots of memory :math:`S`, at least 1.
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
    return _solve(
        chain, memory_bytes, bytes_per_s, slots, recomputation, most_labels, most_bytes,
        time_limit_s, is_exact=False,
    )  # fmt: skip


def pofo_exact(
    chain: Chain,
    memory_bytes: int,
    bytes_per_s: int,
    *,
    slots: int = PLANS.exact_slots,
    recomputation: Recomputation = Recomputation.ALLOWED,
    most_labels: int = PLANS.most_labels,
    most_bytes: int = PLANS.most_table_bytes,
    time_limit_s: float | None = None,
) -> PofoBracket:
    """Solve POFO exactly, with curves at all memory sizes that are reached; for short chains.

    Parameters and errors are those of `pofo_bracket`; the slots are those of the bound on what a
    label leads to, and change the work only. The bracket is closed unless `most_labels`
    is too small, or the numbers need more than 60 bits.

    Notes
    -----
    No worst-case bound better than the number of reachable memory sizes is known.
    """
    return _solve(
        chain, memory_bytes, bytes_per_s, slots, recomputation, most_labels, most_bytes,
        time_limit_s, is_exact=True,
    )  # fmt: skip


class _Side(Enum):
    """The direction in which numbers that do not fit are rounded."""

    EXACT = "exact"
    OPTIMISTIC = "optimistic"
    FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True)
class _Units:
    """Integer units of the kernel: ticks per nanosecond and units per byte, divided by 2^shift."""

    ticks_per_ns: int
    units_per_byte: int
    shift: int
    side: _Side

    def ticks(self, time_ns: int) -> int:
        return self._shifted(time_ns * self.ticks_per_ns, up=self.side is _Side.FEASIBLE)

    def size(self, size_bytes: int) -> int:
        return self._shifted(size_bytes * self.units_per_byte, up=self.side is _Side.FEASIBLE)

    def memory(self, memory_bytes: int, slots: int) -> int:
        """Return the memory in units, as a multiple of `slots`; exact without a shift."""
        up = self.side is _Side.OPTIMISTIC
        units = self._shifted(memory_bytes * self.units_per_byte, up=up)
        return (-(-units // slots) if up else units // slots) * slots

    def ns(self, ticks: int) -> Fraction:
        return Fraction(ticks << self.shift, self.ticks_per_ns)

    def _shifted(self, number: int, *, up: bool) -> int:
        return -(-number >> self.shift) if up else number >> self.shift


def _solve(
    chain: Chain,
    memory_bytes: int,
    bytes_per_s: int,
    slots: int,
    recomputation: Recomputation,
    most_labels: int,
    most_bytes: int,
    time_limit_s: float | None,
    *,
    is_exact: bool,
) -> PofoBracket:
    for field, number in (
        ("slots", slots),
        ("most_labels", most_labels),
        ("bytes_per_s", bytes_per_s),
    ):
        if number < 1:
            raise InputError(f"{number}", field=field, expected="write at least 1")
    clock = Clock(time_limit_s)

    def run(units: _Units) -> PofoBracket:
        left_s = None if time_limit_s is None else clock.left_s
        floor, time, sequence, offloaded, labels, states = _kernels.pofo_program(
            **_arrays(chain, units),
            # No tensor with a size fits where there is no memory, nor does it in half a byte.
            memory=units.memory(memory_bytes, slots) or slots,
            slots=slots,
            most_labels=most_labels,
            most_bytes=most_bytes,
            recomputes=recomputation is Recomputation.ALLOWED,
            exact=is_exact,
            time_limit_s=left_s,
        )
        tensors = tuple(
            Tensor(TensorKind.SAVED if is_saved else TensorKind.PLAIN, stage)
            for stage, is_saved in offloaded
        )
        return PofoBracket(
            None if floor is None else units.ns(floor),
            None if time is None else OffloadPlan(chain_schedule(sequence), tensors),
            None if time is None else units.ns(time),
            floor == time,
            labels,
            states,
        )

    bandwidth = Fraction(bytes_per_s, NS_PER_S)
    totals = _Totals.of(chain, memory_bytes)
    optimistic = _units(bandwidth, memory_bytes, slots, totals, _Side.OPTIMISTIC)
    if optimistic.shift == 0:
        return run(replace(optimistic, side=_Side.EXACT))
    # Times and sizes rounded down and memory rounded up only make a schedule easier: shorter
    # operations can wait. The other way round they only make it harder.
    floor = run(optimistic)
    if floor.floor_ns is None:
        return floor
    # A slower link makes it harder as well. With a bandwidth of few digits the sizes and the memory
    # need no rounding, and schedules that fit to the byte are still found.
    slower = _slower_link(bandwidth, totals, 2 * slots) or bandwidth
    feasible = _units(slower, memory_bytes, slots, totals, _Side.FEASIBLE)
    if feasible.memory(memory_bytes, slots) == 0:
        return replace(floor, plan=None, plan_ns=None, is_exact=False)
    plan = run(feasible)
    return PofoBracket(
        floor.floor_ns,
        plan.plan,
        plan.plan_ns,
        plan.plan_ns == floor.floor_ns,
        floor.labels + plan.labels,
        floor.states + plan.states,
    )


@dataclass(frozen=True, slots=True)
class _Totals:
    """Upper limits on all sums of times, in nanoseconds, and of sizes, in bytes."""

    time_ns: int
    size_bytes: int

    @classmethod
    def of(cls, chain: Chain, memory_bytes: int) -> _Totals:
        sizes = chain.input_bytes + sum(
            2 * stage.saved_bytes
            + 2 * stage.output_bytes
            + stage.forward_overhead_bytes
            + stage.backward_overhead_bytes
            for stage in chain
        )
        # Every stage runs forward at most once per stage of the chain; idle time moves each value
        # once in either direction.
        return cls(chain.base_time_ns * (len(chain) + 1), 4 * (sizes + memory_bytes))


def _units(
    bandwidth: Fraction, memory_bytes: int, slots: int, totals: _Totals, side: _Side
) -> _Units:
    """Return units in which all numbers are integers, with a shift if these are too large."""
    scale = 2 * slots
    if memory_bytes:
        scale = slots // math.gcd(slots, memory_bytes * bandwidth.denominator)
    ticks_per_ns, units_per_byte = bandwidth.numerator * scale, bandwidth.denominator * scale
    total = ticks_per_ns * totals.time_ns + units_per_byte * totals.size_bytes
    return _Units(ticks_per_ns, units_per_byte, (total // LARGEST_SUM).bit_length(), side)


def _slower_link(bandwidth: Fraction, totals: _Totals, scale: int) -> Fraction | None:
    """Return the best fraction below a bandwidth whose units need no shift; None if none is found.

    The Stern-Brocot tree is followed from below as far as the units allow: no fraction between the
    result and the bandwidth has a smaller denominator.
    """
    low, high = (0, 1), (1, 0)
    # By how much they miss the bandwidth p / q: p b - q a for low a / b, q c - p d for high c / d.
    below, above = bandwidth.numerator, bandwidth.denominator

    def total(pair: tuple[int, int]) -> int:
        return scale * (pair[0] * totals.time_ns + pair[1] * totals.size_bytes)

    while below:
        steps = (above - 1) // below
        high = (high[0] + steps * low[0], high[1] + steps * low[1])
        above -= steps * below
        room = LARGEST_SUM - 1 - total(low)
        steps = min(below // above, room // max(total(high), 1))
        if steps <= 0:
            break
        low = (low[0] + steps * high[0], low[1] + steps * high[1])
        below -= steps * above
    return Fraction(*low) if low[0] and total(low) < LARGEST_SUM else None


def _arrays(chain: Chain, units: _Units) -> dict[str, NDArray[np.int64]]:
    def per_stage(at_input: int, number: Callable[[int], int]) -> NDArray[np.int64]:
        numbers = [at_input, *(number(k) for k in range(1, len(chain) + 1))]
        return np.array(numbers, dtype=np.int64)

    def backward_need(number: int) -> int:
        stage = chain.stage(number)
        return units.size(
            stage.saved_bytes
            + stage.output_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
        )

    size = units.size
    return {
        "forward": per_stage(0, lambda k: units.ticks(chain.stage(k).forward_ns)),
        "backward": per_stage(0, lambda k: units.ticks(chain.stage(k).backward_ns)),
        "output": per_stage(size(chain.input_bytes), lambda k: size(chain.activation_bytes(k))),
        "saved": per_stage(size(chain.input_bytes), lambda k: size(chain.stage(k).saved_bytes)),
        "forward_overhead": per_stage(0, lambda k: size(chain.stage(k).forward_overhead_bytes)),
        "backward_need": per_stage(0, backward_need),
    }
