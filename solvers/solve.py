"""The three questions: solve a problem, bound it, compare the methods on it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jettison.instances.errors import InputError
from jettison.schedules.any_schedule import Schedule
from jettison.schedules.replay import Replay
from jettison.solvers.bound import Bound, Evidence, largest_bound
from jettison.solvers.certified import (
    certificate_for,
    certified_bound,
    proof_to_certify,
    with_certified_bounds,
)
from jettison.solvers.method import Promise
from jettison.solvers.methods import find_method, methods_of
from jettison.solvers.outcome import Problem, SolveOptions, check_problem
from jettison.solvers.result import (
    Result,
    base_time_bound,
    base_time_of,
    certified_keys,
    link_of,
    overheads_of,
    replay_schedule,
    transfers_of,
)
from jettison.solvers.status import Termination

if TYPE_CHECKING:
    import pandas as pd

    from jettison.solvers.proof.certificate import Certificate


def solve(
    problem: Problem,
    method: str | None = None,
    *,
    time_limit: float | None = 60.0,
    gap: float = 1e-4,
    threads: int = 1,
    seed: int = 0,
) -> Result:
    """Solve a problem: a replayed schedule with the best bound that the method knows.

    Parameters
    ----------
    problem
        Instance and memory.
    method
        Name of the method; None for the problem's default.
    time_limit
        Wall-clock seconds; None for no limit.
    gap
        Relative gap at which the method may stop.
    threads, seed
        For methods that use them.

    Raises
    ------
    InputError
        If it is no problem, the method is unknown, or an option is out of range.
    """
    check_problem(problem)
    options = SolveOptions(time_limit_s=time_limit, gap=gap, threads=threads, seed=seed)
    return solve_with(problem, method, options)


def solve_with(problem: Problem, method: str | None, options: SolveOptions) -> Result:
    """Solve a problem with options that are made already; see `solve`."""
    chosen = find_method(problem.problem, method)
    started = time.perf_counter()
    outcome = chosen.run(problem, options)
    return Result.from_outcome(problem, chosen.name, outcome, time.perf_counter() - started)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What can be said of a problem's best time, and of a schedule for it.

    Attributes
    ----------
    problem
        Instance and memory.
    replay
        The replay of the schedule that was given, valid or not; None if none was given.
    results
        What the methods that bound the problem found.
    certificate
        A checked certificate of a bound, or of the fact that nothing fits; None where none was
        asked for (`certified`) or could be made.
    certified_bound
        The bound that the certificate proves; None without a certificate, or if it proves that
        nothing fits.
    """

    problem: Problem
    replay: Replay | None
    results: tuple[Result, ...]
    certificate: Certificate | None = None
    certified_bound: Bound | None = None

    @property
    def bounds(self) -> list[Bound]:
        """All bounds that are known, and hold for the schedule if a valid one was given."""
        bounds = [bound for result in self.results for bound in result.bounds]
        bounds.append(base_time_bound(self.problem))
        if self.certified_bound is not None:
            bounds.append(self.certified_bound)
        if self.replay is None or not self.replay.valid:
            return bounds
        schedule_class = self.replay.schedule_class
        return [bound for bound in bounds if bound.valid_for.covers(schedule_class)]

    @property
    def bound(self) -> Bound | None:
        """The best bound that holds for the schedule; without one, the largest of all."""
        return largest_bound(self.bounds)

    @property
    def found_bound(self) -> Bound | None:
        """The best bound that a method found, as `bound` is, but for what a certificate adds."""
        return largest_bound(
            bound for bound in self.bounds if bound.evidence is not Evidence.CERTIFICATE
        )

    def certified(self, options: SolveOptions) -> Verdict:
        """Return the verdict with a certificate, of the best bound that could be proved in time.

        Of the bounds that hold for the schedule, if there is one. The time limit of `options` is
        the certificate's own. After a Ctrl-C nothing more is begun.
        """
        if any(result.termination is Termination.INTERRUPTED for result in self.results):
            return self
        has_schedule = self.replay is not None and self.replay.valid
        refuted = None if has_schedule else proof_to_certify(self.results)
        certificate = certificate_for(self.problem, self.bounds, refuted, options)
        if certificate is None:
            return self
        bound = certified_bound(self.problem, certificate)
        return replace(self, certificate=certificate, certified_bound=bound)

    @property
    def gap(self) -> float | None:
        """(time - bound) / time of a valid schedule."""
        if self.replay is None or not self.replay.valid or self.bound is None:
            return None
        time_ns = self.replay.time_ns
        return (time_ns - self.bound.time_ns) / time_ns if time_ns else 0.0

    @property
    def infeasible(self) -> Result | None:
        """The result that proves that no schedule fits, if one does."""
        return next((item for item in self.results if item.infeasibility is not None), None)

    @property
    def seconds(self) -> float:
        """Wall-clock time of all methods together."""
        return sum(result.seconds for result in self.results)

    @property
    def status(self) -> str:
        """``valid``, ``invalid``, ``infeasible...`` or ``bounded``."""
        if self.replay is not None:
            return "valid" if self.replay.valid else "invalid"
        return "bounded" if self.infeasible is None else self.infeasible.status

    def __repr__(self) -> str:
        """Say in one line what is known; the results would fill pages."""
        time_ns = None if self.replay is None else self.replay.time_ns
        return (
            f"<Verdict on {self.problem.problem} {self.problem.instance.name} in "
            f"{self.problem.memory_bytes} bytes: {self.status}, time_ns={time_ns}, "
            f"bound={self.bound}, gap={self.gap}>"
        )

    def to_json(self) -> dict[str, object]:
        """Return the keys that the command line prints; absent values are None."""
        proof = None if self.infeasible is None else self.infeasible.infeasibility
        link = link_of(self.problem)
        return {
            "status": self.status,
            "problem": self.problem.problem,
            "instance": self.problem.instance.name,
            "instance_sha256": self.problem.instance.sha256,
            "memory_bytes": self.problem.memory_bytes,
            "bandwidth_bytes_per_s": None if link is None else link.bytes_per_s,
            "transfers": transfers_of(self.problem),
            "method": None if self.bound is None else self.bound.method,
            "time_ns": None if self.replay is None else self.replay.time_ns,
            "peak_bytes": None if self.replay is None else self.replay.peak_bytes,
            "base_time_ns": base_time_of(self.problem),
            "lower_bound_ns": None if self.bound is None else self.bound.time_ns,
            "evidence": None if self.bound is None else str(self.bound.evidence),
            "valid_for": None if self.bound is None else str(self.bound.valid_for),
            "schedule_class": None if self.replay is None else str(self.replay.schedule_class),
            **certified_keys(self.certified_bound),
            "gap": self.gap,
            **overheads_of(self.problem, self.replay),
            "least_memory_bytes": None if proof is None else proof.least_memory_bytes,
            "needed_by": None if proof is None else proof.needed_by,
            "violations": []
            if self.replay is None
            else [str(violation) for violation in self.replay.violations],
            "seconds": round(self.seconds, 6),
        }


