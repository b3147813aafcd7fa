"""Result of a method: a schedule that the replay has confirmed, with bounds and its gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING

from jettison.instances.core.card import card_keys
from jettison.instances.core.errors import InputError, JettisonError
from jettison.instances.core.link import link_keys
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_claim import ScheduleClaim
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.gap import gap_of, gap_of_step
from jettison.solvers.core.answers.summary import as_html, as_text, picture_title, result_rows
from jettison.solvers.core.bound import Bound, Evidence, best_bound, largest_bound
from jettison.solvers.core.outcome import Infeasibility, Outcome
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.status import Answer, Termination

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class InvalidScheduleError(JettisonError):
    """A method produced a schedule that its replay rejects: a defect of the method."""


class ContradictionError(JettisonError):
    """A replayed schedule is faster than a bound valid for it: a defect of the bound."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Replayed schedule of a problem, or the proof that none fits, with the bounds that hold.

    Attributes
    ----------
    problem
        Instance and memory.
    method
        Name of the method.
    schedule
        The schedule, or None. It is valid: a result with an invalid one cannot be made.
    bounds
        Lower bounds on the time, the time without recomputation always among them.
    termination
        Why the method stopped.
    infeasibility
        A proof that no schedule exists, or None.
    seconds
        Wall-clock time that the method took.
    work
        Counts that describe the effort.
    note
        One sentence for the user: why there is no schedule, or what else was tried.
    solver_versions
        The solvers that the method ran, by package, with their versions.

    Raises
    ------
    InvalidScheduleError
        If the replay of the schedule breaks a rule.
    ContradictionError
        If the schedule is faster than a bound that holds for its class.
    """

    problem: Problem
    method: str
    schedule: Schedule | None
    bounds: tuple[Bound, ...]
    termination: Termination
    infeasibility: Infeasibility | None = None
    seconds: float = 0.0
    work: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None
    solver_versions: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what was found; instance and schedule would fill pages."""
        gap = None if self.gap is None else round(self.gap, 6)
        return (
            f"<Result of {self.method} on {self.problem.problem} {self.problem.instance.name} in "
            f"{self.problem.memory_bytes} bytes: {self.status}, time_ns={self.time_ns}, "
            f"peak_bytes={self.peak_bytes}, lower_bound_ns={self.lower_bound_ns}, gap={gap}>"
        )

    def summary(self) -> str:
        """Return names and values, a line each: status, time, peak, bound, class and gap."""
        return as_text(result_rows(self))

    def _repr_html_(self) -> str:
        return as_html(result_rows(self))

    def plot(self, *, title: str | None = None) -> Figure:
        """Draw the schedule over time, as ``jettison solve --plot`` does.

        Parameters
        ----------
        title
            Title; by default the instance, the method, and what was found.

        Raises
        ------
        InputError
            If there is no schedule; the message says why.
        """
        if self.replay is None:
            raise InputError(
                f"{self.method} found no schedule ({self.status})",
                field="plot",
                expected="give more memory or time, or choose another method",
            )
        return kind_of(self.problem).picture(self.replay, title or picture_title(self))

    @classmethod
    def from_outcome(
        cls,
        problem: Problem,
        method: str,
        outcome: Outcome,
        seconds: float,
        solver_versions: Mapping[str, str] | None = None,
    ) -> Result:
        """Make the result of a method's outcome, replaying its schedule."""
        return cls(
            problem=problem,
            method=method,
            schedule=outcome.schedule,
            bounds=(base_time_bound(problem), *outcome.bounds),
            termination=outcome.termination,
            infeasibility=outcome.infeasibility,
            seconds=seconds,
            work=outcome.work,
            note=outcome.note,
            solver_versions=dict(solver_versions or {}),
        )

    def __post_init__(self) -> None:
        replay = self.replay
        if replay is None:
            return
        if not replay.valid:
            raise InvalidScheduleError(
                f"{self.method} produced a schedule that breaks a rule: {replay.violations[0]}"
            )
        if self.infeasibility and self.infeasibility.valid_for.covers(replay.schedule_class):
            raise ContradictionError(f"{self.method} found a schedule and a proof of none")
        bound = best_bound(self.bounds, replay.schedule_class)
        if bound is not None and bound.time_ns > replay.time_ns:
            raise ContradictionError(
                f"{self.method} took {replay.time_ns} ns, below the lower bound {bound.time_ns} ns "
                f"of {bound.method}, valid for {bound.valid_for}"
            )

    @cached_property
    def replay(self) -> Replay | None:
        """The replay of the schedule within the memory of the problem."""
        return None if self.schedule is None else replay_schedule(self.problem, self.schedule)

    @property
    def time_ns(self) -> int | None:
        """Replayed time of the schedule."""
        return None if self.replay is None else self.replay.time_ns

    @property
    def peak_bytes(self) -> int | None:
        """Replayed peak of the schedule."""
        return None if self.replay is None else self.replay.peak_bytes

    @property
    def claim(self) -> ScheduleClaim | None:
        """The claim that a file of the schedule holds; None for kinds whose files hold none."""
        if self.replay is None:
            return None
        make = kind_of(self.problem).schedules[0].claim
        return None if make is None else make(self.problem, self.replay)

    @cached_property
    def bound(self) -> Bound | None:
        """The bound that counts: the best one that holds for the schedule.

        Without a schedule, the largest of all.
        """
        return self._largest(self.bounds)

    @cached_property
    def certified_bound(self) -> Bound | None:
        """The best bound with a checked certificate that holds for the schedule, or None.

        Without a schedule, the largest with a certificate.
        """
        return self._largest(
            [bound for bound in self.bounds if bound.evidence is Evidence.CERTIFICATE]
        )

    @cached_property
    def bound_of_all(self) -> Bound | None:
        """The best bound that holds for all schedules, of whatever class the schedule is."""
        return best_bound(self.bounds, ScheduleClass.ALL)

    def _largest(self, bounds: Sequence[Bound]) -> Bound | None:
        if self.replay is not None:
            return best_bound(bounds, self.replay.schedule_class)
        return largest_bound(bounds)

    @property
    def certified_lower_bound_ns(self) -> int | None:
        """Value of the best bound with a checked certificate; None where there is none."""
        return None if self.certified_bound is None else self.certified_bound.time_ns

    @property
    def lower_bound_ns(self) -> int | None:
        """Value of the bound that counts."""
        return None if self.bound is None else self.bound.time_ns

    @property
    def gap(self) -> float | None:
        """The share of the overhead that is open: see `jettison.solvers.core.answers.gap`.

        None where the time or the bound is missing.
        """
        if self.time_ns is None or self.lower_bound_ns is None:
            return None
        return gap_of(self.time_ns, self.lower_bound_ns, self.problem.base_time_ns)

    @property
    def gap_of_step(self) -> float | None:
        """The share of the whole time that is open; None where the time or the bound is missing."""
        if self.time_ns is None or self.lower_bound_ns is None:
            return None
        return gap_of_step(self.time_ns, self.lower_bound_ns)

    @property
    def answer(self) -> Answer:
        """Status of the answer, within the class of schedules that the bound holds for."""
        if self.infeasibility is not None:
            return Answer.INFEASIBLE
        if self.time_ns is None:
            return Answer.UNKNOWN
        return Answer.OPTIMAL if self.time_ns == self.lower_bound_ns else Answer.FEASIBLE

    @property
    def status(self) -> str:
        """The answer in one word, with the class of schedules where it is not all of them.

        ``optimal``, ``optimal-persistent``, ``optimal-persistent-with-drops``,
        ``optimal-in-order``, ``optimal-staged``, ``optimal-kiwi-reduced``, ``feasible``,
        ``infeasible``, ``infeasible-persistent``, ``infeasible-staged``,
        ``infeasible-kiwi-reduced`` and so on; without a schedule or a proof of none ``bounded``
        (the method proved a bound), ``not-applicable`` (the instance lacks what the method is
        about), ``not-found`` (it came to its end, and its schedules do not fit) or ``unknown`` (it
        hit a limit).
        """
        schedule_class = ScheduleClass.ALL
        if self.answer is Answer.INFEASIBLE and self.infeasibility is not None:
            schedule_class = self.infeasibility.valid_for
        elif self.answer is Answer.OPTIMAL and self.bound is not None:
            schedule_class = self.bound.valid_for
        elif self.answer is Answer.UNKNOWN:
            if any(bound.method == self.method for bound in self.bounds):
                return "bounded"
            if self.termination is Termination.NOT_APPLICABLE:
                return "not-applicable"
            return "not-found" if self.termination.is_regular else "unknown"
        suffix = "" if schedule_class is ScheduleClass.ALL else f" {schedule_class}"
        return f"{self.answer}{suffix}".replace(" ", "-")

    def with_bounds(self, bounds: tuple[Bound, ...]) -> Result:
        """Return the same result judged against more bounds of the same problem."""
        return replace(self, bounds=tuple(dict.fromkeys((*self.bounds, *bounds))))

    def to_json(self) -> dict[str, object]:
        """Return the keys that every result has on the command line; absent values are None."""
        infeasible = self.infeasibility
        least_bytes = None if infeasible is None else infeasible.least_memory_bytes
        kind, link = kind_of(self.problem), self.problem.link
        return {
            "status": self.status,
            "termination": str(self.termination),
            "problem": self.problem.problem,
            "instance": self.problem.instance.name,
            "instance_sha256": self.problem.instance.sha256,
            "memory_bytes": self.problem.memory_bytes,
            **card_keys(self.problem.memory, self.peak_bytes, least_bytes),
            **link_keys(link),
            "transfers": kind.transfers(self.problem),
            "method": self.method,
            "time_ns": self.time_ns,
            "peak_bytes": self.peak_bytes,
            "base_time_ns": self.problem.base_time_ns,
            "lower_bound_ns": self.lower_bound_ns,
            "bound_method": None if self.bound is None else self.bound.method,
            "evidence": None if self.bound is None else str(self.bound.evidence),
            "valid_for": None if self.bound is None else str(self.bound.valid_for),
            **bound_of_all_keys(self.bound_of_all),
            **certified_keys(self.certified_bound),
            "gap": self.gap,
            **kind.spent(self.replay),
            "least_memory_bytes": least_bytes,
            "infeasible_for": None if infeasible is None else str(infeasible.valid_for),
            "needed_by": None if infeasible is None else infeasible.needed_by,
            "seconds": round(self.seconds, 6),
            "work": dict(self.work),
            "note": self.note,
            "versions": versions_key(self.solver_versions),
        }


