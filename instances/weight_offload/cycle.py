r"""Weight cycle: a training step as operations that repeat, with the memory of each.

Weight offloading runs :math:`B_L, \dots, B_1, F_1, \dots, F_L` again and again. Nothing is
recomputed and no activation leaves memory, so that what an operation needs besides the weights is
known beforehand:

.. math::
    e(F_i) = a_0 + \sum_{k \le i} \bar a_k + o_{F_i}, \qquad
    e(B_i) = a_0 + \sum_{k \le i} \bar a_k + |\delta_i| + |\delta_{i-1}| + o_{B_i} + |w_i|,

where the last term is the gradient of the weights, as large as they are. From the end of an
operation to the start of the next one there are

.. math::
    r(F_i) = a_0 + \sum_{k \le i} \bar a_k, \qquad
    r(B_i) = a_0 + \sum_{k < i} \bar a_k + |\delta_{i-1}|.

The weights themselves, :math:`|w_i|` of the running layer included, come on top. Equation (1) of
the paper, :math:`M_{F_i} = |w_i| + \sum_{k \le i} |a_k|` and
:math:`M_{B_i} = 2 |w_i| + \sum_{k \le i} |a_k|`, is the case of a chain whose stages have
:math:`\bar a_i = |a_i|`, no output and no overhead: there the gradients take the place of the
activations that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from jettison.instances.remat_chain.chain import Chain


@dataclass(frozen=True, slots=True)
class CycleOperation:
    """Operation of a weight cycle.

    Attributes
    ----------
    layer
        Number of the layer whose weights it reads, from 1.
    is_backward
        Whether it is the backward operation, which changes the weights.
    duration_ns
        Its duration.
    working_bytes
        Memory in use while it runs, all weights apart: :math:`e`.
    resting_bytes
        The same from its end to the start of the next operation: :math:`r`.
    """

    layer: int
    is_backward: bool
    duration_ns: int
    working_bytes: int
    resting_bytes: int

    def __str__(self) -> str:
        return f"{'B' if self.is_backward else 'F'} {self.layer}"


@dataclass(frozen=True)
class WeightCycle:
    r"""Weight cycle: the :math:`2 L` operations of a chain's step, in the order of the paper.

    Attributes
    ----------
    chain
        The instance.
    """

    chain: Chain

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[CycleOperation]:
        return iter(self.operations)

    @property
    def num_layers(self) -> int:
        """Number of layers :math:`L`."""
        return len(self.chain)

    @cached_property
    def weight_bytes(self) -> tuple[int, ...]:
        r"""Sizes :math:`|w_1|, \dots, |w_L|`."""
        return tuple(stage.weight_bytes for stage in self.chain)

    @cached_property
    def operations(self) -> tuple[CycleOperation, ...]:
        r"""The operations :math:`B_L, \dots, B_1, F_1, \dots, F_L`: number k of the paper is k - 1.

        :math:`B_i` has index :math:`L - i`, :math:`F_i` has index :math:`L + i - 1`.
        """
        saved_bytes = self.chain.input_bytes
        forward, backward = [], []
        for layer, stage in enumerate(self.chain, start=1):
            before_bytes = saved_bytes
            saved_bytes += stage.saved_bytes
            forward.append(
                CycleOperation(
                    layer=layer,
                    is_backward=False,
                    duration_ns=stage.forward_ns,
                    working_bytes=saved_bytes + stage.overhead_of_saving_bytes,
                    resting_bytes=saved_bytes,
                )
            )
            # The input has a gradient only while B_1 runs: nothing reads it.
            leaves_bytes = self.chain.gradient_bytes(layer - 1) if layer > 1 else 0
            output_bytes = self.chain.backward_output_bytes(layer)
            working_bytes = (
                saved_bytes
                + stage.gradient_bytes
                + max(output_bytes + stage.backward_overhead_bytes, leaves_bytes)
            )
            backward.append(
                CycleOperation(
                    layer=layer,
                    is_backward=True,
                    duration_ns=stage.backward_ns,
                    working_bytes=working_bytes + stage.weight_bytes,
                    resting_bytes=before_bytes + leaves_bytes,
                )
            )
        return (*reversed(backward), *forward)

    def backward_index(self, layer: int) -> int:
        """Return the index in `operations` of a layer's backward operation."""
        return self.num_layers - layer

    def forward_index(self, layer: int) -> int:
        """Return the index in `operations` of a layer's forward operation."""
        return self.num_layers + layer - 1

    @cached_property
    def total_weight_bytes(self) -> int:
        r"""Size of all weights, :math:`\sum_i |w_i|`."""
        return sum(self.weight_bytes)

    @cached_property
    def no_offload_peak_bytes(self) -> int:
        """Peak of the step that keeps all weights in memory."""
        return self.total_weight_bytes + max(item.working_bytes for item in self)

    @cached_property
    def least_memory_bytes(self) -> int:
        """Peak of the step that keeps the weights of the running layer only.

        No schedule needs less: every operation runs with its layer's weights in memory. And so much
        is enough: weights can come and go between operations, when less is in use.
        """
        return max(item.working_bytes + self.weight_bytes[item.layer - 1] for item in self)

    def excess_bytes(self, memory_bytes: int) -> tuple[int, ...]:
        """Return by how much each operation exceeds a memory that holds all weights.

        It is what has to be absent while the operation runs, where it is positive.
        """
        kept_bytes = self.total_weight_bytes - memory_bytes
        return tuple(kept_bytes + item.working_bytes for item in self)
