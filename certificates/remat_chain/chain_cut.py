r"""Cut of a chain at one stage: the least recomputation that it forces, in exact integers.

The model of `formulations/remat_chain/cut.py` with no rerun bounds of the stages below, whose
docstring has the proof, for schedules that may drop any value at any time: the moment is the start
of the last :math:`F_{all}^\ell` before :math:`B^\ell`, or the start of :math:`B^\ell`, whichever
leaves less memory beside the stage :math:`\ell`:

.. math::
    A_\ell = M - a^0 - \bar a^\ell
             - \max\bigl(\bar o_f^\ell,\; \delta^\ell + [\delta^{\ell-1}] + o_b^\ell\bigr).

Here :math:`\delta` are the sizes of gradients, and :math:`[\delta^{\ell-1}]` counts unless the
instance says that :math:`o_b` holds it. Binary columns ``saved_k`` for :math:`1 \le k < \ell`:
:math:`\bar a^k` is in memory then, and if it is not, :math:`F^k` runs again afterwards, which costs
:math:`u_f^k`; and ``plain`` for :math:`\ell > 1`: a plain :math:`a^{\ell-1}` is.

.. math::
    \min \sum_{k < \ell} u_f^k (1 - s_k), \qquad
    \sum_{k < \ell} \bar a^k s_k + a^{\ell-1} h \le A_\ell, \qquad s_{\ell-1} + h \ge 1 .

Rows: ``memory``, ``input``. The operations, each run once, are the offset. With
:math:`A_\ell < 0`, or where the input of the stage does not fit, there is no schedule.

Version 1. Options: ``stage``, :math:`\ell` from 1.
"""

from __future__ import annotations

from ..errors import CertificateError
from ..header_fields import Fields, integer_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_chain import GivenChain


def chain_cut(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, in linear time.

    Raises
    ------
    CertificateError
        If the instance is no chain, or the memory or the stage is not what the model needs.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, {"stage"}, "the formulation")
    chain = GivenChain.from_json(instance)
    number = integer_field(options, "stage", least=1)
    if number > len(chain):
        raise CertificateError(f"there is no stage {number} in a chain of {len(chain)}")
    stage, below = chain.stages[number - 1], chain.stages[: number - 1]
    running = stage.gradient_bytes + chain.backward_output_bytes(number)
    running += stage.backward_overhead_bytes
    available = integer_field(resources, "memory_bytes") - chain.input_bytes
    available -= stage.saved_bytes + max(stage.saving_overhead_bytes, running)
    model = IntegerModel(
        time_offset_ns=chain.base_time_ns + sum(stage.forward_ns for stage in below)
    )
    columns = [
        model.add_column(f"saved_{k}", 0, 1, cost=-stage.forward_ns)
        for k, stage in enumerate(below, start=1)
    ]
    sizes = [stage.saved_bytes for stage in below]
    if below:
        columns.append(model.add_column("plain", 0, 1))
        sizes.append(below[-1].output_bytes)
    model.at_most("memory", columns, sizes, available)
    if below:
        model.at_least("input", columns[-2:], [1, 1], 1)
    return StatedModel(model, "all schedules")