def versions_key(solvers: Mapping[str, str]) -> dict[str, str]:
    """Return the JSON key for the versions of jettison and of the solvers that ran."""
    return {"jettison": metadata.version("jettison"), **solvers}


def bound_of_all_keys(bound: Bound | None) -> dict[str, object]:
    """Return the JSON keys of the bound for all schedules, beside the bound that counts."""
    return {
        "all_schedules_lower_bound_ns": None if bound is None else bound.time_ns,
        "all_schedules_bound_method": None if bound is None else bound.method,
    }


def certified_keys(bound: Bound | None) -> dict[str, object]:
    """Return the JSON keys of a bound with a certificate, beside the bound that counts."""
    return {
        "certified_lower_bound_ns": None if bound is None else bound.time_ns,
        "certified_valid_for": None if bound is None else str(bound.valid_for),
    }


def base_time_bound(problem: Problem) -> Bound:
    """Return the time without recomputation: every operation runs at least once."""
    return Bound(
        time_ns=problem.base_time_ns,
        valid_for=ScheduleClass.ALL,
        evidence=Evidence.EXACT,
        method="base-time",
    )


def replay_schedule(problem: Problem, schedule: Schedule) -> Replay:
    """Replay a schedule within the memory of its problem.

    Raises
    ------
    InputError
        If the schedule is of another kind than the problem.
    """
    kind = kind_of(problem)
    if not any(isinstance(schedule, item.schedule) for item in kind.schedules):
        known = " or ".join(item.schedule.__name__ for item in kind.schedules)
        raise InputError(
            f"{type(schedule).__name__} is not a schedule for {problem.problem}",
            field="schedule",
            expected=f"{problem.problem} takes a {known}",
        )
    return kind.replay(problem, schedule)