def bound(
    problem: Problem,
    schedule: Schedule | None = None,
    method: str | None = None,
    *,
    certify: bool = False,
    time_limit: float | None = 60.0,
    gap: float = 1e-4,
    threads: int = 1,
    seed: int = 0,
) -> Verdict:
    """Bound the time of a problem from below, and judge a schedule for it.

    Parameters
    ----------
    problem
        Instance and memory.
    schedule
        Somebody's schedule; it is replayed, and every rule it breaks is named.
    method
        The method whose bound is wanted; None for every method of the problem that proves one.
    certify
        Whether a certificate is wanted as well: ``verdict.certificate.save(path)`` writes it.
    time_limit, gap, threads, seed
        As for `solve`, for each of these methods, and for the certificate.

    Raises
    ------
    InputError
        If it is no problem, the method is unknown or proves no bound, or an option is out of
        range.
    """
    check_problem(problem)
    options = SolveOptions(time_limit_s=time_limit, gap=gap, threads=threads, seed=seed)
    verdict = bound_with(problem, schedule, method, options)
    return verdict.certified(options) if certify else verdict


def bound_with(
    problem: Problem, schedule: Schedule | None, method: str | None, options: SolveOptions
) -> Verdict:
    """Bound a problem with options that are made already; see `bound`."""
    proving = [item for item in methods_of(problem.problem) if item.promise != Promise.HEURISTIC]
    if method is not None:
        chosen = find_method(problem.problem, method)
        if chosen not in proving:
            raise InputError(
                f"{method!r} proves no bound",
                field="method",
                expected=f"choose one of {', '.join(item.name for item in proving)}",
            )
        proving = [chosen]
    replay = None if schedule is None else replay_schedule(problem, schedule)
    results: list[Result] = []
    try:
        for item in proving:
            results.append(solve_with(problem, item.name, options))
            _stop_if_interrupted(results)
    except KeyboardInterrupt:
        if not results:
            raise
    return Verdict(problem=problem, replay=replay, results=tuple(results))


