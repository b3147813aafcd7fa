r"""Reduction of 3-PARTITION to weight offloading (Theorem 1 of the paper).

Source: Theorem 1 of the weight offloading paper (Beaumont, Eyraud-Dubois, Shilova and Zhao). With
items :math:`x_1, \dots, x_{3m}` and target :math:`V`:

.. math::
    L = 5 m, \qquad \beta = V \text{ per unit of time}, \qquad M = (m + 1) V, \qquad T = 2 m,

no layer has activations, and all operations take no time but
:math:`u_{F_{2m}} = m` and :math:`u_{B_{2k}} = 1` for :math:`1 \le k \le m`. The weights are

.. math::
    |w_{2k-1}| = V, \quad |w_{2k}| = 0 \quad (1 \le k \le m), \qquad
    |w_i| = x_{i - 2m} \quad (2m + 1 \le i \le 5m) .

A period of :math:`2m` exists if and only if the items have a 3-partition; no period is shorter, for
that is the time of all operations.

Corrections of the print
------------------------
* The items are :math:`x_0, \dots, x_{3m-1}` there, and :math:`|w_i| = x_{i-2m}` from
  :math:`i = 2m + 1` on leaves :math:`x_0` out and asks for an :math:`x_{3m}`.
* :math:`V/4 < x_i < V/2` is missing (see `three_partition`).

The unit of time is :math:`V` nanoseconds and :math:`\beta` one byte per nanosecond, so that all
times are integers: a weight of :math:`x` bytes takes :math:`x` ns. Layer :math:`i` of the chain is
stage :math:`i`; the last is the loss of the chain and has weights like any other.
"""

from __future__ import annotations

from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.weight_offload.problem import WeightOffload

LINK_BYTES_PER_S = 10**9


def shortest_period_ns(instance: ThreePartition) -> int:
    """Return the time of all operations, 2m units: the period that only a yes-instance has."""
    return 2 * instance.groups * instance.target


def absences_without_idle(groups: int) -> frozenset[tuple[int, int]]:
    r"""Return the absences of every step without idle time, as layers with gaps.

    Gap 0 of a layer is that between its backward and its forward, gap 1 that between its forward
    and its next backward. The weights :math:`|w_{2k-1}| = V` are absent in gap 1, those of the
    items in gap 0, whatever the items are: scheduling is as hard with the absences given as without
    (the proof is in the documentation, "Hard instances").
    """
    large = {(2 * k - 1, 1) for k in range(1, groups + 1)}
    items = {(layer, 0) for layer in range(2 * groups + 1, 5 * groups + 1)}
    return frozenset(large | items)


def weight_offload_of(instance: ThreePartition) -> WeightOffload:
    """Return the weight offloading problem of Theorem 1 for the items, in linear time.

    Raises
    ------
    InputError
        If the times or sizes are too large for a chain.
    """
    groups, target = instance.groups, instance.target
    stages = []
    for layer in range(1, 5 * groups + 1):
        is_even = layer % 2 == 0
        if layer <= 2 * groups:
            weight_bytes = 0 if is_even else target
            backward_ns = target if is_even else 0
        else:
            weight_bytes = instance.values[layer - 2 * groups - 1]
            backward_ns = 0
        stages.append(
            Stage(
                name=f"layer {layer}",
                forward_ns=groups * target if layer == 2 * groups else 0,
                backward_ns=backward_ns,
                output_bytes=0,
                saved_bytes=0,
                weight_bytes=weight_bytes,
            )
        )
    chain = Chain(
        name=instance.name,
        input_bytes=0,
        stages=tuple(stages),
        provenance=Provenance(
            source="derived", note="3-PARTITION as weight offloading (Theorem 1)"
        ),
    )
    return WeightOffload(chain, (groups + 1) * target, LINK_BYTES_PER_S)
