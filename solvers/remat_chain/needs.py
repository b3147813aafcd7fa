r"""Memory thresholds of RR-9302 for the two ways to start a sub-chain, corrected.

For the sub-chain :math:`s, \dots, t` with :math:`\delta^t` in memory and the input not counted:

.. math::

    m_{all}(s,t) &= \max\bigl(\delta^t + \bar a^s + \bar o_f^s,\;
                              \delta^s + \bar a^s + [\delta^{s-1}] + o_b^s\bigr) \\
    m_\emptyset(s,t) &= \delta^t + \max\bigl(a^s + o_f^s,\;
                        \max_{s<j<t} (a^{j-1} + a^j + o_f^j)\bigr)

:math:`\bar o_f` is the overhead of a forward operation that saves, :math:`o_f` that of others; the
report has one for both. Corrections of the print: every :math:`\omega_a^s` of :math:`m_{all}` is
:math:`\bar a^s`; the output :math:`\delta^{s-1}` of the backward, in brackets, counts as Table 1 of
the report and Appendix B of POFO have it, unless the instance says that :math:`o_b` holds it
already; and :math:`F_{all}` of a sub-chain needs :math:`m_{all}(s,t)`, not :math:`m_{all}(s,s)`,
because :math:`\delta^t` is in memory while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_chain.chain import Chain


@dataclass(frozen=True)
class ChainNeeds:
    """The thresholds of one chain, as arrays indexed from 0 for stage 1; :math:`O(N^2)`."""

    chain: Chain

    @cached_property
    def input_bytes(self) -> NDArray[np.int64]:
        """Size of the input of each stage, shape (N,)."""
        chain = self.chain
        return np.array([chain.activation_bytes(k) for k in range(len(chain))], dtype=np.int64)

    @cached_property
    def output_bytes(self) -> NDArray[np.int64]:
        """Size of the output of each stage, shape (N,)."""
        return np.array([stage.output_bytes for stage in self.chain], dtype=np.int64)

    @cached_property
    def gradient_bytes(self) -> NDArray[np.int64]:
        """Size of the gradient of the output of each stage, shape (N,)."""
        return np.array([stage.gradient_bytes for stage in self.chain], dtype=np.int64)

    @cached_property
    def saved_bytes(self) -> NDArray[np.int64]:
        """Size of what is saved of each stage, shape (N,)."""
        return np.array([stage.saved_bytes for stage in self.chain], dtype=np.int64)

    @cached_property
    def saving_bytes(self) -> NDArray[np.int64]:
        r"""Output and overhead of the forward of each stage that saves, shape (N,)."""
        return np.array([stage.saving_bytes for stage in self.chain], dtype=np.int64)

    @cached_property
    def passing_bytes(self) -> NDArray[np.int64]:
        r"""Output and overhead of the forward of each stage that saves nothing, shape (N,)."""
        return np.array([stage.passing_bytes for stage in self.chain], dtype=np.int64)

    @cached_property
    def backward_bytes(self) -> NDArray[np.int64]:
        """Memory of each stage's backward beside the stage's input, shape (N,)."""
        chain = self.chain
        return np.array(
            [
                stage.gradient_bytes
                + stage.saved_bytes
                + chain.backward_output_bytes(number)
                + stage.backward_overhead_bytes
                for number, stage in enumerate(chain, start=1)
            ],
            dtype=np.int64,
        )

    @cached_property
    def forward_all(self) -> NDArray[np.int64]:
        """:math:`m_{all}(s,t)` in bytes, shape (N, N); entries with t < s have no meaning."""
        needs: NDArray[np.int64] = np.maximum(
            self.gradient_bytes[None, :] + self.saving_bytes[:, None], self.backward_bytes[:, None]
        )
        return needs

    @cached_property
    def forward_none(self) -> NDArray[np.int64]:
        r""":math:`m_\emptyset(s,t)` in bytes, shape (N, N), for s < t."""
        count = len(self.chain)
        first = self.passing_bytes
        later = self.input_bytes + first
        needs = np.zeros((count, count), dtype=np.int64)
        for s in range(count - 1):
            # Entry t takes the maximum over s < j < t: the terms met before t.
            met = np.maximum.accumulate(np.concatenate(([first[s]], later[s + 1 : count - 1])))
            needs[s, s + 1 :] = self.gradient_bytes[s + 1 :] + met
        return needs


# Above every memory that an instance can have, and small enough to be added to one.
NEVER_BYTES = 2**61


@dataclass(frozen=True)
class InputsOnlyNeeds(ChainNeeds):
    r"""The thresholds of the automatic-differentiation model: only inputs are checkpointed.

    :math:`F_{all}` runs right before its backward and at no other time, so that
    :math:`m_{all}(s,t)` cannot be met for :math:`s < t`.
    """

    @cached_property
    def forward_all(self) -> NDArray[np.int64]:
        """:math:`m_{all}(s,s)` on the diagonal, an unattainable size elsewhere; shape (N, N)."""
        needs = np.full_like(super().forward_all, NEVER_BYTES)
        np.fill_diagonal(needs, np.diagonal(super().forward_all))
        return needs
