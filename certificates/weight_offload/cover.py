r"""Cover bound of weight offloading: least prefetches for the first and the last layer.

The closed form of `solvers/weight_offload/bounds/closed_form.py`, whose docstring has the proof, as
two knapsack rows. Operations, sizes and the link are those of `given_weight_offload`; with
:math:`E_k` bytes to be absent when operation :math:`k` starts,

.. math::
    \min \frac{q}{p} \Bigl( \sum_{i < L} |w_i| x_i + \sum_{i > 1} |w_i| y_i \Bigr), \quad
    \sum_{i < L} |w_i| x_i \ge \max(E_{F_L}, E_{B_L}), \quad
    \sum_{i > 1} |w_i| y_i \ge \max(E_{F_1}, E_{B_1}) .

Columns, binary: ``last_i``, layer :math:`i` is absent at :math:`B_L` or :math:`F_L`, whichever
needs more, and so between :math:`F_i` and :math:`B_i`; ``first_i``, it is absent at :math:`B_1` or
:math:`F_1`, and so between :math:`B_i` and :math:`F_i`. A layer takes its full size until it has
left as a whole. Each of these absences ends with a prefetch of its own in every period, and one
direction of the link carries them one after the other: their time is at most that of the step. The
time of the operations is no part of it. Rows: ``last``, ``first``.

Version 1. No options.
"""

from __future__ import annotations

from ..header_fields import Fields, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_weight_offload import GivenWeightOffload

_MOST_LAYERS = 100_000


def weight_cover(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, in linear time.

    Raises
    ------
    CertificateError
        If the instance, the memory or the link is not what the model needs, or there are options.
    """
    only_fields(options, set(), "the formulation")
    # It says nothing about uploads, so that a total of both directions would not count.
    only_fields(resources, {"memory_bytes", "bytes_per_s"}, "resources")
    given = GivenWeightOffload.from_json(instance, resources, _MOST_LAYERS)
    model = IntegerModel(cost_per_ns=given.link_bytes)
    count = given.num_layers
    for word, layer, others in (
        ("last", count, range(1, count)),
        ("first", 1, range(2, count + 1)),
    ):
        sizes = [given.weights[i] for i in others]
        columns = [
            model.add_column(f"{word}_{i}", 0, 1, cost=given.link_ns * given.weights[i])
            for i in others
        ]
        ends = (given.backward_of(layer), given.forward_of(layer))
        model.at_least(word, columns, sizes, max(map(given.excess_bytes, ends)))
    return StatedModel(model, "all schedules")
