r"""Sub-array of µ-TWO: several models fused into one, with its profile.

Operators and feature maps are named by their positions here. While the forward pass stands after
operator p and the backward pass has not begun, the memory of the sub-array is

.. math::
    \text{static} + \text{active}(p) + \sum_{t \text{ idle and kept}} \text{size}(t) ,

and :math:`\text{peak}(p)` takes the place of :math:`\text{active}(p)` while an operator runs; a
feature map is idle from the end of its last forward use to the start of its first backward use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Work:
    """One operator of a pass: its duration, and the memory of the pass during and after it."""

    name: str
    run_ns: int
    peak_bytes: int
    active_bytes: int


@dataclass(frozen=True, slots=True)
class IdleTensor:
    """Feature map of a sub-array: its size, its uses, and the cost of moving or recomputing it.

    Attributes
    ----------
    name
        As in the instance.
    size_bytes
        Its size.
    made_by, last_forward
        Positions in the forward pass.
    first_backward, last_backward
        Positions in the backward pass.
    recompute_ns, recompute_bytes
        Time to compute it again from its sources, and the memory beside its own and theirs.
    sources
        Positions of feature maps that were made before it.
    swap_ns
        Time of a copy in either direction; None if it follows from the bandwidth.
    """

    name: str
    size_bytes: int
    made_by: int
    last_forward: int
    first_backward: int
    last_backward: int
    recompute_ns: int
    recompute_bytes: int
    sources: tuple[int, ...]
    swap_ns: int | None


@dataclass(frozen=True)
class SubArray:
    """Models that are fused and trained as one.

    Attributes
    ----------
    models
        Number of models, at least 1.
    static_bytes
        Resident memory: weights, gradients of weights, states of the optimizer.
    forward, backward
        The operators of the two passes, in order; each pass has at least one.
    tensors
        The feature maps, in the order in which they are made.
    """

    models: int
    static_bytes: int
    forward: tuple[Work, ...]
    backward: tuple[Work, ...]
    tensors: tuple[IdleTensor, ...]

    @cached_property
    def compute_ns(self) -> int:
        """Time of both passes without recomputation."""
        return sum(work.run_ns for work in self.forward + self.backward)

    @cached_property
    def idle_bytes(self) -> int:
        """Size of all feature maps."""
        return sum(tensor.size_bytes for tensor in self.tensors)

    @cached_property
    def carried_bytes(self) -> int:
        """Memory carried from the forward to the backward pass: that of the loss, say."""
        return self.forward[-1].active_bytes

    @cached_property
    def largest_peak_bytes(self) -> int:
        """Largest peak of an operator, without static memory and idle feature maps."""
        return max(work.peak_bytes for work in self.forward + self.backward)

    @cached_property
    def store_all_peak_bytes(self) -> int:
        """Peak of the two passes one after the other, with every feature map kept."""
        grows = [0] * len(self.forward)
        shrinks = [0] * len(self.backward)
        for tensor in self.tensors:
            grows[tensor.last_forward] += tensor.size_bytes
            shrinks[tensor.first_backward] += tensor.size_bytes
        idle = list(accumulate(grows, initial=0))
        left = [self.idle_bytes - gone for gone in accumulate(shrinks)]
        return self.static_bytes + max(
            *(kept + work.peak_bytes for kept, work in zip(idle, self.forward, strict=False)),
            *(kept + work.peak_bytes for kept, work in zip(left, self.backward, strict=True)),
            self.idle_bytes + self.carried_bytes,
        )
