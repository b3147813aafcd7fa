r"""Memory floor of a chain with a link to the host: the needs of single operations.

There are no columns: a step of any kind runs :math:`F_{all}^\ell` and :math:`B^\ell` of each stage
once at least, so that its time is at least that of all operations, the offset, and in memory M it
needs

.. math::
    a^0 \le M, \qquad
    a^{\ell-1} + \bar a^\ell + \max\bigl(\bar o_f^\ell,\;
    \delta^\ell + [\delta^{\ell-1}] + o_b^\ell\bigr) \le M
    \quad \forall \ell

whatever is on the host: inputs, outputs and overhead of what runs are in memory. Rows: ``input``,
``stage_l``.

Version 1. No options.
"""

from __future__ import annotations

from ..header_fields import Fields, integer_field, only_fields
from ..integer_model import IntegerModel
from ..remat_chain.given_chain import GivenChain
from ..stated_model import StatedModel


def offload_memory_floor(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the rows, in linear time.

    Raises
    ------
    CertificateError
        If the instance is no chain, the memory or the link is none, or there are options.
    """
    only_fields(resources, {"memory_bytes", "bytes_per_s"}, "resources")
    only_fields(options, set(), "the formulation")
    chain = GivenChain.from_json(instance)
    memory_bytes = integer_field(resources, "memory_bytes")
    integer_field(resources, "bytes_per_s", least=1)
    model = IntegerModel(time_offset_ns=chain.base_time_ns)
    model.at_most("input", [], [], memory_bytes - chain.input_bytes)
    for number, stage in enumerate(chain.stages, start=1):
        back_bytes = (
            stage.gradient_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
        )
        running_bytes = (
            chain.activation_bytes(number - 1)
            + stage.saved_bytes
            + max(stage.saving_overhead_bytes, back_bytes)
        )
        model.at_most(f"stage_{number}", [], [], memory_bytes - running_bytes)
    return StatedModel(model, "all schedules")
