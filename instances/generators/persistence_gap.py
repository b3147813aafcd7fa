r"""Chains on which the best persistent schedule is provably slower than one that is not.

The idea is that of Figure 2 of RR-9302: a checkpoint that is early in the chain is used while
memory is short, and given up for a later one as soon as that one fits. A persistent schedule may
not give it up. The sizes of the figure do not give its times in the model of Table 1, which counts
gradients and :math:`\bar a`; these do, and one parameter makes the ratio as large as one wants.

Construction
------------
With :math:`q \ge 2` levels, :math:`n \ge 2` repeats and times :math:`K, c \ge 0` the chain has
:math:`N = 2q - 1 + n` stages. The *head* is stages :math:`1, \dots, q`, and

.. math::
    u_f^1 = K, \qquad u_f^i = c \;\; (2 \le i \le q), \qquad
    a^i = \bar a^i = s_i = q - 1 + i .

All other stages are the *tail*. They take no time, nor does any backward, and
:math:`a^\ell = \bar a^\ell = w = 2q`, but 0 for the loss; :math:`a^0 = 0`. The memory is
:math:`M = 4 w + \sum_i s_i`. Call the starts of :math:`B^N, B^{N-1}, \dots, B^{q+1}` the moments
:math:`1, 2, \dots, T`, with :math:`T = n + q - 1`. The overhead of the backward at moment
:math:`i` leaves room for :math:`s_{\min(i, q)}` bytes besides its inputs and outputs; the overhead
of every forward of the tail leaves room for :math:`s_q` besides its input, its output and a
gradient.

What fits
---------
Two tensors of the head need :math:`s_1 + s_2 > s_q` bytes, one of the tail :math:`w > s_q`. Hence

* at moment :math:`i` memory holds at most one tensor besides what the backward reads, of a stage
  :math:`j \le \min(i, q)` of the head: the *kept* stage, or none (:math:`j = 0`);
* between moment :math:`i` and the next one, the stage that the next backward reads is computed
  from the kept one: each of :math:`F^{j+1}, \dots, F^q` runs.

Optimum of the sequences of Table 1
-----------------------------------
Here memory is freed only by running an operation (`ScheduleClass.TABLE_1`). Where a value may be
dropped at no cost, as a device can, a schedule may be faster still.

.. math::
    T_{free} = \min\bigl( P_1,\;\; 2 K + \tfrac{1}{2} (q - 1)(q + 4)\, c \bigr)

with :math:`P_1` below. *Proof.* If :math:`F^1` runs once, :math:`\bar a^1` is kept at every moment
and :math:`F^2, \dots, F^q` run before each; afterwards all of them run once more for their
:math:`\bar a`, but :math:`F^2` if :math:`q = 2`, whose last run can be :math:`F_{all}`. That is
:math:`P_1`. Else :math:`F^1` takes :math:`2K`. Each :math:`F^i, i \ge 2`, runs once before moment
1, at least once after each of the moments :math:`1, \dots, i - 1`, where the kept stage is below
:math:`i`, and once more for :math:`\bar a^i` after moment :math:`q`, of which the backward reads
the tail. If :math:`\bar a^i` is kept there already, :math:`F_{all}^i` has read stage
:math:`i - 1`, and only another :math:`F_\emptyset^i` has dropped that; it ran between the same two
moments, since both do not fit at one, and so it is a run that was not counted. In all,
:math:`\sum_{i \ge 2} (i + 1)` runs. They suffice: keep stage :math:`\min(i, q)` at moment
:math:`i`, coming from the one below by :math:`F_\emptyset`. :math:`\square`

Optimum of the persistent schedules
-----------------------------------
.. math::
    T_{pers} = \min_{1 \le j \le q} P_j, \qquad
    P_j = j (K + (q - 1) c) + (T - j)(q - j)\, c + [j > 1] K + (q - 1 - [j = q - 1])\, c .

*Proof.* What is saved of the head stays beyond the last moment. Let :math:`m` be the first moment
at which the kept stage :math:`j` is a saved one; :math:`m \ge j`. Until then no stage of the head
is read by :math:`F_{ck}` or :math:`F_{all}`, but, before moment :math:`m`, stage :math:`j`; every
other read drops what it reads. So the :math:`m` runs that lead from the head to the tail, one
before each moment, go back to :math:`m` runs of each of :math:`F^1, \dots, F^q`. After moment
:math:`m` stage :math:`j` is kept at all moments and costs :math:`(q - j) c` before each of the
:math:`T - m` left. At last :math:`\bar a^1, \dots, \bar a^q` are made: of all but :math:`a^1` with
:math:`j = 1`, which can be :math:`\bar a^1` from the start, and :math:`a^q` with
:math:`j = q - 1`, as the last backward of the tail can read :math:`\bar a^q`; any other
:math:`F_{all}` before saves its input as well, and both do not fit. The sum grows with :math:`m`,
and :math:`m = j` is possible. If nothing is ever kept the sum is that of :math:`m = T, j = q`.
:math:`\square`

With :math:`c = 1` and :math:`K = \lfloor n (q - 1) / q \rfloor` the ratio tends to
:math:`(q + 1) / 2` as :math:`n` grows: 3/2 for two levels, as in Figure 2, and no limit for many.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistenceGap:
    """A chain and a memory in which the best persistent schedule is provably slower than another.

    Attributes
    ----------
    chain
        The instance.
    memory_bytes
        The memory :math:`M`.
    persistent_ns
        Time of the fastest persistent schedule, :math:`T_{pers}`.
    table_1_ns
        Time of the fastest sequence of Table 1, persistent or not, :math:`T_{free}`. No more is
        needed by all schedules.
    """

    chain: Chain
    memory_bytes: int
    persistent_ns: int
    table_1_ns: int


def persistence_gap(
    levels: int, repeats: int, first_ns: int | None = None, next_ns: int = 1
) -> PersistenceGap:
    """Return the chain of the construction above with its two optima.

    Parameters
    ----------
    levels
        :math:`q`, at least 2: stages worth keeping, one better than the other.
    repeats
        :math:`n`, at least 2: how often the best one of them is used.
    first_ns
        :math:`K`; None for the value at which the ratio tends to its limit.
    next_ns
        :math:`c`.

    Raises
    ------
    InputError
        If a parameter is out of range, or the chain is too large.
    """
    for name, value in (("levels", levels), ("repeats", repeats)):
        if value < 2:
            raise InputError(f"{value}", field=name, expected="write at least 2")
    if first_ns is None:
        first_ns = next_ns * repeats * (levels - 1) // levels
    head_bytes = [levels - 1 + number for number in range(1, levels + 1)]
    tail_bytes = 2 * levels
    memory_bytes = 4 * tail_bytes + sum(head_bytes)
    stages = [
        Stage(
            name=f"head {number}",
            forward_ns=first_ns if number == 1 else next_ns,
            backward_ns=0,
            output_bytes=size,
            saved_bytes=size,
        )
        for number, size in enumerate(head_bytes, start=1)
    ]
    moments = repeats + levels - 1
    for moment in range(moments, 0, -1):
        read = head_bytes[-1] if moment == moments else tail_bytes
        written = tail_bytes if moment > 1 else 0
        room = head_bytes[min(moment, levels) - 1]
        stages.append(
            Stage(
                name=f"tail {moment}",
                forward_ns=0,
                backward_ns=0,
                output_bytes=written,
                saved_bytes=written,
                forward_overhead_bytes=memory_bytes - head_bytes[-1] - 3 * tail_bytes,
                # Two activations and two gradients are in use.
                backward_overhead_bytes=memory_bytes - room - 2 * (read + written),
            )
        )
    chain = Chain(
        name=f"persistence gap {levels}-{repeats}-{first_ns}-{next_ns}",
        input_bytes=0,
        stages=tuple(stages),
        provenance=Provenance(source="synthetic", note="an early checkpoint is worth giving up"),
    )
    persistent = [
        kept * (first_ns + (levels - 1) * next_ns)
        + (moments - kept) * (levels - kept) * next_ns
        + (first_ns if kept > 1 else 0)
        + (levels - 1 - (kept == levels - 1)) * next_ns
        for kept in range(1, levels + 1)
    ]
    giving_up = 2 * first_ns + (levels - 1) * (levels + 4) // 2 * next_ns
    return PersistenceGap(
        chain=chain,
        memory_bytes=memory_bytes,
        persistent_ns=min(persistent),
        table_1_ns=min(persistent[0], giving_up),
    )