def compare(
    problem: Problem | Sequence[Problem],
    methods: Iterable[str] | None = None,
    *,
    certify: bool = False,
    time_limit: float | None = 60.0,
    gap: float = 1e-4,
    threads: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Run several methods on a problem (or on several) and return one row each.

    Every row is judged against the best bound that any method proved for its problem. Times and
    amounts are whole numbers (``Int64``), with missing values where there are none.

    Parameters
    ----------
    problem
        One problem, or several: the same instance in several memories, say.
    methods
        Names of methods; None for every method of each problem.
    certify
        Whether to certify the best bound of each problem: ``certified_lower_bound_ns``.
    time_limit, gap, threads, seed
        As for `solve`, for each run, and for each certificate.

    Raises
    ------
    InputError
        If something is no problem, a method is unknown, or an option is out of range.
    """
    import pandas as pd

    options = SolveOptions(time_limit_s=time_limit, gap=gap, threads=threads, seed=seed)
    problems = problem if isinstance(problem, Sequence) else [problem]
    for item in problems:
        check_problem(item)
    # A text is a sequence of texts as well: of its letters.
    chosen = [methods] if isinstance(methods, str) else None if methods is None else list(methods)
    results = compare_all(problems, chosen, options)
    if certify:
        results = with_certified_bounds(results, options)
    frame = pd.DataFrame([result.to_json() for result in results])
    for column in frame.columns:
        if column.endswith(("_ns", "_bytes", "_per_s")):
            frame[column] = frame[column].astype("Int64")
    return frame


def compare_all(
    problems: Sequence[Problem], methods: Sequence[str] | None, options: SolveOptions
) -> list[Result]:
    """Run methods on several problems; the results of one problem follow each other.

    Problems that differ in their memory only are given together to the methods that gain from it;
    the seconds of such a method are shared out evenly. Ctrl-C ends it all, with the results that
    there are.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C before there is any result.
    """
    results = [list[Result]() for _ in problems]
    try:
        for group in _curves(problems):
            names = methods or [item.name for item in methods_of(problems[group[0]].problem)]
            for name in names:
                curve = _solve_curve([problems[place] for place in group], name, options)
                # Ctrl-C may leave fewer results than problems.
                for place, result in zip(group, curve, strict=False):
                    results[place].append(result)
                _stop_if_interrupted(results[place][-1] for place in group if results[place])
    except KeyboardInterrupt:
        if not any(results):
            raise
    return [result for column in results for result in _judged_together(column)]


def compare_with(
    problem: Problem, methods: Sequence[str] | None, options: SolveOptions
) -> list[Result]:
    """Run methods on one problem.

    The result of a method that looks for schedules knows the bounds of all of them; that of a
    method that only bounds shows its own.
    """
    return compare_all([problem], methods, options)


def _stop_if_interrupted(results: Iterable[Result]) -> None:
    """Pass on the Ctrl-C that a method has taken for its own end."""
    if any(result.termination is Termination.INTERRUPTED for result in results):
        raise KeyboardInterrupt


def _judged_together(results: Sequence[Result]) -> list[Result]:
    bounds = tuple(bound for result in results for bound in result.bounds)
    return [
        result
        if find_method(result.problem.problem, result.method).promise is Promise.BOUND
        else result.with_bounds(bounds)
        for result in results
    ]


def _solve_curve(
    problems: Sequence[Problem], method: str, options: SolveOptions
) -> Iterator[Result]:
    chosen = find_method(problems[0].problem, method)
    if len(problems) == 1 or chosen.curve_entry is None:
        for problem in problems:
            result = solve_with(problem, method, options)
            yield result
            if result.termination is Termination.INTERRUPTED:
                break
        return
    started = time.perf_counter()
    outcomes = chosen.run_curve(problems, options)
    seconds = (time.perf_counter() - started) / len(problems)
    for problem, outcome in zip(problems, outcomes, strict=True):
        yield Result.from_outcome(problem, chosen.name, outcome, seconds)


def _curves(problems: Sequence[Problem]) -> list[list[int]]:
    """Group the places of problems that differ in their memory only."""
    groups: dict[Problem, list[int]] = {}
    for place, problem in enumerate(problems):
        groups.setdefault(replace(problem, memory=0), []).append(place)
    return list(groups.values())
