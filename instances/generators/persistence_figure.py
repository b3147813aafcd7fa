r"""Chain of Figure 2 of RR-9302, on which no persistent schedule is optimal, and its optima.

The text gives the times of the stages, gradients without size, :math:`M = 8`, and that one forward
needs 7 bytes and those before it 6; the sizes in the picture are lost. These have that effect.

Construction
------------
With :math:`n \ge 1` and times :math:`k, c, w \ge 0` the chain has the stages
:math:`1, \dots, L = n + 2` and the loss :math:`N = L + 1`. With :math:`a^0 = 0`

.. math::
    u_f^1 = k, \quad u_f^2 = c, \quad u_b^N = w, \qquad
    a^\ell = \bar a^\ell = \min(\ell, 3) \;\; (\ell \le L), \quad \bar a^N = 4, \qquad
    \delta^\ell = 0;

all other times are 0, there is no overhead, and :math:`M = 8`. As drawn, :math:`c = 2, w = 0`.

What fits
---------
Call the backwards of :math:`N, L, \dots, 3` the moments :math:`1, \dots, n + 1`. The first needs
:math:`a^L` and :math:`\bar a^N`, 7 bytes, and leaves 1. The next ones need 6 and leave 2, and
:math:`B^3` needs 5. So beside what the backward reads there is at most stage 1 or nothing at moment
1, stage 1 or stage 2 but not both at the moments :math:`2, \dots, n`, and never another stage
above 2. Hence

* what the next backward reads is computed from stage 1 or 2, or from the start, after each of the
  moments :math:`1, \dots, n`: :math:`F^2` runs unless stage 2 is held;
* so :math:`F^2` runs before moment 1 and after it.

Optima
------
.. math::
    T_{pers} &= w + \min\bigl( k + (n + 1)\, c,\;\; 3 k + 3 c \bigr) \\
    T_{table} &= w + \min\bigl( k + (n + 1)\, c,\;\; 2 k + 3 c \bigr) \\
    T_{all} &= w + \min\bigl( k + (n + 1)\, c,\;\; 2 k + 2 c \bigr)

for persistent schedules, sequences of Table 1, and all schedules. *Proof.* If :math:`F^1` runs
once, stage 1 is held until :math:`B^1`, and so stage 2 is not at the moments
:math:`1, \dots, n`: :math:`F^2` runs before the first and after each of them. That suffices: the
last run is :math:`F_{all}^2`, and :math:`\bar a^1, \bar a^2, \bar a^3` fit at :math:`B^3`. For
:math:`n = 1` none of the sums can be less; let :math:`n \ge 2`, and let :math:`F^1` run twice or
more, as :math:`F^2` does.

* *All schedules.* :math:`2k + 2c` suffices: stage 1 is held at moment 1, then :math:`F_{all}^2`
  makes :math:`\bar a^2`, and :math:`a^1` is dropped; :math:`\bar a^2` is held until :math:`B^2`,
  before which :math:`F_{all}^1` runs for its input.
* *Table 1.* If :math:`F^2` ran twice only, the second run, after moment 1, would be
  :math:`F_{all}^2`, which leaves its input. Only :math:`F_\emptyset^2` takes that away, a third
  run: stages 1 and 2 would both be held at moment 2. So :math:`F^2` runs three times. That
  suffices, with :math:`F_\emptyset^2` for the second run: :math:`a^2` is held in place of
  :math:`a^1`, and before :math:`B^2` both run again.
* *Persistent.* What is saved of stage 2 stays until :math:`B^3` at least. If nothing is before
  moment :math:`n`, each computation before moment 1 and after the moments :math:`1, \dots, n` takes
  a run of :math:`F^2` of its own, :math:`n + 1` in all. Else stage 2 is held from some moment
  between 2 and :math:`n` on, so that stage 1 is not, nor has it been saved: every :math:`F^2` up to
  then was :math:`F_\emptyset^2`, one before moment 1 and one after it at least, each after a run of
  :math:`F^1` of its own. Both run once more, for :math:`\bar a^2` and its input. That suffices,
  with stage 2 held from moment 2 on. :math:`\square`

The times of the report
-----------------------
:math:`T_1 = k + 2(n + 1), T_2 = 3k + 4, T_0 = 2k + 4`. With :math:`c = 2` the first and the third
are the ones above; but :math:`B^2` needs :math:`\bar a^2`, so that :math:`T_2` takes one more
:math:`F^2` (:math:`3k + 6`), and :math:`T_0` a drop, or else one more as well. Where :math:`T_2`
counts, in the report's :math:`k = n - 1`, the best persistent time is its :math:`3n + 1` and the
best of all its :math:`2n + 2`. With :math:`c = w = 1` and :math:`2n` in place of :math:`n` the
sequences of Table 1 alone have all three times to the letter.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage

_MEMORY_BYTES = 8
_TAIL_BYTES = 3
_LOSS_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistenceFigure:
    """Chain and memory of Figure 2 of RR-9302, with the optima of three classes of schedules.

    Attributes
    ----------
    chain
        The instance.
    memory_bytes
        The memory :math:`M`.
    persistent_ns, table_1_ns, least_ns
        Times of the fastest persistent schedule, of the fastest sequence of Table 1, and of the
        fastest schedule of all: :math:`T_{pers}, T_{table}, T_{all}`.
    """

    chain: Chain
    memory_bytes: int
    persistent_ns: int
    table_1_ns: int
    least_ns: int


def persistence_figure(
    middle: int, first_ns: int, second_ns: int = 2, loss_ns: int = 0
) -> PersistenceFigure:
    """Return the chain of the construction above with its three optima.

    Parameters
    ----------
    middle
        :math:`n`, at least 1: stages between the second one and the loss.
    first_ns, second_ns, loss_ns
        :math:`k, c, w`.

    Raises
    ------
    InputError
        If a parameter is out of range, or the chain is too large.
    """
    if middle < 1:
        raise InputError(f"{middle}", field="middle", expected="write at least 1")
    stages = [
        Stage(
            name=f"stage {number}",
            forward_ns={1: first_ns, 2: second_ns}.get(number, 0),
            backward_ns=0,
            output_bytes=min(number, _TAIL_BYTES),
            saved_bytes=min(number, _TAIL_BYTES),
            output_gradient_bytes=0,
        )
        for number in range(1, middle + 3)
    ]
    loss = Stage(
        name="loss", forward_ns=0, backward_ns=loss_ns, output_bytes=0, saved_bytes=_LOSS_BYTES
    )
    chain = Chain(
        name=f"persistence figure {middle}-{first_ns}-{second_ns}-{loss_ns}",
        input_bytes=0,
        stages=(*stages, loss),
        provenance=Provenance(source="synthetic", note="a checkpoint is given up for a later one"),
    )
    kept_ns = first_ns + (middle + 1) * second_ns
    return PersistenceFigure(
        chain=chain,
        memory_bytes=_MEMORY_BYTES,
        persistent_ns=loss_ns + min(kept_ns, 3 * first_ns + 3 * second_ns),
        table_1_ns=loss_ns + min(kept_ns, 2 * first_ns + 3 * second_ns),
        least_ns=loss_ns + min(kept_ns, 2 * first_ns + 2 * second_ns),
    )
