r"""Least memory of a chain with offloading, in a closed form.

Every schedule runs :math:`F_{all}^\ell` and :math:`B^\ell` of each stage, with their inputs, their
outputs and their overhead in memory. :math:`\bar a^{\ell-1}` in place of the input
:math:`a^{\ell-1}` is no smaller. The step begins with :math:`a^0` in memory:

.. math::
    M \ge \max\Bigl( a^0,\; \max_\ell \bigl( a^{\ell-1} + \bar a^\ell
        + \max(\bar o_f^\ell,\; \delta^\ell + [\delta^{\ell-1}] + o_b^\ell) \bigr) \Bigr)

where :math:`[\delta^{\ell-1}]`, the output of the backward, is absent if the instance says that
:math:`o_b` holds it.

This much suffices: after each operation all that is in memory is copied to the host, and what the
next one reads is brought back. :math:`F_{ck}^\ell` comes first, for :math:`a^\ell`, and then
:math:`F_{all}^\ell`, for :math:`\bar a^\ell`; only the gradient stays on the device. That needs no
more than the above.
"""

from __future__ import annotations

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility


def least_memory_with_offloading(chain: Chain) -> int:
    """Return the least memory in bytes in which some schedule that may offload exists; O(N)."""
    needed = [chain.input_bytes]
    for number, stage in enumerate(chain, start=1):
        inputs_bytes = chain.activation_bytes(number - 1) + stage.saved_bytes
        backward_bytes = (
            stage.gradient_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
        )
        needed.append(inputs_bytes + max(stage.overhead_of_saving_bytes, backward_bytes))
    return max(needed)


def offload_infeasibility(chain: Chain, memory_bytes: int) -> Infeasibility | None:
    """Return the proof that no schedule of any kind fits, or None if one does."""
    least = least_memory_with_offloading(chain)
    if memory_bytes >= least:
        return None
    return Infeasibility(valid_for=ScheduleClass.ALL, least_memory_bytes=least, is_exact=True)
