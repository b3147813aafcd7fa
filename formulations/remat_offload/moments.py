r"""Moments of a step at which a chain is cut, with the memory that each leaves.

Stage :math:`\ell` has three operations that every schedule runs: :math:`B^\ell`; the last
:math:`F_{all}^\ell` before it, at :math:`\sigma_\ell`; and the first forward of the stage, at
:math:`\phi_\ell`. Each gives two moments, right after it starts and right before it ends: memory
that arrives while an operation runs has to fit beside it at its end, and memory that leaves has
not left at its start.

At each moment some operations lie before it and some after it in every schedule:

==================== ============================== ========================================
moment               :math:`P`, before               :math:`Q`, after
==================== ============================== ========================================
start of B           all F, :math:`B^k, k > \ell`    :math:`B^k, k \le \ell`
end of B             all F, :math:`B^k, k \ge \ell`  :math:`B^k, k < \ell`
start of last F_all  :math:`F^k, k < \ell`           :math:`F^\ell; B^k, k \le \ell`
end of last F_all    :math:`F^k, k \le \ell`         :math:`B^k, k \le \ell`
start of first F     :math:`F^k, k < \ell`           :math:`F^k, k \ge \ell`; all B
end of first F       :math:`F^k, k \le \ell`         :math:`F^k, k > \ell`; all B
==================== ============================== ========================================

and the operation with its outputs leaves this much memory for its inputs :math:`k < \ell` and all
else, the input :math:`a^0` of the chain included:

.. math::
    A = M - \begin{cases}
        \bar a^\ell + \delta^\ell + [\delta^{\ell-1}] + o_b^\ell & \text{(B)} \\
        \bar a^\ell + \bar o_f^\ell & \text{(last F\_all)} \\
        a^\ell + o_f^\ell & \text{(first F)}
    \end{cases}

where :math:`\delta` are the sizes of gradients and :math:`[\delta^{\ell-1}]` is absent if the
instance says that :math:`o_b` holds the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from jettison.instances.remat_chain.chain import Chain


class Moment(StrEnum):
    """Moment of a stage at which a chain is cut."""

    BACKWARD_START = "start of B"
    BACKWARD_END = "end of B"
    SAVING_START = "start of the last F_all"
    SAVING_END = "end of the last F_all"
    FIRST_START = "start of the first F"
    FIRST_END = "end of the first F"

    @property
    def is_of_backward(self) -> bool:
        """Whether :math:`B^1, ..., B^l` and reruns are all that runs afterwards."""
        return self in {Moment.BACKWARD_START, Moment.BACKWARD_END}

    @property
    def is_of_first(self) -> bool:
        """Whether the last :math:`F_{all}` of the stage may come later."""
        return self in {Moment.FIRST_START, Moment.FIRST_END}


@dataclass(frozen=True, slots=True)
class Place:
    """Cut at a moment of one stage: the memory, and the time before and after it.

    Attributes
    ----------
    available_bytes
        :math:`A`; negative if the operation alone does not fit.
    before_ns, after_ns
        :math:`P` and :math:`Q`.
    """

    available_bytes: int
    before_ns: int
    after_ns: int


class Places:
    """Cuts at all moments of all stages of a chain, in some memory."""

    def __init__(self, chain: Chain, memory_bytes: int) -> None:
        self._chain = chain
        self._memory_bytes = memory_bytes
        # Time of F^1..F^k and of B^1..B^k at position k.
        self.forward_ns = [0, *accumulate(stage.forward_ns for stage in chain)]
        self.backward_ns = [0, *accumulate(stage.backward_ns for stage in chain)]

    def at(self, number: int, moment: Moment) -> Place:
        """Return the cut at a moment of stage `number`."""
        chain, stage = self._chain, self._chain.stage(number)
        base_ns = chain.base_time_ns
        forward_ns, backward_ns = self.forward_ns, self.backward_ns
        backward_bytes = (
            stage.saved_bytes
            + stage.gradient_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
        )
        saving_bytes = stage.saving_bytes
        first_bytes = stage.passing_bytes
        match moment:
            case Moment.BACKWARD_START:
                used, after = backward_bytes, backward_ns[number]
                before = base_ns - after
            case Moment.BACKWARD_END:
                used, after = backward_bytes, backward_ns[number - 1]
                before = base_ns - after
            case Moment.SAVING_START:
                used, before = saving_bytes, forward_ns[number - 1]
                after = stage.forward_ns + backward_ns[number]
            case Moment.SAVING_END:
                used, before, after = saving_bytes, forward_ns[number], backward_ns[number]
            case Moment.FIRST_START:
                used, before = first_bytes, forward_ns[number - 1]
                after = base_ns - before
            case Moment.FIRST_END:
                used, before = first_bytes, forward_ns[number]
                after = base_ns - before
        return Place(self._memory_bytes - used, before, after)
