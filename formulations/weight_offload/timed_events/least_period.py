r"""Exact MILP of weight offloading: the least period, over the events of one period.

Its optimum is that of OFF(L, M, β) itself, not a bound: `inventories` and `paper` relax transfers
to amounts per interval, here each transfer has a time.

Operations :math:`k = 0, \dots, 2L-1` are those of `WeightCycle`: :math:`B_i` is operation
:math:`b_i = L - i`, :math:`F_i` operation :math:`f_i = L + i - 1`. They take :math:`u_k`, need
:math:`e_k` bytes besides weights while they run (the gradient of weights included) and leave
:math:`r_k` until the next one starts. A transfer of :math:`|w_i|` bytes takes :math:`d_i`. Layers
without weights have no columns. *Gap* 0 of a layer reaches from its backward to its forward, gap 1
from its forward to its next backward. :math:`H` is an upper limit on the period :math:`T`.

What may be assumed
-------------------
If there is a schedule of integer period :math:`T`, there is one with these properties; items 1
to 4 of `jettison.solvers.weight_offload.exact.method` prove (a).

* (a) Weights of no bytes never move. Weights are absent at most once in a gap, and uploaded at most
  once in a period, only if an absence follows; they are deleted at once: in gap 0 at the end of the
  upload, in gap 1 at the end of :math:`F_i` or of the upload, whichever is later. Memory grows only
  when an operation starts and when a prefetch starts.
* (b) Ties cost nothing. Two prefetches never start at one moment, for they share the link. The end
  :math:`C_i` of an upload is strictly after :math:`B_i`, and a use strictly after its prefetch
  starts. At one moment deletions come first (in gap 1, with :math:`F_i` of no duration, right after
  it). So the order of pairs, with a place among the operations, always gives one list of events.
* (c) With all binaries fixed every row bounds the difference of two times by an integer and a
  multiple of :math:`T`: where :math:`T` is an integer, so are the times.

The frame
---------
:math:`s_0 = 0`, and place :math:`\sigma = 2k` is :math:`[s_k, s_k + u_k]`, place
:math:`2k + 1` is :math:`[s_k + u_k, s_{k+1}]`, with :math:`s_{2L} = T`; these limits are
:math:`lo_\sigma` and :math:`hi_\sigma`. Every event has its time modulo :math:`T`. In the order of
layer :math:`j`, which begins with :math:`B_j`, what lies before :math:`B_j` in the frame is
*wrapped*: it belongs to its end. :math:`v_j(q) = \sum_{\sigma < 2 b_j} q_\sigma` tells it, and
"A before B in the order of j" is (A before B in the frame) :math:`+\, v_j(B) - v_j(A)`: linear.

Columns
-------
=============================== ===================================================================
:math:`T`, ``T``                the period, a whole number of nanoseconds
:math:`s_k`, ``s_k``            start of operation k
:math:`c_i`, ``c_i``            layer i is uploaded; binary
:math:`y_x`, ``y_i_g``          it is absent in gap g, and prefetch :math:`x = (i, g)` ends that;
                                binary
:math:`C_i`, ``tC_i``           time at which the upload ends
:math:`P_x`, ``tP_i_g``         time at which the prefetch starts
:math:`q^C_{i\sigma}`,          the upload ends in place σ, which is not :math:`2 b_i`; binary
``qC_i_σ``
:math:`q^P_{x\sigma}`,          the prefetch starts in place σ of its gap; binary
``qP_i_g_σ``
:math:`o^C_{ij}`, ``oC_i_j``    the upload of i ends before that of j in the frame; binary, one for
                                each pair: :math:`o^C_{ji} = 1 - o^C_{ij}`
:math:`o^P_{xz}`, ``oP_..``     prefetch x starts before prefetch z in the frame; the same
:math:`\delta_{jx}`, ``dC_j_x`` the upload of j ends no later than x starts in the frame; binary
:math:`A_{ik}`, ``A_i_k``       the weights of i are absent when operation k starts; 0 to 1
:math:`a_{zx}`, ``a_z_x``       those of :math:`z = (j, g)` are absent from that gap when x starts
=============================== ===================================================================

Times lie between 0 and :math:`H`. In names a prefetch is written ``i_g``.

Model
-----
Terms after "off" are added to the larger side and are 0 where the events of the row happen:
:math:`\bar c_i = 1 - c_i`, :math:`\bar y_x = 1 - y_x`. Below :math:`x = (i, g)`; :math:`S_g(i)` are
the places of gap g, and sums over "up to σ" follow the order of the layer.

.. math::
    \text{(objective)} \quad & \min T \\
    \text{(op)} \quad & s_{k+1} \ge s_k + u_k && \forall k \\
    \text{(place)} \quad & \textstyle\sum_\sigma q^C_{i\sigma} = c_i, \quad
        \sum_\sigma q^P_{x\sigma} = y_x \\
    \text{(needed)} \quad & y_x \le c_i, \qquad
    \text{(used)} \quad c_i \le y_{i0} + y_{i1} \\
    \text{(first)} \quad & \textstyle\sum_{\sigma \in S_0(i)} q^C_{i\sigma} \ge y_{i0} \\
    \text{(from)} \quad & t \ge lo_\sigma - H (1 - \textstyle\sum_{\sigma' \ge \sigma} q_{\sigma'})
        && t = C_i, P_x \\
    \text{(until)} \quad & t \le hi_\sigma + H (1 - \textstyle\sum_{\sigma' \le \sigma} q_{\sigma'})
        && t = C_i, P_x \\
    \text{(up)} \quad & C_i - d_i \ge s_{b_i} + u_{b_i} - H v_i(q^C_i)
        && \text{off } (H + d_i) \bar c_i \\
    \text{(upc)} \quad & C_i - d_i + T \ge s_{b_i} + u_{b_i} && \text{off } (H + d_i) \bar c_i \\
    \text{(arrive0)} \quad & P_{i0} + d_i \le s_{f_i} && \text{off } (H + d_i) \bar y_x \\
    \text{(arrive1)} \quad & P_{i1} + d_i \le s_{b_i} + H (1 - v_i(q^P_{i1}))
        && \text{off } (H + d_i) \bar y_x \\
    \text{(arrive1c)} \quad & P_{i1} + d_i \le s_{b_i} + T && \text{off } (H + d_i) \bar y_x \\
    \text{(gone0)} \quad & C_i \le P_{i0} && \text{off } H \bar y_x \\
    \text{(gone1)} \quad & C_i \le P_{i1} + H (v_i(q^P_{i1}) - v_i(q^C_i))
        && \text{off } H \bar y_x \\
    \text{(after)} \quad & \textstyle\sum_{\text{up to } \sigma} q^P_x
        \le \sum_{\text{up to } \sigma} q^C_i && \forall \sigma \in S_g(i) \\
    \text{(linkC)} \quad & C_i \le C_j - d_j + H (1 - o^C_{ij})
        && \text{off } (H + d_j)(\bar c_i + \bar c_j) \\
    \text{(copyC)} \quad & C_j \le C_i + T - d_i && \text{off } (H + d_i)(\bar c_i + \bar c_j) \\
    \text{(uplink)} \quad & \textstyle\sum_i d_i c_i \le T \\
    \text{(linkP)} \quad & P_x + d_i \le P_z + H (1 - o^P_{xz})
        && \text{off } (H + d_i)(\bar y_x + \bar y_z) \\
    \text{(copyP)} \quad & P_z + d_j \le P_x + T && \text{off } (H + d_j)(\bar y_x + \bar y_z) \\
    \text{(downlink)} \quad & \textstyle\sum_x d_i y_x \le T \\
    \text{(room)} \quad & \textstyle\sum_i |w_i| A_{ik} \ge \sum_i |w_i| + e_k - M
        && \forall k, \text{ without its own layer} \\
    \text{(left)} \quad & A_{ik} \le \textstyle\sum_{\text{before } 2k} q^C_i \;(\text{gap } 0),
        \quad c_i - \sum_{\sigma \in S_1(i), \text{ from } 2k} q^C_{i\sigma} \;(\text{gap } 1) \\
    \text{(back)} \quad & A_{ik} \le \textstyle\sum_{\text{from } 2k} q^P_x
        && \text{of its gap at } k \\
    \text{(ended)} \quad & C_j \le P_x && \text{off } H(3 - \delta_{jx} - c_j - y_x) \\
    \text{(roomP)} \quad & \textstyle\sum_{z, j \ne i} |w_j| a_{zx} \ge
        \sum_\sigma (\sum_l |w_l| - M + m_\sigma) q^P_{x\sigma}
        && m_{2k} = e_k,\; m_{2k+1} = r_k \\
    \text{(a, chosen)} \quad & a_{zx} \le y_z, \qquad
    \text{(a, inside)} \quad a_{zx} \le \textstyle\sum_{\sigma \in S_g(j)} q^P_{x\sigma} \\
    \text{(a, ended)} \quad & a_{(j,0)x} \le \delta_{jx}, \quad
        a_{(j,1)x} \le \delta_{jx} + v_j(q^P_x) - v_j(q^C_j) + \bar y_x \\
    \text{(a, before)} \quad & a_{(j,0)x} \le o^P_{xz}, \quad
        a_{(j,1)x} \le o^P_{xz} + v_j(q^P_z) - v_j(q^P_x) + \bar y_x + \bar y_z

`ValidRow` names inequalities that the others imply. Transfers of one direction within one window do
not overlap, and so they take no longer than it together.

.. math::
    \text{(eC)} \quad & \textstyle\sum_{b_i \ge b} d_i \sum_{2 b_i < \sigma' \le \sigma}
        q^C_{i\sigma'} \le hi_\sigma - s_b - u_b && \forall b, \sigma \\
    \text{(eP0)} \quad & \textstyle\sum_{f_i \le f} d_i \sum_{\sigma' \ge \sigma} q^P_{i0\sigma'}
        \le s_f - lo_\sigma && \forall f, \sigma \\
    \text{(eP1)} \quad & \textstyle\sum_{b_i \le b} d_i \sum_{\sigma \le \sigma' < 2 b_i}
        q^P_{i1\sigma'} \le s_b - lo_\sigma && \forall b, \sigma \\
    \text{(eP2)} \quad & \textstyle\sum_i d_i \sum_{\sigma' \ge \sigma} q^P_{i0\sigma'}
        + \sum_{b_i \le b} d_i \sum_{\sigma' \ge \sigma \text{ or wrapped}} q^P_{i1\sigma'}
        \le s_b + T - lo_\sigma && \forall b, \sigma \\
    \text{(oC)} \quad & C_j \ge \textstyle\sum_i d_i (o^C_{ij} - v_i(q^C_i) - \bar c_i)
        + d_j (c_j - v_j(q^C_j)) && \text{off } H \bar c_j \\
    \text{(oCe)} \quad & T - C_j \ge \textstyle\sum_i d_i (o^C_{ji} - \bar c_i)
        && \text{off } H \bar c_j \\
    \text{(oP)} \quad & P_x \ge \textstyle\sum_z d_j (o^P_{zx} - \bar y_z)
        && \text{off } H \bar y_x

Rows are named after the word and their indices, in the order of the model: ``op_k``,
``place_C_i``, ``place_P_i_g``, ``needed_i_g``, ``used_i``, ``first_i``, ``from_C_i_σ``,
``until_P_i_g_σ``, ..., ``a_before_j_g_i_g``, ``eC_i_σ`` for the backward of i, ``oC_j``.

Exact
-----
A schedule in the form of (a) gives values to all columns. Conversely fix the binaries of a point
and take integer times, by (c): listed by time, at one moment deletions first, then in the order of
places, uploads last, its events are a schedule that the replay accepts.

Variants
--------
`LeastPeriod` minimises :math:`T`. `GivenPeriod` asks whether there is a schedule of a period, the
constant :math:`T = H`: a point is the answer yes. `Within` and `Exactly` give the absences:
:math:`y_x = 0`, or its value, ``selected_i_g``, after (first). `WithoutIdle` asks the same of
:math:`T = \sum_k u_k`: the :math:`s_k` are constants, and only places ":math:`k` runs" of
operations that take time are left. A prefetch then belongs to the last place that contains its
time: moved past operations of no duration it is checked against what was checked before. The end of
an upload belongs to the first.

Traps
-----
`OmittedRow` leaves rows out; the tests show what that does.

* Without (roomP) memory is checked only when operations start, and the optimum is too low.
* Without (upc) and (arrive1c) a transfer can lie in a period before the last one. Only chains of
  three layers and more show it.
* Uploads are placed by their end: then deletion, memory and link look at one event.
* In (roomP) the layer of x counts, since it arrives, and so does the gradient while a backward
  runs: :math:`e_k`, not :math:`r_k`.

Units
-----
Times are divided by their greatest common divisor, sizes likewise (`EventFrame`). Where that is not
a nanosecond, :math:`T` is no integer column: its optimum is a largest ratio of a cycle, and rounded
up to a nanosecond it is the least period. Where amounts would need more than :math:`2^{29}` units
durations and sizes round down, and :math:`H` and the memory up: the model relaxes the problem.

Each direction of the link has its own rate; a link that both share is refused.

Source: OFF(L, M, β) is the problem of the paper on weight offloading, which has no exact model; the
rows are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

import lazy_loader as lazy

from jettison.formulations.milp.watched_writing import Watch, unwatched, watched_problem
from jettison.formulations.weight_offload.timed_events.columns import EventColumns
from jettison.formulations.weight_offload.timed_events.frame import EventFrame, Prefetch
from jettison.formulations.weight_offload.timed_events.link_rows import add_downlink, add_uplink
from jettison.formulations.weight_offload.timed_events.memory_rows import (
    add_operations_memory,
    add_order_of_events,
    add_prefetches_memory,
)
from jettison.formulations.weight_offload.timed_events.strengthening import add_energy, add_order
from jettison.formulations.weight_offload.timed_events.time_rows import (
    add_absences,
    add_arrivals,
    add_choices,
    add_operations,
    add_places,
    add_uploads,
)
from jettison.instances.core.errors import InputError
from jettison.instances.weight_offload.problem import WeightOffload

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")

# A dual bound of HiGHS is lowered by this much before it becomes a time, absolute and relative.
_ABSOLUTE_MARGIN = 1e-5
_RELATIVE_MARGIN = 1e-7


@dataclass(frozen=True, slots=True)
class LeastPeriod:
    """Question for the least period.

    Attributes
    ----------
    most_ns
        The longest period that is looked at: that of a known schedule.
    least_ns
        A period below which there is none.
    """

    most_ns: int
    least_ns: int = 0


@dataclass(frozen=True, slots=True)
class GivenPeriod:
    """Question whether there is a schedule of some period.

    Attributes
    ----------
    period_ns
        The period.
    """

    period_ns: int


@dataclass(frozen=True, slots=True)
class WithoutIdle:
    r"""Question whether there is a schedule without idle time, of period :math:`\sum_k u_k`."""


@dataclass(frozen=True, slots=True)
class AnySelection:
    """Absences that the model chooses."""


@dataclass(frozen=True, slots=True)
class Within:
    """Absences that are allowed, all others being forbidden.

    Attributes
    ----------
    absences
        Layers and gaps.
    """

    absences: frozenset[Prefetch]


@dataclass(frozen=True, slots=True)
class Exactly:
    """Absences that happen, all others being forbidden.

    Attributes
    ----------
    absences
        Layers and gaps.
    """

    absences: frozenset[Prefetch]


class ValidRow(StrEnum):
    """Valid inequalities that make the model stronger.

    ``energy``
        (eC), (eP0), (eP1), (eP2), on places.
    ``order``
        (oC), (oCe), (oP), on the order of transfers.
    """

    ENERGY = "energy"
    ORDER = "order"


class OmittedRow(StrEnum):
    """Rows that a test leaves out, to show what they are for.

    ``roomP``
        Memory when a prefetch starts.
    ``around``
        (upc) and (arrive1c), by which a transfer lies in the last period or this one.
    """

    ROOM_AT_PREFETCHES = "roomP"
    AROUND = "around"


@dataclass(frozen=True)
class EventModel:
    """Built model, with the translation of its bounds to nanoseconds.

    Attributes
    ----------
    frame
        Places and scales.
    problem
        The PuLP problem.
    """

    frame: EventFrame
    problem: pulp.LpProblem

    def period_from_solver_ns(self, dual_bound: float) -> int:
        """Return the least period that a dual bound in floating point does not rule out."""
        scale = self.frame.time_scale
        margin = max(_ABSOLUTE_MARGIN, _RELATIVE_MARGIN * abs(dual_bound))
        return math.ceil((dual_bound - margin) * scale.factor * scale.unit)


@dataclass(frozen=True)
class EventMilp:
    """Exact MILP in its variants; the model is in the docstring of this module.

    Attributes
    ----------
    question
        What is asked of the period.
    selection
        Which weights are absent where.
    strengthened
        Valid inequalities to add.
    omitted
        Rows to leave out; then the model is wrong.
    """

    question: LeastPeriod | GivenPeriod | WithoutIdle
    selection: AnySelection | Within | Exactly = field(default_factory=AnySelection)
    strengthened: frozenset[ValidRow] = field(default_factory=frozenset)
    omitted: frozenset[OmittedRow] = field(default_factory=frozenset)

    def frame(self, problem: WeightOffload) -> EventFrame:
        """Return the frame of a problem for the question."""
        match self.question:
            case LeastPeriod(most_ns, least_ns):
                least_ns = max(least_ns, problem.base_time_ns)
                return EventFrame(problem, least_ns, most_ns, has_idle_places=True)
            case GivenPeriod(period_ns):
                return EventFrame(problem, period_ns, period_ns, has_idle_places=True)
            case WithoutIdle():
                base_ns = problem.base_time_ns
                return EventFrame(problem, base_ns, base_ns, has_idle_places=False)
            case other:
                assert_never(other)

    def build(self, problem: WeightOffload, watch: Watch = unwatched) -> EventModel:
        """Build the model; about 10 µs for each coefficient. `watch` may end that.

        Raises
        ------
        InputError
            If both directions of the link share it.
        """
        if problem.link.is_shared:
            raise InputError(
                "a link that both directions share",
                field="bandwidth",
                expected="write one rate for each direction: the model over events has no other",
            )
        frame = self.frame(problem)
        model = watched_problem("weight_offload_events", watch)
        columns = EventColumns(frame, model)
        model += pulp.lpSum([columns.T] if isinstance(self.question, LeastPeriod) else [])
        around = OmittedRow.AROUND not in self.omitted
        add_operations(model, frame, columns)
        add_choices(model, frame, columns)
        self._add_selection(model, columns)
        add_places(model, frame, columns)
        add_uploads(model, frame, columns, around)
        add_arrivals(model, frame, columns, around)
        add_absences(model, frame, columns)
        add_uplink(model, frame, columns)
        add_downlink(model, frame, columns)
        add_operations_memory(model, frame, columns)
        add_order_of_events(model, frame, columns)
        if OmittedRow.ROOM_AT_PREFETCHES not in self.omitted:
            add_prefetches_memory(model, frame, columns)
        if ValidRow.ENERGY in self.strengthened:
            add_energy(model, frame, columns)
        if ValidRow.ORDER in self.strengthened:
            add_order(model, frame, columns)
        return EventModel(frame, model)

    def _add_selection(self, model: pulp.LpProblem, columns: EventColumns) -> None:
        """Add the rows selected: absences that are given."""
        match self.selection:
            case AnySelection():
                return
            case Within(absences):
                given = {x: 0 for x in columns.y if x not in absences}
            case Exactly(absences):
                given = {x: int(x in absences) for x in columns.y}
            case other:
                assert_never(other)
        for x, value in given.items():
            model += columns.y[x] == value, f"selected_{x.layer}_{x.gap}"

    def estimated_coefficients(self, problem: WeightOffload) -> int:
        """Return about how many coefficients the model has."""
        frame = self.frame(problem)
        layers, places = len(frame.layers), len(frame.places)
        in_places = 3 * layers * places**2 // 2
        in_memory = layers * len(problem.cycle) * places + 5 * layers**2 * places
        between_pairs = 65 * layers**2
        energy = 2 * (layers * places) ** 2 // 3 if ValidRow.ENERGY in self.strengthened else 0
        return in_places + in_memory + between_pairs + energy
