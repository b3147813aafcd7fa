r"""Cycle bound: a linear lower bound on the time of a repeated training step, for all schedules.

The :math:`2N` first forward and backward operations of a step have a fixed order; recomputations
and updates on the device run in the *gaps* between them. Elements :math:`e = 0, \dots, 4N - 1` go
around the cycle: the gap before each operation (even) and the operation (odd). A *cut* is the end
of an element, so the start or the end of an operation; it has the number of its element.
:math:`l(c)` is the stage of the operation at cut c. Weights w, their gradients g and states s are
those of each stage, :math:`D_e` are lengths. :math:`W_l` is the *window* of stage l: the elements
after :math:`B_l` and before :math:`F_l`, in which it is updated.

Columns
-------
==================================== ===========================================================
:math:`D_e`, ``D_e``                 length of element e
:math:`x_{l,e}`, ``x_l_e``           part of the update of l that the device does in gap e
:math:`q_l`, ``q_l``                 part that the host does
:math:`\bar x_{l,e}`, ``xs_l_e``     part of x whose states are brought and sent back
:math:`n_{l,e}`, ``n_l_e``           part of x before which the weights were away
:math:`m_{l,e}`, ``m_l_e``           part of x after which they leave
:math:`h_{l,e}`, ``h_l_e``           part of the host's update in element e
:math:`y_l`, ``y_l``                 part of the weights that is away between :math:`F_l, B_l`
:math:`c_l`, ``c_l``                 part of y that is sent later than :math:`F_l`'s window
:math:`z_l`, ``z_l``                 part of n that needs a copy of its own
``A1, h1, AF, hF, gW, AB, hB, hq,``  inventories at cut c, all stages together (see below)
``V, Gd, Gh, hS, gS, r, qL``
``u1, uF, uB, uq, uG, uS, ua``       what is brought in element e, by inventory
``dF, dr, dz, dG, dS, da``           what is sent in element e, by inventory
:math:`f_l`, ``f_l``                 part of the first :math:`F_l` that saves all
:math:`R_{e,i}`, ``R_e_i``           part of :math:`F_i` that runs again in gap e without saving all
:math:`S_{e,i}`, ``S_e_i``           part of :math:`F_i` that runs again in gap e and saves all
:math:`k_{i,c}, p_{i,c}`             parts of :math:`\bar a^i` and of a plain :math:`a^i` that
                                     exist at cut c, on the device or the host, and are used later
:math:`d_c, o_c`, ``dev, off``       activations on the device, and on the host only, at cut c
:math:`Y_i`, ``Y_i``                 activations of stage i that are ever sent
:math:`K_l`, ``K_l``                 whether :math:`F_l` saves all for the last time before
                                     :math:`B_N`, :math:`l < N`
:math:`O`, ``O``                     bytes of these that are on the host only when :math:`B_N`
                                     starts
:math:`r^s`, ``rS``                  states of the device that stay there around the cycle
==================================== ===========================================================

Inventories
-----------
Each has a balance :math:`X_c = X_{c-1} + \text{in}_c - \text{out}_c` around the cycle and is at
least 0. Needs have a fixed cyclic order, so that the sum over stages says all.

======== ============================================ ==========================================
column   in                                           out
======== ============================================ ==========================================
``A1``   :math:`w y_l` after :math:`F_l`              :math:`w y_l` before :math:`B_l`
``h1``   ``u1``                                       :math:`w y_l` before :math:`B_l`
``AF``   :math:`w m_{l,e}` in gap e                   :math:`w \sum_e m_{l,e}` before :math:`F_l`
``hF``   ``uF``                                       :math:`w \sum_e m_{l,e}` before :math:`F_l`
``gW``   :math:`w m_{l,e}` in gap e                   ``dF``
``AB``   :math:`w \sum_e n_{l,e}` after :math:`B_l`   :math:`w n_{l,e}` in gap e
``hB``   ``uB``                                       :math:`w n_{l,e}` in gap e
``hq``   ``uq``                                       :math:`w q_l` before :math:`F_l`
``V``    :math:`w h_{l,e}` in element e               ``uq``
``Gd``   :math:`g` after :math:`B_l`, ``uG``          :math:`g x_{l,e}` in gap e, ``dG``
``Gh``   ``dG``                                       :math:`g h_{l,e}` in element e, ``uG``
``hS``   ``uS``                                       :math:`s \bar x_{l,e}` in gap e
``gS``   :math:`s \bar x_{l,e}` in gap e              ``dS``
``r``    :math:`w c_l` after :math:`B_l`              ``dr``
======== ============================================ ==========================================

``h1`` is 0 at the start of :math:`F_1`; AF, hF, AB, hB, hq, V, Gd and Gh are 0 at the start of
:math:`B_N`: by then all updates of the step before are over. Without these *pins* the cycle is
open.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_e D_e \\
    \text{length} \quad & D_e = u, \quad
        D_e \ge \sum_i u_f^i (R_{e,i} + S_{e,i}) + \sum_l u_l x_{l,e} \;\text{(gap)} \\
    \text{host} \quad & \sum_l u^h_l h_{l,e} \le D_e \\
    \text{once} \quad & \sum_e x_{l,e} + q_l = 1, \quad \text{hosted}\quad \sum_e h_{l,e} = q_l \\
    \text{states, before, after} \quad & \bar x, n, m \le x \\
    \text{late} \quad & c_l \ge y_l - q_l - \textstyle\sum_e m_{l,e} \\
    \text{copy} \quad & z_l \ge \textstyle\sum_e n_{l,e} - \sum_e m_{l,e} - c_l, \quad
        \text{copies} \quad \sum_e \mathrm{dz}_e \ge \sum_l w z_l \\
    \text{past} \quad & \mathrm{qL}_c \ge r_c - \textstyle\sum_{F_l \text{ not begun}} w c_l \\
    \text{present} \quad & A1 - h1 - qL \ge 0, \quad AF - hF - gW \ge 0, \quad AB - hB \ge 0 \\
    \text{in, out, both} \quad & \textstyle\sum u \le \beta D_e, \quad \sum d \le \beta D_e, \quad
        \sum u + \sum d \le \tau D_e \\
    \text{exists} \quad & d_c + o_c = \textstyle\sum_{i < l(c)} \bar a^i k_{i,c} + a^i p_{i,c} \\
    \text{sent} \quad & o_c \le \textstyle\sum_{e \le c} \mathrm{da}_e \le
        \sum_{F_i \text{ ended before } c} Y_i, \quad o_c \le \sum_{i < l(c)} Y_i \\
    \text{keeps} \quad & k_{i,c} \le k_{i,c-1} + S_{c,i}, \quad
        \text{plain} \quad p_{i,c} \le p_{i,c-1} + R_{c,i} \\
    \text{needs} \quad & k_{l} + S \ge 1 \;\text{before } B_l, \quad
        \text{reads, reads all} \quad R_{e,i},\, S_{e,i} \le
        R_{e,i-1} + S_{e,i-1} + k_{i-1,e-1} + p_{i-1,e-1} \\
    \text{input} \quad & k_{l-1,c} + p_{l-1,c} \ge 1, \quad
        \text{ready} \quad d_c \ge a^{l-1} \;\text{at operations of } l \\
    \text{balance} \quad & d_c + [\bar a^l \text{ before } B_l] \le d_{c-1} + \mathrm{ua}_c +
        \text{first output} + \textstyle\sum_i a^i R_{c,i} + \bar a^i S_{c,i} \\
    \text{memory} \quad & \text{operands} + \textstyle\sum w - (A1 - h1 - qL) - (AF - hF - gW) -
        (AB - hB) - (\sum_{W_i} w q_i - hq) \\
        & \qquad + r^s + hS + gS + Gd + d_c \le M \\
    \text{resident} \quad & r^s = \textstyle\sum_l s_l \sum_e (x_{l,e} - \bar x_{l,e}) \\
    \text{turn} \quad & \textstyle\sum_{W_l} D_e \ge u_l (1 - q_l) + (t_g + u^h_l + t_w) q_l +
        2 t_w \sum_e m_{l,e} \\
    \text{absence} \quad & \textstyle\sum_{F_l \text{ to } B_l} D_e \ge t_w y_l, \quad
        \text{trip} \quad \sum_e D_e \ge (2 t_s + u_l) \sum_e \bar x_{l,e} \\
    \text{remade} \quad & K_l + \textstyle\sum_{e > b} S_{e,l} \ge 1, \quad
        \text{holds} \quad d_b \ge \sum_{l < N} \bar a^l K_l - O, \quad
        \text{returns} \quad \sum_{e > b} \mathrm{ua}_e \ge O

Where only starts of operations have columns k and p (`Existing.AT_STARTS`), those of the start are
taken at the end too, in place of (keeps) and (plain). In these two the first operation
:math:`F_l` itself gives :math:`f_l` and :math:`1 - f_l` in the gap behind it. Operands of
:math:`F_l` are
:math:`(1 - f_l) (a^l + o_f) + f_l (\bar a^l + \bar o_f)`, of :math:`B_l`
:math:`\bar a^l + \delta^l + \delta^{l-1} + o_b + g`. :math:`t` is the time of the transfer of a
whole tensor. In the last three rows b is the cut at the start of :math:`B_N`.

Limits
------
Every column but :math:`D_e` has an upper limit, so that multipliers whose reduced costs are a
little below 0 still prove a bound in exact arithmetic. Shares are at most 1. A stage that runs
several times in one gap counts once in each of R and S: all rows hold for that, and less time is
counted. Weights that are needed are needed once in a step (at :math:`B_l`, in the update, at
:math:`F_l`), so that an inventory of them, and what is brought or sent for it in one element, is at
most :math:`\sum w`; for the same reason those of gradients are at most :math:`\sum g`, and those of
states :math:`\sum s`. What goes to the host and comes back within one element cancels in all
balances and is left out. Activations that exist are at most :math:`\sum_{i < l(c)} \bar a^i + a^i`;
each byte is sent at most once, because the host keeps it, and what is brought in an element is
there at its end or is left out.

Every schedule is a point
-------------------------
Take a schedule of period T. Without loss, copies that bring nothing to a later use are left out,
and after the last :math:`F_l` before :math:`B_l` nothing of stage l is made. The lengths of the
elements add up to T; only updates and reruns fit into gaps beside idle time. Put every column to
what the schedule does: 1 or 0 for whole tensors, the part of the bytes otherwise. A byte that is
back early was brought after it was dropped and before its next use, so that the sums with the needs
taken out are at least 0 (h); one that has to be sent is on the device until it is (gW, qL); the two
are disjoint parts of what may be away (present). The host's weights come up after its update, and
that runs after the gradient has come down, within one step (V, Gh, pins). A byte of
:math:`\bar a^i` that :math:`B_i` reads exists at a cut, or is made by a later :math:`F_i`; what
exists is on the device or on the host only; what is on the host only was sent after the first
:math:`F_i` had ended; what is on the device of stages below came from the device, the host or a
run. A rerun reads stage i - 1, which existed at the start of the gap or ran in it. What is on its
way occupies all of its bytes, and less here. The last three rows say that the named operations of
one stage follow one another. Periods of several steps are covered by the mean of the columns.

(remade), (holds), (returns): no operation runs at cut b, since :math:`B_N` starts there and there
is one stream. Let :math:`K_l` be 1 if no run of :math:`F_l` that saves all starts after b, and 0 if
one does; that one ends before :math:`B_l` and is in a gap after b, so that one of the
:math:`S_{e,l}, e > b` is 1 and (remade) holds either way. Where :math:`K_l` is 1, all bytes of
:math:`\bar a^l` that :math:`B_l` reads were made before b, and are of the same runs as at b: each
of them exists at b and is used later, so that :math:`k_{l,b}` counts it, and it is on the device,
where :math:`d_b` counts it, or on the host only. O is the sum of those on the host only. The bytes
of different stages are different bytes, whence (holds). Each of those in O is on the device when
:math:`B_l` starts, the end of an element after b, and no run makes it anew; so there is an element
after b at whose start it is not on the device and at whose end it is. It was brought in it, and
:math:`\mathrm{ua}_e` counts what is brought and still there at the end: (returns). Of a block on
its way at b the bytes that have come are on the device and the others on the host only.

One column for the start and the end of an operation: what exists at its start and is used by it or
later is there until its end, or has another copy, and it makes nothing of the stages before its
own. So k and p are the same at both cuts.

The rows (keeps) and (balance) know parts only. Without these three, a third of a run gives a third
of :math:`\bar a^l` three times, in other gaps and for the bytes of other stages, since (balance)
adds up the stages; with them, a run that saves all after b is what makes room at b.

The columns say nothing of the order within a gap, nor of recomputations that need weights which are
away then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.training_chain.activation_rows import ActivationRows, Existing
from jettison.formulations.training_chain.around import Around
from jettison.formulations.training_chain.peak_rows import add_peak_rows
from jettison.formulations.training_chain.training_scale import TrainingScale
from jettison.formulations.training_chain.update_rows import UpdateRows
from jettison.instances.training_chain.problem import TrainingChain


@dataclass(frozen=True)
class CycleBoundModel:
    """Built model of the cycle bound.

    Attributes
    ----------
    scale
        Turns the objective into a time.
    model
        The model.
    """

    scale: TrainingScale
    model: ArrayModel


def _go_on() -> None:
    """Do nothing while a model is built."""


def build_cycle_bound(
    problem: TrainingChain,
    meanwhile: Callable[[], None] = _go_on,
    existing: Existing = Existing.AT_STARTS,
) -> CycleBoundModel:
    """Build the model: :math:`O(N^2)` columns and rows for N stages.

    Parameters
    ----------
    problem
        The problem.
    meanwhile
        Called once for each cut, of which each takes about as long; what it raises is passed on, so
        that a time limit ends it.
    existing
        The cuts that have columns of what exists.
    """
    return _built(problem, "cycle_bound", 1.0, meanwhile, existing)


def build_missing_memory(problem: TrainingChain) -> CycleBoundModel:
    """Build the model whose objective is the memory that a step of any length lacks.

    It has columns at all cuts, and one more, ``more``, which all rows (memory) get and which costs
    1, and nothing else costs. Where the least objective is above 0, no schedule fits. Lengths are
    at most what all rows together can ask for, so that multipliers prove something in spite of
    rounding.
    """
    return _built(problem, "missing_memory", 0.0, _go_on, Existing.AT_ALL_CUTS)


def _built(
    problem: TrainingChain,
    name: str,
    cost_of_time: float,
    meanwhile: Callable[[], None],
    existing: Existing,
) -> CycleBoundModel:
    scale = TrainingScale.of(problem)
    around = Around(len(problem.instance))
    builder = ArrayModelBuilder(name)
    longest = math.inf if cost_of_time else scale.longest
    lengths = [
        builder.add_column(f"D_{element}", cost=cost_of_time, upper=longest)
        for element in range(around.num_elements)
    ]
    more = None if cost_of_time else builder.add_column("more", cost=1.0)
    updates = UpdateRows(builder, scale, around, lengths)
    activations = ActivationRows(builder, scale, around, meanwhile, existing)
    _add_lengths(builder, scale, around, lengths, updates, activations)
    _add_link(builder, scale, lengths, updates, activations)
    _add_memory(builder, scale, around, updates, activations, more)
    add_peak_rows(builder, scale, around, activations)
    return CycleBoundModel(scale, builder.build())


def _add_lengths(
    builder: ArrayModelBuilder,
    scale: TrainingScale,
    around: Around,
    lengths: list[int],
    updates: UpdateRows,
    activations: ActivationRows,
) -> None:
    chain = scale.problem.instance
    for element, column in enumerate(lengths):
        if around.is_operation(element):
            number = around.stage_of(element)
            stage = chain.stage(number)
            forward = around.is_forward(element)
            duration = scale.time(stage.forward_ns if forward else stage.backward_ns)
            builder.add_row(f"length_{element}", [column], [1.0], lower=duration, upper=duration)
        else:
            terms = activations.reruns(element) + updates.device_updates(element)
            columns = [column, *(item for item, _ in terms)]
            builder.add_row(
                f"length_{element}", columns, [1.0, *(-time for _, time in terms)], lower=0.0
            )


def _add_link(
    builder: ArrayModelBuilder,
    scale: TrainingScale,
    lengths: list[int],
    updates: UpdateRows,
    activations: ActivationRows,
) -> None:
    is_shared = scale.problem.link.is_shared
    for element, column in enumerate(lengths):
        brought = updates.brought[element] + activations.brought[element]
        sent = updates.sent[element] + activations.sent[element]
        for name, moved, rate in (
            ("in", brought, scale.rate),
            ("out", sent, scale.rate),
            ("both", brought + sent, scale.total_rate),
        ):
            if moved and (name != "both" or is_shared):
                builder.add_row(
                    f"{name}_{element}", [column, *moved], [-rate, *[1.0] * len(moved)], upper=0.0
                )


def _add_memory(
    builder: ArrayModelBuilder,
    scale: TrainingScale,
    around: Around,
    updates: UpdateRows,
    activations: ActivationRows,
    more: int | None,
) -> None:
    chain = scale.problem.instance
    weights = sum(scale.size(stage.weight_bytes) for stage in chain)
    for cut in range(around.num_elements):
        number = around.stage_of(cut)
        constant, terms = activations.operands(cut, number)
        terms = terms + updates.present(cut)
        if more is not None:
            terms.append((more, -1.0))
        constant += weights + scale.size(chain.input_bytes)
        builder.add_row(
            f"memory_{cut}",
            [column for column, _ in terms],
            [size for _, size in terms],
            upper=scale.memory - constant,
        )
