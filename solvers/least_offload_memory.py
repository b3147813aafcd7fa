"""The memory in bytes that every schedule of a chain needs, offloading included."""

from __future__ import annotations

from jettison.instances.chain import Chain


def least_memory_with_offloading(chain: Chain) -> int:
    r"""Return a lower bound in bytes on the memory of every schedule that may offload; O(N).

    Everything can be on the host but the inputs, the outputs and the overhead of the operation
    that runs, the input :math:`a^0` included. Each stage runs :math:`F_{all}` and :math:`B`:

    .. math::
        a^{\ell-1} + \bar a^\ell + \max\bigl(o_f^\ell,\;
            a^\ell + [a^{\ell-1}] + o_b^\ell,\; \bigr)

    where :math:`[a^{\ell-1}]`, the output of the backward, is absent where the instance says that
    :math:`o_b` holds it. The step begins with :math:`a^0` in memory.
    """
    needed = [chain.input_bytes]
    for number, stage in enumerate(chain, start=1):
        inputs_bytes = chain.activation_bytes(number - 1) + stage.saved_bytes
        backward_bytes = (
            stage.output_bytes + chain.backward_output_bytes(number) + stage.backward_overhead_bytes
        )
        needed.append(inputs_bytes + max(stage.forward_overhead_bytes, backward_bytes))
    return max(needed)
