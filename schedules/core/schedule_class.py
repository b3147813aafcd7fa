"""Schedule classes: a bound is valid for one class, and every schedule belongs to one."""

from __future__ import annotations

from enum import StrEnum


class ScheduleClass(StrEnum):
    r"""Class of schedules for which a bound is valid.

    ``persistent``
        On chains: what is checkpointed stays until its backward operation (RR-9302, Section 4.1).
        Nothing is dropped but by running an operation.
    ``persistent with drops``
        On chains: persistent, or persistent but for checkpoints that are dropped, at no cost,
        while all that the stage behind them saved stays (`DropRules` has the four rules).
    ``table-1``
        On chains: the sequences of the operations of RR-9302's Table 1, persistent or not. Memory
        is freed only by running one of them.
    ``pofo``
        On chains with a link: the operations are persistent, where an offloaded value counts as
        there; each value moves to the host at most once, and back at most once; before the backward
        of the loss starts all offloads have ended and what has a copy on the host and is dropped
        has left memory; and no prefetch starts before the forward of the loss and all offloads have
        ended (POFO, Section 3.2, assumptions 1 and 2).
    ``staged``
        On graphs: first computations follow the order of the instance, and between two of them
        each node is recomputed at most once, in that order (Checkmate's frontier-advancing form).
    ``kiwi-reduced``
        On sharded graphs: staged, and what is computed again, and when values are freed, follows
        KIWI's three simplifications (`ReducedRecomputation`).
    ``kiwi-elementwise``
        On sharded graphs: each forward operator is recomputed at most once, right before the first
        backward operator that needs it, and of two neighbours that are recomputed neither is a
        product of matrices (`ElementwiseRecomputation`); values are freed at any time. Those of
        KIWI's reduced problem are among them, and all of them are staged.
    ``saved-or-once``
        On graphs whose backward nodes are marked and come last: staged, the forward pass computes
        each node once, and the backward pass nothing again but forward nodes, each of them once at
        most, and only if its value is not read in the backward pass before: each value is saved
        between the passes, or recomputed once. So do compilers that partition a step in two.
    ``once``
        On graphs: each node is computed once, in any order. So a proof for this class says that
        every order needs more memory, or recomputation. The replay does not tell it apart: such a
        schedule is staged, or one of all schedules.
    ``in-order``
        On graphs: first computations follow the order of the instance, and nodes are recomputed as
        often, and in whatever order, as inputs allow. Staged schedules are among them.
    ``all schedules``
        Every valid schedule of the problem. On chains, with a link or without, whatever is in
        memory may be dropped at any time at no cost; :math:`\bar a^\ell` is held, dropped and
        moved as a whole.
    """

    PERSISTENT = "persistent"
    PERSISTENT_WITH_DROPS = "persistent with drops"
    TABLE_1 = "table-1"
    POFO = "pofo"
    STAGED = "staged"
    KIWI_REDUCED = "kiwi-reduced"
    KIWI_ELEMENTWISE = "kiwi-elementwise"
    SAVED_OR_ONCE = "saved-or-once"
    ONCE = "once"
    IN_ORDER = "in-order"
    ALL = "all schedules"

    def covers(self, other: ScheduleClass) -> bool:
        """Tell whether every schedule of class `other` belongs to this class."""
        return self in {ScheduleClass.ALL, other} or other in _WITHIN.get(self, frozenset())


_REDUCED = frozenset({ScheduleClass.KIWI_REDUCED})
_STAGED = _REDUCED | {ScheduleClass.KIWI_ELEMENTWISE, ScheduleClass.SAVED_OR_ONCE}
_WITHIN = {
    ScheduleClass.PERSISTENT_WITH_DROPS: frozenset({ScheduleClass.PERSISTENT}),
    ScheduleClass.TABLE_1: frozenset({ScheduleClass.PERSISTENT}),
    ScheduleClass.KIWI_ELEMENTWISE: _REDUCED,
    ScheduleClass.STAGED: _STAGED,
    ScheduleClass.IN_ORDER: _STAGED | {ScheduleClass.STAGED},
}
