r"""Greedy selection of weights to offload: Algorithm 1 of the paper on weight offloading.

A choice :math:`(k, d)` takes the weights of layer :math:`k` out of memory between :math:`F_k` and
:math:`B_k` (:math:`d = 1`) or between :math:`B_k` and :math:`F_k` (:math:`d = 0`). It covers the
operations in between, :math:`S(k, d)`. Starting from the excess of a memory that holds everything,

.. math::
    E_o = \max\Bigl(0, \sum_i |w_i| + e(o) - M\Bigr),

where :math:`e(o)` is what the operation needs besides weights (`WeightCycle`), the algorithm makes
the choice of the largest profit until no excess is left:

.. math::
    \mathrm{profit}(k, d) = \frac{c}{2 |w_k|} \sum_{o \in S(k, d)} \min(E_o, |w_k|), \qquad
    E_o \leftarrow \max(0, E_o - |w_k|) \text{ for } o \in S(k, d),

with :math:`c = 2` if :math:`(k, 1 - d)` has been chosen, which pays the upload of both, else 1.

The paper writes :math:`E_o = \sum_i |w_i| + M_o - M`, whose :math:`M_o` counts the weights of the
running layer a second time, and does not cut it off at 0, so that an operation with free memory
makes choices look worse. It leaves ties open; here the larger :math:`k` is chosen, and then
:math:`d = 1`, which gives the numbers of its Table 1. Profits are compared exactly.

Source: Section 5, Algorithm 1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers._kernels import select_weights


class Absence(IntEnum):
    """Interval in which a layer's weights are absent; the value is the paper's d."""

    AFTER_BACKWARD = 0
    AFTER_FORWARD = 1


class Choice(NamedTuple):
    """Layer, counted from 1, whose weights are absent in an interval: (k, d) of the paper."""

    layer: int
    absence: Absence


def select_choices(
    problem: WeightOffload,
    memory_bytes: int | None = None,
    time_limit_s: float | None = None,
) -> tuple[Choice, ...] | None:
    """Return the choices in the order in which they are made, or None if all do not suffice.

    Parameters
    ----------
    problem
        Chain and memory.
    memory_bytes
        The memory to select for, if not that of the problem.
    time_limit_s
        Wall-clock seconds; None for no limit.

    Raises
    ------
    TimeoutError
        When the time is up.

    Notes
    -----
    Time :math:`O(c L^2)` for c choices and L layers at most. As profits only fall, but for the
    second choices, few of them are computed again after a choice.
    """
    limit_bytes = problem.memory_bytes if memory_bytes is None else memory_bytes
    cycle = problem.cycle
    # An operation within the limit has an excess of 0, however far below the limit it is.
    excess_bytes = [max(excess, 0) for excess in cycle.excess_bytes(limit_bytes)]
    chosen = select_weights(
        np.array(excess_bytes, np.int64), np.array(cycle.weight_bytes, np.int64), time_limit_s
    )
    if chosen is None:
        return None
    return tuple(Choice(layer + 1, Absence(absence)) for layer, absence in chosen)
