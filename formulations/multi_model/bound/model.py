r"""Lower bound on the time of one training unit of µ-TWO, for every schedule of it.

A training unit is a pair of sub-arrays or one alone. The model fixes neither the interleaving nor
the times of copies: it holds for every order of operators and transfers that the replay accepts.

In a training round, *round* for short, the forward pass of sub-array f and the backward pass of
sub-array b share the device:
:math:`f \ne b` in the two rounds of a pair, :math:`f = b` in the round of a sub-array alone, where
the backward pass comes last. Operators run for :math:`u_p` and :math:`v_j`; :math:`P` and
:math:`J` are some of the positions (*milestones*), the last and the first among them, for f and b.
Tensor :math:`t` of :math:`|t|` bytes is idle after forward operator :math:`l_t` and until backward
operator :math:`e_t`; a copy takes :math:`c_t`, recomputing it :math:`r_t`. :math:`m_p` and
:math:`m_j` are peaks of operators, :math:`a_p` and :math:`a_j` what is active after them,
:math:`\sigma` the static memory of the unit, and :math:`\beta` the most bytes that a
nanosecond of copies moves, :math:`\max_t |t| / c_t`.

Columns
-------
===================================== =========================================================
:math:`\kappa_t, s_t, r_t, \dots`     the class of a tensor, ``keep_a_t``, ``swap_a_t``,
                                      ``recompute_a_t``, ...: binary, see `TensorPath`
:math:`T_n`, ``length_n``             the length of round n
:math:`S_p, U_j`, ``S_n_p, U_n_j``    when milestones start, from the start of their round
:math:`z_{pj}`, ``before_n_p_j``      p runs before j; binary, for pairs
:math:`h_{pj}`, ``beside_b_n_p_..``   what is kept of b when p starts, of the tensors whose
                                      :math:`e_t` lies behind the milestone before j, up to j
:math:`g_{pj}`, ``beside_f_n_.._j``   what is kept of f when j starts, of those whose
                                      :math:`l_t` is from p on, before the next milestone
:math:`h'_{pj}, g'_{pj}`              the same of classes in Q, ``moves_b_n_..``, ``moves_f_n_..``
:math:`w_{pj}`, ``between_n_p_j``     time from the end of p to the start of j, 0 if j runs first
===================================== =========================================================

:math:`K(t)` is the sum of the classes of t that are in memory throughout the round, while t is
idle, and :math:`Q(t)` that of the classes that are in memory or, with an offload that has ended (in
f's round) or a prefetch still to come (in b's), on the host. :math:`O` and :math:`I` sum the
classes that need an offload or a prefetch in the round, :math:`R` a recomputation, and :math:`D(t)`
those that are there at the boundary. `TensorPath` lists them all. Sums over a stretch between
milestones have columns of their own, ``sum_...``.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_n T_n \\
    \text{(class)} \quad & \text{the classes of a tensor sum to } 1 \\
    \text{(boundary)} \quad & \sigma + a_{\text{last}} + \sum_t |t| D(t) \le M \\
    \text{(work)} \quad & T \ge \sum u + \sum v + \sum_t r_t R(t) \\
    \text{(out)} \quad & T \ge \sum_t c_t O(t), \qquad
    \text{(in)} \quad T \ge \sum_t c_t I(t) \\
    \text{(release)} \quad & T \ge S_p + u_p + \sum_{l_t \ge p} c_t O(t) && \forall p \\
    \text{(due)} \quad & U_j \ge \sum_{e_t \le j} c_t I(t) && \forall j \\
    \text{(chain)} \quad & S_{p'} \ge S_p + u_p + \dots + u_{p'-1},\; \text{likewise } U \\
    \text{(start f)} \quad & S_p \ge \sum_{i < p} u_i + \sum_{j} \hat v_j (1 - z_{pj}) \\
    \text{(start b)} \quad & U_j \ge \sum_{i < j} v_i + \sum_p \hat u_p z_{pj}
        + \sum_{e_t \le j} r_t R(t) \\
    \text{(end f)} \quad & T \ge S_p + \sum_{i \ge p} u_i + \sum_j \check v_j z_{pj} \\
    \text{(end b)} \quad & T \ge U_j + \sum_{i \ge j} v_i + \sum_p \check u_p (1 - z_{pj}) \\
    \text{(order)} \quad & z_{pj} \le z_{pj'},\; z_{p'j} \le z_{pj} && p < p',\, j < j' \\
    \text{(beside b)} \quad & h_{pj} \ge \sum_{e_t = j} |t| K(t) - C (1 - z_{pj}) \quad
        \text{and one for } j^- < e_t < j \text{ with } z_{p j^-} \\
    \text{(beside f)} \quad & g_{pj} \ge \sum_{l_t = p} |t| K(t) - C (1 - z_{pj}) \quad
        \text{and one for } p < l_t < p' \text{ with } z_{p'j} \\
    \text{(memory f)} \quad & \sigma + m_p + \sum_{l_t < q} |t| K(t) + \sum_{q \le l_t < p} |t| Q(t)
        + \sum_j h_{pj} + \alpha_p \\ & \qquad
        \le M + \beta (S_p - S_q - u_q) && \forall q < p,\; q = p \\
    \text{(memory b)} \quad & \sigma + m_j + \sum_{e_t > q} |t| K(t) + \sum_{j < e_t \le q} |t| Q(t)
        + \sum_p g_{pj} + \alpha_j \\ & \qquad
        \le M + \beta (U_q - U_j - v_j) && \forall q > j,\; q = j \\
    \text{(between)} \quad & w_{pj} \le U_j - S_p - u_p + H (1 - z_{pj}), \qquad
    \text{(apart)} \quad w_{pj} \le H z_{pj} \\
    \text{(turn f)} \quad & \sigma + m_p + \sum_{l_t < p} |t| K(t) + \sum_{i \le j} h'_{pi}
        + \sum_{i > j} h_{pi} + \alpha_p \le M + \beta w_{pj} \\
    \text{(turn b)} \quad & \sigma + m_j + \sum_{e_t > j} |t| K(t) + \sum_{i < p} g_{ij}
        + \sum_{i \ge p} g'_{ij} + \alpha_j \le M + \beta w_{pj}

:math:`p', j'` are the next milestones, :math:`j^-` the one before; :math:`\hat v_j` is the
time of what lies behind the milestone before j up to j, :math:`\check v_j` that of j and what
follows it before the next milestone; :math:`C` the bytes of all tensors of the sum; H is above all
times; :math:`h, g` are sums of the columns of both rows;
:math:`\alpha_p = a_{-1} z_{p,0} + \sum_j \underline a_j (z_{pj'} - z_{pj})`, where :math:`a_{-1}`
is what b carries over the boundary and :math:`\underline a_j` the least active memory between j and
the next milestone (:math:`z = 1` behind the last one), and :math:`\alpha_j` likewise.

For a sub-array alone all :math:`z` are 1, nothing is beside, and there are two families more:

.. math::
    \text{(both)} \quad & U_j \ge S_p + u_p + \sum_{l_t \ge p,\, e_t \le j} c_t s_t \\
    \text{(memory ends)} \quad & \sigma + m_j + \sum_{e_t > j,\, l_t < p} |t| \kappa_t
        + \sum_{e_t > j,\, l_t \ge p} |t| (\kappa_t + s_t) \le M + \beta (U_j - S_p - u_p)

On a link that both directions share, with :math:`w_t` the time in which both together carry
:math:`|t|` bytes, (both) has :math:`\max(c_t, 2 w_t)` in place of :math:`c_t`, and pairs have three
families:

.. math::
    \text{(total)} \quad & T \ge \sum_t w_t (n_f(t) + n_b(t)) \\
    \text{(total release)} \quad & T \ge S_p + u_p + \sum_{l_t \ge p} w_t n_f(t) && \forall p \\
    \text{(total due)} \quad & U_j \ge \sum_{e_t \le j} w_t n_b(t) && \forall j

Here :math:`n_f(t)` and :math:`n_b(t)` say how often t is copied in the rounds of its two passes: an
``early`` tensor twice in the first, a ``late`` one twice in the second, a swap once in each.

Every schedule is a point
-------------------------
Take a schedule whose replay breaks no rule, the starts of its operators, and the class of each
tensor. Where it is longer than everything swapped without any overlap, the latter is meant, which
always fits: so times have upper limits.

*(class)* The conditions of `TensorPath` exclude each other and leave nothing out: a tensor that is
absent at some time comes back by a prefetch, after an offload, or by a recomputation.

*(boundary)* At the boundary nothing runs and nothing is under way: what is there fits.

*(work), (chain), (out), (in)* The device runs one computation at a time in the order of the pass,
each direction of the link one copy. A round ends when all have ended. *(start), (end)* count the
computations that come before or after a milestone: if not p before j, then j, which comes before p,
has ended, and all before it. Recomputations of class R and :math:`e_t \le j` precede j.

*(release)* A tensor can be offloaded once it is idle, after :math:`l_t \ge p`. *(due)* A tensor of
a class in I comes by a prefetch, before :math:`e_t` starts. *(both)* The offload comes first.

*(total)* No nanosecond carries more than the total of both directions. Copies that :math:`n_f`
counts come after :math:`l_t`, those of :math:`n_b` before :math:`e_t`, and in (both) an offload and
a prefetch of t lie between the two. Other rows count one direction, which has its rate at most.

*(beside)* What stays in memory while it is idle is there when p starts, if p runs before j and so
before all :math:`e_t \ge j`; and when j starts, if p has run, and so all :math:`l_t \le p`.

*(memory f)* When p has started it takes its peak, and static memory, what stays, and what b holds
are there. A tensor with :math:`q \le l_t < p` of a class in Q that is not in memory at
:math:`S_p` has an offload that began after :math:`l_t \ge q` ended and has ended by :math:`S_p`.
Those copies followed each other within :math:`S_p - S_q - u_q`, and moved at most :math:`\beta`
bytes per nanosecond. For q = p the window is left out.

*(memory b)* Likewise a tensor with :math:`j < e_t \le q` of a class in Q that is not in memory, nor
on its way there, when j is about to end is prefetched from then on, before :math:`U_q`. Within a
sub-array alone, a tensor of a class in Q with :math:`l_t \ge p` that is not there at :math:`U_j`
has been offloaded by then: *(memory ends)*.

*(turn f)* If p runs before j, tensors of b with :math:`e_t \le j` that are still to be used and are
not there when p is about to end are prefetched from then on, before :math:`U_j`. If j runs first,
there are none: :math:`h'_{pi}` may be 0 for :math:`i \le j`, and the row holds with w = 0.
*(turn b)* If p runs before j, tensors of f with :math:`l_t \ge p` that are idle and not there when
j starts have been offloaded since p ended. If j runs first, none is idle. Rates are those of b and
f.

Tensors of no bytes are always kept, and those whose copies take no time count nowhere but in K.
Sizes, durations and rooms are rounded so that every rounding relaxes (`IntegerScale`).

Source: the problem is that of µ-TWO, Section 3; the paper gives no bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.multi_model.bound import tensor_path as paths
from jettison.formulations.multi_model.bound.columns import BoundColumns, BoundRows
from jettison.formulations.multi_model.bound.pair_round_rows import PairRound
from jettison.formulations.multi_model.bound.round_rows import RoundAlone
from jettison.formulations.multi_model.bound.sub_array_rows import BoundSubArray
from jettison.instances.core.link import Link
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.multi_model.sub_array_key import Key

_NS_PER_S = 10**9


@dataclass(frozen=True)
class UnitBoundModel:
    """Built model of the bound, with the translation of its bounds to nanoseconds.

    Attributes
    ----------
    model
        The model.
    scale
        Scale of its times.
    compute_ns
        The time of all operators once.
    """

    model: ArrayModel
    scale: IntegerScale
    compute_ns: int

    def time_ns(self, value: Fraction) -> int:
        """Return a lower bound on the unit's time from a lower bound on the objective."""
        scaled_ns = math.ceil(value * self.scale.factor * self.scale.unit)
        return max(self.compute_ns, scaled_ns)


