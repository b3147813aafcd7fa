"""Verdict of a replay: time, peak, memory over time, and every violation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from jettison.schedules.core.schedule_class import ScheduleClass


class Rule(StrEnum):
    """Rule that a schedule can break."""

    INPUT_MISSING = "input missing"
    OUT_OF_MEMORY = "out of memory"
    NOT_IN_MEMORY = "not in memory"
    IN_MEMORY_ALREADY = "in memory already"
    NO_COPY = "no copy on the host"
    NOT_MOVABLE = "never leaves the device"
    WRONG_GRADIENT = "wrong gradient"
    UNKNOWN_OPERATION = "unknown operation"
    UNFINISHED = "unfinished"
    NOT_KEPT = "not kept"
    OUT_OF_ORDER = "out of order"
    BUSY = "busy"
    IN_USE = "in use"
    COMPUTED_TWICE = "computed twice"
    NOT_PERIODIC = "not as at the start of the period"
    ADDRESS_TAKEN = "address taken"
    MISALIGNED = "misaligned"
    FORBIDDEN_STRATEGY = "forbidden strategy"
    FORBIDDEN_PAIR = "forbidden with"


class Phase(StrEnum):
    """Kinds of operations, as pictures tell them apart."""

    FREEING = "freeing"
    FIRST = "first computation"
    AGAIN = "recomputation"
    FORWARD = "forward"
    FORWARD_AGAIN = "recomputed forward"
    BACKWARD = "backward"


# How schedules of chains and of graphs write these operations; others are forward operations.
FREE, DROP = "free", "D"
COMPUTE = "compute"
BACKWARD = "B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Violation: one rule broken by one operation.

    Attributes
    ----------
    rule
        The broken rule.
    position
        Index of the operation in the sequence, or None if no single one breaks it.
    operation
        The operation as the schedule writes it, ``end``, or a time of the instance.
    tensor
        The tensor concerned: the one that is missing, or the output that does not fit.
    bytes_over
        For ``out of memory`` the bytes needed beyond the limit, else 0.
    """

    rule: Rule
    position: int | None
    operation: str
    tensor: str
    bytes_over: int = 0

    def __str__(self) -> str:
        where = f"at the {self.operation}"
        if self.position is not None:
            where = f"operation {self.position}"
        label = "" if self.position is None else f" ({self.operation})"
        over = f", {self.bytes_over} bytes over the limit" if self.bytes_over else ""
        return f"{where}{label}: {self.rule}: {self.tensor}{over}"


@dataclass(frozen=True, slots=True)
class Step:
    """Record of one operation in a replay: its time and its memory.

    Attributes
    ----------
    operation
        The operation as the schedule writes it.
    start_ns, end_ns
        Start and end of the operation.
    during_bytes
        Memory in use while it ran: all that was stored, its outputs, its overhead.
    after_bytes
        Memory in use after it.
    repeated
        True if the same computation had run before.
    """

    operation: str
    start_ns: int
    end_ns: int
    during_bytes: int
    after_bytes: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class Transfer:
    """Record of one transfer of a tensor between the accelerator and the host.

    Attributes
    ----------
    operation
        The operation as the schedule writes it.
    start_ns, end_ns
        Start and end of the transfer.
    size_bytes
        Size of the tensor.
    to_host
        The direction.
    """

    operation: str
    start_ns: int
    end_ns: int
    size_bytes: int
    to_host: bool


@dataclass(frozen=True)
class Replay:
    """Verdict of an exact-integer replay: time, peak, memory over time, and violations.

    Attributes
    ----------
    steps
        Every computation in order, with its time and memory.
    peak_bytes
        Largest memory in use at any time, the start included.
    limit_bytes
        The memory limit, or None if none was given.
    violations
        Every broken rule, in order; the schedule is valid if there is none.
    schedule_class
        The smallest class known to hold this schedule.
    transfers
        Every transfer between accelerator and host, in order of the schedule.
    period_ns
        Where the schedule repeats, the time of one step; None elsewhere.
    memory_profile
        Where the schedule repeats, (time, bytes in use from then on) over one period, ascending;
        empty elsewhere, where `steps` hold it all.
    """

    steps: tuple[Step, ...]
    peak_bytes: int
    limit_bytes: int | None
    violations: tuple[Violation, ...]
    schedule_class: ScheduleClass
    transfers: tuple[Transfer, ...] = ()
    period_ns: int | None = None
    memory_profile: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        found = "valid" if self.valid else f"{len(self.violations)} broken rules"
        return (
            f"<Replay of {len(self.steps)} computations: {found}, {self.schedule_class}, "
            f"time_ns={self.time_ns}, peak_bytes={self.peak_bytes}>"
        )

    @property
    def clock(self) -> str:
        """Unit of the times: ``ns``, or ``instance`` where the instance's times have no unit."""
        return "ns"

    @property
    def remark(self) -> str:
        """Remark on the peak, beside its bytes; empty where there is nothing to say."""
        return ""

    def phase_of(self, step: Step) -> Phase:
        """Tell what an operation does, from its text."""
        word = step.operation.split(" ", 1)[0]
        if word in {FREE, DROP}:
            return Phase.FREEING
        if word == COMPUTE:
            return Phase.AGAIN if step.repeated else Phase.FIRST
        if word == BACKWARD:
            return Phase.BACKWARD
        return Phase.FORWARD_AGAIN if step.repeated else Phase.FORWARD

    def lane_of(self, _: Step) -> str | None:
        """Return the lane of an operation where there are several to compute in, else None."""
        return None

    @property
    def valid(self) -> bool:
        """Whether no rule was broken."""
        return not self.violations

    @cached_property
    def time_ns(self) -> int:
        """Duration of the whole sequence, or of one period."""
        if self.period_ns is not None:
            return self.period_ns
        return self.steps[-1].end_ns if self.steps else 0
