r"""Scaling of weight offloading: sizes, times and the link as numbers of a linear model.

Memory is counted in units that bring it down to 1024 (`IntegerScale`), and time in what the link
carries meanwhile, in the same units: then all coefficients are sizes, and :math:`\beta` is 1.

Every rounding relaxes. Sizes round down and the memory rounds up, as a rule by nothing: a schedule
of the chain, with each byte that moves taken as the same part of the rounded weights, fits the
rounded chain. What the link carries during an operation rounds up. It is cut off at twice all
weights, the most that either direction moves in a period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.weight_offload.problem import WeightOffload

# A dual bound of HiGHS is lowered by this much before it becomes a time, absolute and relative:
# ten times and once its tolerances.
_ABSOLUTE_MARGIN = 1e-5
_RELATIVE_MARGIN = 1e-6
# What the link carries during an operation is a multiple of 2^-20 in the model.
_CAPACITY_BITS = 20


@dataclass(frozen=True)
class WeightOffloadScale:
    """Scale of a weight offloading model: its numbers for sizes, times and the link.

    Attributes
    ----------
    problem
        The problem.
    memory
        Scale of its sizes.
    """

    problem: WeightOffload
    memory: IntegerScale

    @classmethod
    def of(cls, problem: WeightOffload) -> Self:
        """Return the scale for a problem; linear time."""
        cycle = problem.cycle
        working_bytes = (operation.working_bytes for operation in cycle)
        limit_bytes = min(problem.memory_bytes, cycle.no_offload_peak_bytes)
        scale = IntegerScale.of([*cycle.weight_bytes, *working_bytes, limit_bytes])
        return cls(problem, scale)

    @cached_property
    def weights(self) -> tuple[float, ...]:
        r"""Sizes :math:`|w_1|, \dots, |w_L|`, rounded down."""
        return tuple(self.memory.to_model(size) for size in self.problem.cycle.weight_bytes)

    @cached_property
    def rooms(self) -> tuple[float, ...]:
        """Memory left for weights while each operation runs, by its index, rounded up."""
        unit, factor = self.memory.unit, self.memory.factor
        limit = -(-self.problem.memory_bytes // unit)
        return tuple(
            (limit - operation.working_bytes // unit) / factor for operation in self.problem.cycle
        )

    @cached_property
    def capacities(self) -> tuple[float, ...]:
        """Bytes that each direction of the link carries during each operation, rounded up."""
        most = 2 * sum(self.weights)
        per_ns = self.problem.link.bytes_per_ns / (self.memory.unit * self.memory.factor)
        return tuple(
            min(
                most,
                math.ceil(operation.duration_ns * per_ns * 2**_CAPACITY_BITS) / 2**_CAPACITY_BITS,
            )
            for operation in self.problem.cycle
        )

    @cached_property
    def total_ratio(self) -> float:
        r"""Total of both directions over the rate of one, :math:`\tau / \beta`, rounded up."""
        link = self.problem.link
        ratio = Fraction(link.total_bytes_per_s, link.bytes_per_s)
        units: int = math.ceil(ratio * 2**_CAPACITY_BITS)
        return units / (1 << _CAPACITY_BITS)

    @property
    def is_shared(self) -> bool:
        """Whether both directions of the link share a total."""
        return self.problem.link.is_shared

    @cached_property
    def total_capacities(self) -> tuple[float, ...]:
        """Bytes that both directions carry together during each operation, rounded up."""
        return tuple(self.total_ratio * capacity for capacity in self.capacities)

    def time_ns(self, idle: float | Fraction) -> int:
        """Return a lower bound on the time of the step, from one on its idle time, exactly."""
        unit = self.memory.unit * self.memory.factor
        idle_ns = math.ceil(Fraction(idle) * unit / self.problem.link.bytes_per_ns)
        return self.problem.instance.base_time_ns + max(0, idle_ns)

    def time_from_solver_ns(self, dual_bound: float) -> int:
        """Return the same for a dual bound in floating point, lowered by its error."""
        margin = max(_ABSOLUTE_MARGIN, _RELATIVE_MARGIN * abs(dual_bound))
        return self.time_ns(dual_bound - margin)