@dataclass(frozen=True)
class MultiModelUnitBound:
    """Configuration of the bound: milestones and families of rows (model: see the module).

    Attributes
    ----------
    milestones
        About how many of each pass, at least 2.
    rows
        Families to build.
    """

    milestones: int = 10
    rows: frozenset[BoundRows] = frozenset(BoundRows)

    def build(self, problem: MultiModelTraining, sizes: tuple[Key, ...]) -> UnitBoundModel:
        """Build the model of a unit of one or two sub-arrays of these sizes.

        The rows are quadratic in the number of milestones; time is linear in the tensors for each.
        """
        profiles = [problem.sub_array(size) for size in sizes]
        swaps_ns = [problem.swap_ns(profile) for profile in profiles]
        shared_ns = [_shared_ns(problem.link, profile) for profile in profiles]
        columns = _empty_model(problem, profiles, swaps_ns + shared_ns, self.rows)
        arrays = [
            BoundSubArray(
                place,
                profile,
                swaps_ns[place],
                shared_ns[place],
                self.milestones,
                columns.memory,
                columns.time,
            )
            for place, profile in enumerate(profiles)
        ]
        for array in arrays:
            array.add_classes(columns.builder, paths.OF_A_PAIR if len(sizes) == 2 else paths.OF_ONE)
            columns.at_most(
                f"boundary_{array.place}",
                array.stays(paths.AT_THE_BOUNDARY, array.movable),
                columns.room(array.profile.carried_bytes),
            )
        if len(arrays) == 2:
            PairRound(columns, 0, arrays[1], arrays[0]).write()
            PairRound(columns, 1, arrays[0], arrays[1]).write()
        else:
            RoundAlone(columns, 0, arrays[0], arrays[0]).write()
        compute_ns = sum(profile.compute_ns for profile in profiles)
        return UnitBoundModel(columns.builder.build(), columns.time, compute_ns)


