r"""AGG: a lower bound on the time of weight offloading with O(L) columns and rows.

Source: relaxes the problem of the paper on weight offloading as its MILP does (Section 6), but
keeps inventories of all layers together in place of one for each layer. Neither bound is above the
other on all instances.

Operations :math:`k`, intervals, :math:`b_i`, :math:`f_i` and :math:`e_k` are those of
`paper`; :math:`l(k)` is the layer of operation :math:`k`, and
:math:`E_k = \sum_i |w_i| + e_k - M` is what has to be absent when it starts. Layers fall into
classes :math:`G`, each with inventories of its own. `Fluid` has one class. `Whole` has two: the
layers of the most frequent size :math:`w`, which move as a whole, and all others.

Columns
-------
================================ ===============================================================
:math:`y^0_i`, ``y0_i``          layer :math:`i` is absent between :math:`B_i` and :math:`F_i`
:math:`y^1_i`, ``y1_i``          it is absent between :math:`F_i` and :math:`B_i`
:math:`c_i`, ``c_i``             it is uploaded for :math:`y^1` only
:math:`z_k`, ``idle_k``          what the link could carry in the idle time after operation k
:math:`A^G_l`, ``A_G_l``         size of the layers that may be absent when an operation of
                                 layer :math:`l` starts
:math:`W^G_l`, ``W_G_l``         size of the layers :math:`i \ge l` with :math:`c_i`
:math:`N_l`, ``N_l``             of the layers that may be absent, how many are of size :math:`w`
:math:`R_l`, ``R_l``             what the others of them count for, in blocks of size :math:`w`
:math:`P^G_k`, ``P_G_k``         what is prefetched in interval :math:`k`
:math:`U^G_k`, ``U_G_k``         what is uploaded of layers with :math:`y^0`
:math:`V^G_k`, ``V_G_k``         what is uploaded of layers with :math:`c`
:math:`h^G_k`, ``h_G_k``         what is prefetched when operation :math:`k` starts, of layers whose
                                 own operation comes later
:math:`g^G_k`, ``g_G_k``         what is not uploaded by then, of layers with :math:`y^0`, after
                                 their :math:`B_i`
:math:`r^G_k`, ``r_G_k``         the same of layers with :math:`c`
:math:`q^G_k`, ``q_G_k``         the part of it whose :math:`F_i` has begun
:math:`H_k`, ``H_k``             layers of size :math:`w` on their way back
:math:`Q_k`, ``Q_k``             those that wait for their upload
================================ ===============================================================

:math:`y` are binary, :math:`H, Q` are integers and exist for `Whole` only; the rest is continuous
and at least 0.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_k z_k \quad (= \beta (T - \textstyle\sum_k u_k)) \\
    \text{absent} \quad & A^G_1 = \sum_{i > 1} |w_i| y^0_i,\quad
        A^G_{l+1} = A^G_l - |w_{l+1}| y^0_{l+1} + |w_l| y^1_l \\
    \text{window} \quad & W^G_l = W^G_{l+1} + |w_l| c_l, \quad W^G_{L+1} = 0 \\
    \text{once} \quad & c_i \ge y^1_i - y^0_i \\
    \text{out} \quad & \sum_G (U^G_k + V^G_k) - z_k \le \beta u_k \\
    \text{in} \quad & \sum_G P^G_k - z_k \le \beta u_k \\
    \text{both} \quad & \sum_G (U^G_k + V^G_k + P^G_k) - \tfrac{\tau}{\beta} z_k \le \tau u_k \\
    \text{ahead} \quad & h^G_{k+1} = h^G_k + P^G_k - n_{k+1}, \quad
        n_{b_i} = |w_i| y^1_i,\; n_{f_i} = |w_i| y^0_i \\
    \text{early} \quad & g^G_{k+1} = g^G_k + [k = b_i] |w_i| y^0_i - U^G_k \\
    \text{late} \quad & r^G_{k+1} = r^G_k + [k = b_i] |w_i| c_i - V^G_k \\
    \text{past} \quad & q^G_k \ge r^G_k - W^G_l \; (k = f_l), \quad
        q^G_k \ge r^G_k - W^G_{l+1} \; (k = b_l) \\
    \text{apart} \quad & g^G_{b_i+1} + r^G_{b_i+1} + z_{b_i} \ge |w_i| (y^0_i + c_i) \\
    \text{present} \quad & A^G_{l(k)} - h^G_k - g^G_k - q^G_k \ge 0 \\
    \text{memory} \quad & \sum_G (A^G_{l(k)} - h^G_k - g^G_k - q^G_k) \ge E_k
        \quad (E_k > 0)

with inventories of the class of layer :math:`i` in (apart). `Whole` has, for the class of size
:math:`w` in place of the last two,

.. math::
    \text{back} \quad & w H_k \ge h_k \\
    \text{wait} \quad & w Q_k \ge g_k + q_k \\
    \text{present} \quad & A_{l(k)} - w H_k - w Q_k \ge 0 \\
    \text{memory} \quad & A_{l(k)} - w H_k - w Q_k + (A' - h' - g' - q') \ge E_k ,

the primes being the other class. And both have, where :math:`E_k > 0`, with
:math:`\varepsilon = \lceil E_k / w \rceil`,

.. math::
    \text{blocks} \quad & N_l + R_l \, [-\, H_k - Q_k] \ge \varepsilon, \quad
        R_l = \sum_i \lceil |w_i| / w \rceil \, y_i \\
    \text{cover} \quad & \textstyle\sum_{i > l} y^0_i + \sum_{i < l} y^1_i \ge \rho_k ,

where :math:`\rho_k` is the least number of layers other than :math:`l` that are of size
:math:`E_k` together, and :math:`y_i` is :math:`y^0_i` for :math:`i > l`, :math:`y^1_i` for
:math:`i < l`, of the layers of another size. If there is one such layer, it counts
:math:`\varepsilon - \lceil (E_k - |w_i|) / w \rceil`, which is no more. (cover) is left out where
all sizes are equal: it is (blocks) then.

A row is named after its word, the class ``0`` or ``1`` where there is one, and its index:
``absent_G_l``, ``window_G_l``, ``once_i``, ``out_k``, ``in_k``, ``both_k`` (where both directions
of the link share a total :math:`\tau`), ``ahead_G_k``, ``early_G_k``, ``late_G_k``, ``past_G_k``,
``apart_i``, ``back_k``, ``wait_k``, ``present_G_k``, ``memory_k``, ``number_l`` and ``other_l``
(which define :math:`N` and :math:`R` as (absent) defines :math:`A`), ``blocks_k``, ``all_l`` (the
same for :math:`S_l`, ``S_l``, the left side of (cover)), ``cover_k``.

Every schedule is a point
-------------------------
Take a valid schedule as in `paper`: each weight is absent at most once in each of
its two gaps, and uploaded at most once per period, at its first upload after :math:`B_i`. Let
:math:`y^0, y^1` say which gaps those are, and :math:`c_i = 1` if :math:`y^1_i = 1` and
:math:`y^0_i = 0`. What is uploaded of layers that are never absent is dropped. Transfers move
evenly while they last, no faster than :math:`\beta`: (out), (in). On a shared link they move with
their share of the total, which both directions together never exceed: (both).

When operation :math:`k` of layer :math:`l` starts, layer :math:`i > l` has run :math:`B_i` and not
yet :math:`F_i`, and layer :math:`i < l` has run :math:`F_i` and not yet :math:`B_i`: so the layers
that may be absent are those of (absent), and :math:`l` itself is not one. A weight that has been
prefetched for its next operation stays until then: (ahead). A layer with :math:`y^0` is uploaded
before it is deleted, so before :math:`F_i`: (early). One with :math:`c` is uploaded before the next
:math:`B_i`: (late). Of what is late, no more than :math:`W` belongs to layers whose :math:`F_i` has
not begun; they are :math:`i \ge l` when :math:`F_l` starts and :math:`i > l` when :math:`B_l` does:
(past). In interval :math:`b_i` the upload of :math:`w_i` waits for the idle time: (apart).

A layer :math:`i` that may be absent is in memory as long as its upload is not complete, and once
its prefetch has begun. If the upload is not complete, its part of :math:`g + q` is at most
:math:`|w_i|` and its part of :math:`h` is 0; if it is, its part of :math:`g + q` is 0. Either way
what is absent of it is at most :math:`|w_i|` less both parts, which is at least 0: (present). The
sum over layers is at least :math:`E_k`: (memory). The part of a layer with :math:`y^0` and
:math:`y^1` after :math:`F_i` is 0: it has been uploaded. If :math:`F_l` starts and :math:`l` is
late, it is in :math:`W^G_l` and not in :math:`q`.

A layer of size :math:`w` is absent as a whole or not at all, since its memory is taken from the
start of its prefetch and until its deletion. :math:`H_k` counts those that may be absent and have
begun to come back, :math:`Q_k` those that wait for the end of their upload: no layer is both.
That gives (back), (wait) and the rows below them.

(blocks): at least :math:`\varepsilon - \sum_i \lceil |w_i| / w \rceil y_i` layers of size :math:`w`
are absent, for their number is an integer and at least :math:`(E_k - \sum_i |w_i| y_i) / w`, and
:math:`\lceil a - b \rceil \ge \lceil a \rceil - \lceil b \rceil`. With one other layer the two
values of its :math:`y` can be looked at. (cover): what is absent are whole layers.

Sizes and :math:`\beta u_k` are those of `WeightOffloadScale`, :math:`\varepsilon` and :math:`\rho`
are computed in exact integers.

The order of layers
-------------------
The model with :math:`y^0_{i+1} \ge y^0_i` is solved faster, and it is not valid: on a chain of four
unequal layers it proves 8 ns where a step takes 7. With equal layers it can raise the optimum of
this model too, for a layer that is absent in both of its gaps pays one upload, and the row may take
one of the two away. No bound uses it.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.weight_offload.inventories import InventoryWriter, Layers
from jettison.formulations.weight_offload.scale import WeightOffloadScale
from jettison.instances.core.errors import InputError
from jettison.instances.weight_offload.problem import WeightOffload

__all__ = ["Aggregated", "AggregatedModel", "Layers"]


@dataclass(frozen=True)
class AggregatedModel:
    """Built AGG or AGGINT model.

    Attributes
    ----------
    scale
        Turns the objective into a time.
    model
        The model.
    """

    scale: WeightOffloadScale
    model: ArrayModel

    def selection_parts(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the values of y0 and y1 by layer, each shape (L,), at a point of the model."""
        layers = self.scale.problem.cycle.num_layers
        return values[:layers], values[layers : 2 * layers]


@dataclass(frozen=True)
class Aggregated:
    """AGG or AGGINT; the model is in the docstring of this module.

    Attributes
    ----------
    layers
        Whether layers move in part (AGG) or as a whole (AGGINT).
    """

    layers: Layers = Layers.FLUID

    def build(self, problem: WeightOffload) -> AggregatedModel:
        """Build the model, in O(L) time and size but for sorting sizes.

        Raises
        ------
        InputError
            If no layer has weights.
        """
        if not problem.cycle.total_weight_bytes:
            raise InputError(
                "a chain without weights",
                source=problem.instance.name,
                expected="give stages weight_bytes: without weights the time is that of operations",
            )
        scale = WeightOffloadScale.of(problem)
        return AggregatedModel(scale, InventoryWriter(scale, self.layers).model())
