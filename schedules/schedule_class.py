"""Classes of schedules: a bound holds for one of them, and a schedule belongs to one."""

from __future__ import annotations

from enum import StrEnum


class ScheduleClass(StrEnum):
    """A set of schedules over which a statement holds.

    ``persistent``
        On chains: what is checkpointed stays until its backward operation (RR-9302, Section 4.1).
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
    ``in-order``
        On graphs: first computations follow the order of the instance, and nodes are recomputed as
        often, and in whatever order, as inputs allow. Staged schedules are among them.
    ``all schedules``
        Every valid schedule of the problem.
    """

    PERSISTENT = "persistent"
    POFO = "pofo"
    STAGED = "staged"
    KIWI_REDUCED = "kiwi-reduced"
    IN_ORDER = "in-order"
    ALL = "all schedules"

    def covers(self, other: ScheduleClass) -> bool:
        """Tell whether every schedule of class `other` belongs to this class."""
        if self is ScheduleClass.IN_ORDER:
            return other in {self, ScheduleClass.STAGED, ScheduleClass.KIWI_REDUCED}
        if self is ScheduleClass.STAGED:
            return other in {self, ScheduleClass.KIWI_REDUCED}
        return self is ScheduleClass.ALL or self is other
