"""Options and outcome of a method, before the replay has judged its schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.gap import most_open_ns
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.status import Termination

# A solver that starts more has no time left to solve.
MOST_THREADS = 1024
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a running method; values that are not known yet are None."""

    seconds: float
    time_ns: int | None
    lower_bound_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """Options that mean the same for every method.

    Attributes
    ----------
    time_limit_s
        Wall-clock seconds after which the method stops with the best so far; None for no limit.
    gap
        Share of the overhead that it may leave open: see `jettison.solvers.core.answers.gap`.
    threads, seed
        For methods that use several threads, or chance.
    most_moves
        Work after which a method that counts it stops, in moves of annealing that take as long
        (`jettison.solvers.core.work`): the same on every machine. None for no limit.
    on_progress
        Called now and then while the method runs.
    on_schedule, on_bound
        Called with each better schedule and its replay, and with each larger bound.
    start
        A schedule to begin from, which fits.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    time_limit_s: float | None = 60.0
    gap: float = 0.0
    threads: int = 1
    seed: int = 0
    most_moves: int | None = None
    on_progress: Callable[[Progress], None] | None = None
    on_schedule: Callable[[Any, Replay], None] | None = None
    on_bound: Callable[[Bound], None] | None = None
    start: Schedule | None = None

    def __post_init__(self) -> None:
        if self.time_limit_s is not None and not self.time_limit_s > 0:
            raise InputError(
                f"{self.time_limit_s} seconds",
                field="time_limit",
                expected="write a positive number of seconds",
            )
        if not 0 <= self.gap < 1:
            raise InputError(f"{self.gap}", field="gap", expected="write a number from 0 to 1")
        if not 1 <= self.threads <= MOST_THREADS:
            raise InputError(
                f"{self.threads}", field="threads", expected=f"write 1 to {MOST_THREADS}"
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InputError(f"{self.seed}", field="seed", expected=f"write 0 to {LARGEST_SEED}")

    def quiet(self) -> SolveOptions:
        """Return the options for a search inside another one, of which nobody hears."""
        return replace(self, on_progress=None, on_schedule=None, on_bound=None, start=None)

    def is_close_enough(self, time_ns: int, bound_ns: int, base_ns: int) -> bool:
        """Tell whether a bound is as close to a schedule's time as was asked for."""
        return time_ns - bound_ns <= most_open_ns(self.gap, time_ns, base_ns)


# No limit, and nobody to tell.
SILENT = SolveOptions(time_limit_s=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Infeasibility:
    """Proof that no schedule of the class `valid_for` fits in the given memory.

    Attributes
    ----------
    least_memory_bytes
        If `is_exact`, an amount in which a schedule exists: the least one for the schedules that
        the method looks at. Else a lower bound on what is needed. None if no memory would do:
        forbidden strategies and pairs leave no choice.
    is_exact
        Whether `least_memory_bytes` would do.
    needed_by
        The operation that needs so much; None where none is known.
    formulation
        The model without points, as `Bound` has it.
    """

    valid_for: ScheduleClass
    least_memory_bytes: int | None
    is_exact: bool
    evidence: Evidence = Evidence.EXACT
    needed_by: str | None = None
    formulation: Mapping[str, object] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of a method: a schedule, bounds, or the proof that nothing fits.

    Attributes
    ----------
    termination
        Why it stopped.
    schedule
        The best schedule, not yet replayed, or None.
    bounds
        Lower bounds on the time, each valid for a class of schedules.
    infeasibility
        A proof that there is no schedule, if it found one.
    work
        Counts that describe the effort: nodes, slots, rows.
    note
        One sentence for the user: why there is no schedule, or what else was tried. An outcome of
        `Termination.NOT_APPLICABLE` has one, which says what the instance lacks.
    """

    termination: Termination
    schedule: Schedule | None = None
    bounds: tuple[Bound, ...] = ()
    infeasibility: Infeasibility | None = None
    work: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None

    def __post_init__(self) -> None:
        # A defect of the method, not of what somebody asked.
        assert self.note or self.termination is not Termination.NOT_APPLICABLE

    @classmethod
    def not_applicable(cls, reason: str) -> Outcome:
        """Return the outcome of a method that does not apply to the instance, and why."""
        return cls(termination=Termination.NOT_APPLICABLE, note=reason)