def _shared_ns(link: Link, profile: SubArray) -> tuple[int, ...]:
    """Return the least time of a shared link for each tensor; empty if nothing is shared."""
    if not link.is_shared:
        return ()
    total = link.total_bytes_per_s
    return tuple(tensor.size_bytes * _NS_PER_S // total for tensor in profile.tensors)


def _empty_model(
    problem: MultiModelTraining,
    profiles: list[SubArray],
    copies_ns: list[tuple[int, ...]],
    rows: frozenset[BoundRows],
) -> BoundColumns:
    works = [work for profile in profiles for work in (*profile.forward, *profile.backward)]
    tensors = [tensor for profile in profiles for tensor in profile.tensors]
    compute_ns = sum(work.run_ns for work in works)
    time = IntegerScale.of(
        [compute_ns, *(tensor.recompute_ns for tensor in tensors), *chain.from_iterable(copies_ns)]
        + [work.run_ns for work in works]
    )
    static_bytes = sum(profile.static_bytes for profile in profiles)
    most_bytes = sum(profile.idle_bytes + profile.largest_peak_bytes for profile in profiles)
    limit_bytes = min(problem.memory_bytes, static_bytes + most_bytes)
    memory = IntegerScale.of(
        [static_bytes, limit_bytes, *(tensor.size_bytes for tensor in tensors)]
        + [amount for work in works for amount in (work.peak_bytes, work.active_bytes)]
    )
    # Everything swapped without any overlap: no least time is above it.
    horizon_ns = compute_ns + 2 * sum(map(sum, copies_ns))
    horizon = (horizon_ns // time.unit + 1) / time.factor
    return BoundColumns(rows, memory, time, limit_bytes, static_bytes, horizon)
