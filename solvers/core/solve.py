"""Entry points of the solvers: solve a problem, bound it, compare the methods on it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError
from jettison.schedules.core.any_schedule import Schedule
from jettison.solvers.core.certified import (
    with_certified_bounds,
)
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import check_problem, find_method, methods_of
from jettison.solvers.core.result import (
    Result,
    replay_schedule,
)
from jettison.solvers.core.solver_versions import solver_versions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

_LIMITS = {Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.MEMORY_LIMIT}


def solve(
    problem: Problem,
    method: str | None = None,
    *,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
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
        Share of the overhead that the method may leave open: see `jettison.solvers.core.gap`.
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
    with solver_versions() as versions:
        outcome = chosen.run(problem, options)
    seconds = time.perf_counter() - started
    result = Result.from_outcome(problem, chosen.name, outcome, seconds, versions)
    return replace(result, termination=_end_of(result, options))


def _end_of(result: Result, options: SolveOptions) -> Termination:
    """Return why a method stopped, without a limit that came after the problem was settled."""
    time_ns, bound_ns = result.time_ns, result.lower_bound_ns
    if result.termination not in _LIMITS or time_ns is None or bound_ns is None:
        return result.termination
    if time_ns == bound_ns:
        return Termination.COMPLETED
    if options.is_close_enough(time_ns, bound_ns, result.problem.base_time_ns):
        return Termination.GAP_REACHED
    return result.termination


def bound(
    problem: Problem,
    schedule: Schedule | None = None,
    method: str | None = None,
    *,
    certify: bool = False,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
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
    gap: float = 0.0,
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
    if len(problems) == 1 or chosen.solve_curve is None:
        for problem in problems:
            result = solve_with(problem, method, options)
            yield result
            if result.termination is Termination.INTERRUPTED:
                break
        return
    started = time.perf_counter()
    with solver_versions() as versions:
        outcomes = chosen.run_curve(problems, options)
    seconds = (time.perf_counter() - started) / len(problems)
    for problem, outcome in zip(problems, outcomes, strict=True):
        yield Result.from_outcome(problem, chosen.name, outcome, seconds, versions)


def _curves(problems: Sequence[Problem]) -> list[list[int]]:
    """Group the places of problems that differ in their memory only."""
    groups: dict[Problem, list[int]] = {}
    for place, problem in enumerate(problems):
        groups.setdefault(replace(problem, memory=0), []).append(place)
    return list(groups.values())
