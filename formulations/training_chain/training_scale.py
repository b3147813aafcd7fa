r"""Scaling of a training chain: sizes, times and the link as numbers of a linear model.

Sizes and times are counted in units that bring the largest of each down to 1024 (`IntegerScale`).
Every rounding relaxes: sizes and durations round down, the memory and the rate of the link round
up. A schedule of the chain, with smaller tensors and shorter operations, is one of the rounded
chain, and no longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.training_chain.problem import TrainingChain

# The rate of the link is a multiple of 2^-30 in the model.
_RATE_BITS = 30


@dataclass(frozen=True)
class TrainingScale:
    """Scale of a model of a training chain.

    Attributes
    ----------
    problem
        The problem.
    sizes, times
        Scales of its bytes and nanoseconds.
    """

    problem: TrainingChain
    sizes: IntegerScale
    times: IntegerScale

    @classmethod
    def of(cls, problem: TrainingChain) -> Self:
        """Return the scale for a problem; linear time."""
        chain = problem.instance
        sizes = [_limit_bytes(problem), chain.input_bytes]
        times = []
        for stage in chain:
            sizes += [stage.output_bytes, stage.saved_bytes, stage.gradient_bytes]
            sizes += [stage.weight_bytes, stage.gradient_of_weights_bytes]
            sizes += [stage.optimizer_state_bytes]
            sizes += [stage.forward_overhead_bytes, stage.overhead_of_saving_bytes]
            sizes += [stage.backward_overhead_bytes]
            times += [stage.forward_ns, stage.backward_ns, stage.update_ns]
            times += [stage.host_update_ns or 0]
        return cls(problem, IntegerScale.of(sizes), IntegerScale.of(times))

    @cached_property
    def memory(self) -> float:
        """The memory limit, rounded up."""
        return -(-_limit_bytes(self.problem) // self.sizes.unit) / self.sizes.factor

    @cached_property
    def rate(self) -> float:
        """Size that a direction of the link carries in a unit of time, rounded up."""
        return self._rate(self.problem.link.bytes_per_s)

    @cached_property
    def total_rate(self) -> float:
        """Size that both directions carry together in a unit of time, rounded up."""
        return self._rate(self.problem.link.total_bytes_per_s)

    @cached_property
    def longest(self) -> float:
        """A time beyond which no row of the cycle bound asks for more of one element, rounded up.

        It is that of all operations, forward ones twice, of all updates on both processors, and of
        moving all tensors as often as they can move in one element.
        """
        chain, link = self.problem.instance, self.problem.link
        moved_bytes, busy_ns = 0, 4
        for stage in chain:
            busy_ns += 2 * stage.forward_ns + stage.backward_ns
            busy_ns += stage.update_ns + (stage.host_update_ns or 0)
            moved_bytes += 7 * stage.weight_bytes + 2 * stage.gradient_of_weights_bytes
            moved_bytes += 2 * stage.optimizer_state_bytes
            moved_bytes += 2 * (stage.saved_bytes + stage.output_bytes)
        longest_ns = busy_ns + link.transfer_ns(moved_bytes)
        return (longest_ns // self.times.unit + 1) / self.times.factor

    def size_bytes(self, value: float | Fraction) -> int:
        """Return the bytes of a size of the model, rounded up."""
        return math.ceil(Fraction(value) * self.sizes.unit * self.sizes.factor)

    def _rate(self, bytes_per_s: int) -> float:
        unit = Fraction(self.times.unit * self.times.factor, self.sizes.unit * self.sizes.factor)
        units: int = math.ceil(bytes_per_s * unit / 10**9 * 2**_RATE_BITS)
        return units / (1 << _RATE_BITS)

    def size(self, size_bytes: int) -> float:
        """Return a size, rounded down."""
        return self.sizes.to_model(size_bytes)

    def time(self, duration_ns: int) -> float:
        """Return a duration, rounded down."""
        return self.times.to_model(duration_ns)

    def transfer(self, size_bytes: int) -> float:
        """Return the time of a transfer of a whole tensor that is alone, rounded down."""
        return self.time(self.problem.link.transfer_ns(size_bytes))

    def time_ns(self, value: float | Fraction) -> int:
        """Return a lower bound on the time of the step, from one of the model, exactly."""
        found = math.ceil(Fraction(value) * self.times.unit * self.times.factor)
        return max(found, self.problem.base_time_ns)


def _limit_bytes(problem: TrainingChain) -> int:
    """Return the memory limit, or what all tensors need together where that is less.

    The peak of keeping everything is no limit: gradients of several stages that wait for the host
    may need more.
    """
    # The input of the chain, and its gradient.
    total_bytes = 2 * problem.instance.input_bytes
    for stage in problem.instance:
        total_bytes += stage.weight_bytes + stage.gradient_of_weights_bytes
        total_bytes += stage.optimizer_state_bytes + stage.saved_bytes + stage.output_bytes
        total_bytes += 2 * stage.gradient_bytes
        total_bytes += stage.forward_overhead_bytes + stage.backward_overhead_bytes
    return min(problem.memory_bytes, total_bytes)
