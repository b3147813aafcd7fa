"""Integer units of POFO's kernel, in which the link moves one unit per tick."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_chain.chain import Chain

# Beyond this, sums of times or of sizes might not fit the integers of the kernel.
LARGEST_SUM = 2**59


class Side(Enum):
    """The direction in which numbers that do not fit are rounded."""

    EXACT = "exact"
    OPTIMISTIC = "optimistic"
    FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True)
class Units:
    """Integer units of the kernel: ticks per nanosecond and units per byte, divided by 2^shift."""

    ticks_per_ns: int
    units_per_byte: int
    shift: int
    side: Side

    def ticks(self, time_ns: int) -> int:
        """Return a duration in ticks."""
        return self._shifted(time_ns * self.ticks_per_ns, up=self.side is Side.FEASIBLE)

    def size(self, size_bytes: int) -> int:
        """Return a size in units."""
        return self._shifted(size_bytes * self.units_per_byte, up=self.side is Side.FEASIBLE)

    def memory(self, memory_bytes: int) -> int:
        """Return a limit on memory in units."""
        up = self.side is Side.OPTIMISTIC
        return self._shifted(memory_bytes * self.units_per_byte, up=up)

    def limit(self, time_ns: Fraction | int | None) -> int | None:
        """Return the ticks that everything faster than a time stays below; None for None."""
        if time_ns is None:
            return None
        return -(-math.ceil(time_ns * self.ticks_per_ns) >> self.shift)

    def ns(self, ticks: int) -> Fraction:
        """Return ticks in nanoseconds."""
        return Fraction(ticks << self.shift, self.ticks_per_ns)

    def _shifted(self, number: int, *, up: bool) -> int:
        return -(-number >> self.shift) if up else number >> self.shift


@dataclass(frozen=True, slots=True)
class Totals:
    """Upper limits on all sums of times, in nanoseconds, and of sizes, in bytes."""

    time_ns: int
    size_bytes: int

    @classmethod
    def of(cls, chain: Chain, memory_bytes: int) -> Totals:
        """Return the limits for a chain in so much memory."""
        sizes = chain.input_bytes + sum(
            2 * stage.saved_bytes
            + 2 * max(stage.output_bytes, stage.gradient_bytes)
            + stage.forward_overhead_bytes
            + stage.backward_overhead_bytes
            for stage in chain
        )
        # Every stage runs forward at most once per stage of the chain; idle time moves each value
        # once in either direction.
        return cls(chain.base_time_ns * (len(chain) + 1), 4 * (sizes + memory_bytes))


def units_for(bandwidth: Fraction, memory_bytes: int, totals: Totals, side: Side) -> Units:
    """Return units in which all numbers are integers, with a shift if these are too large.

    Parameters
    ----------
    bandwidth
        Bytes per nanosecond.
    memory_bytes
        Limit on memory. If it is 0, a byte has two units, so that half a byte can stand for it.
    totals
        Limits on sums.
    side
        How numbers are rounded if there is a shift.
    """
    scale = 1 if memory_bytes else 2
    ticks_per_ns, units_per_byte = bandwidth.numerator * scale, bandwidth.denominator * scale
    total = ticks_per_ns * totals.time_ns + units_per_byte * totals.size_bytes
    return Units(ticks_per_ns, units_per_byte, (total // LARGEST_SUM).bit_length(), side)


def slower_link(bandwidth: Fraction, totals: Totals) -> Fraction | None:
    """Return the best fraction below a bandwidth whose units need no shift; None if none is found.

    The Stern-Brocot tree is followed from below as far as the units allow: no fraction between the
    result and the bandwidth has a smaller denominator.
    """
    low, high = (0, 1), (1, 0)
    # By how much they miss the bandwidth p / q: p b - q a for low a / b, q c - p d for high c / d.
    below, above = bandwidth.numerator, bandwidth.denominator

    def total(pair: tuple[int, int]) -> int:
        return 2 * (pair[0] * totals.time_ns + pair[1] * totals.size_bytes)

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


def arrays_of(chain: Chain, units: Units) -> dict[str, NDArray[np.int64]]:
    """Return what the kernel is given of a chain, shape (N + 1,); entry 0 is its input."""

    def per_stage(at_input: int, number: Callable[[int], int]) -> NDArray[np.int64]:
        numbers = [at_input, *(number(k) for k in range(1, len(chain) + 1))]
        return np.array(numbers, dtype=np.int64)

    def backward_need(number: int) -> int:
        stage = chain.stage(number)
        return units.size(
            stage.saved_bytes
            + stage.gradient_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
        )

    size = units.size
    return {
        "forward": per_stage(0, lambda k: units.ticks(chain.stage(k).forward_ns)),
        "backward": per_stage(0, lambda k: units.ticks(chain.stage(k).backward_ns)),
        "output": per_stage(size(chain.input_bytes), lambda k: size(chain.activation_bytes(k))),
        "gradient": per_stage(size(chain.input_bytes), lambda k: size(chain.gradient_bytes(k))),
        "saved": per_stage(size(chain.input_bytes), lambda k: size(chain.stage(k).saved_bytes)),
        "saving_overhead": per_stage(0, lambda k: size(chain.stage(k).overhead_of_saving_bytes)),
        "forward_overhead": per_stage(0, lambda k: size(chain.stage(k).forward_overhead_bytes)),
        "backward_need": per_stage(0, backward_need),
    }
