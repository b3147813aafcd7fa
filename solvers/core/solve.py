"""Entry points of the solvers: solve a problem, bound it, compare the methods on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import InputError
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_file import load_schedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.certified import (
    with_certified_bounds,
)
from jettison.solvers.core.heard import Heard
from jettison.solvers.core.method import Method, Promise
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import ParamsGiven
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import check_problem, find_method, kind_of, methods_of
from jettison.solvers.core.result import (
    Result,
    replay_schedule,
)
from jettison.solvers.core.solver_versions import solver_versions
from jettison.solvers.core.status import Termination
from jettison.solvers.core.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

HeardBy = Callable[[SolveOptions, Problem, str], SolveOptions]
"""Returns the options of one run among several, with callbacks that know problem and method."""

_LIMITS = {Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.MEMORY_LIMIT}


def solve(
    problem: Problem,
    method: str | None = None,
    *,
    params: ParamsGiven | None = None,
    start: Schedule | str | Path | None = None,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    on_schedule: Callable[[Schedule, Replay], None] | None = None,
    on_bound: Callable[[Bound], None] | None = None,
) -> Result:
    """Solve a problem: a replayed schedule with the best bound that the method knows.

    Parameters
    ----------
    problem
        Instance and memory.
    method
        Name of the method; None for the problem's default.
    params
        Parameters of the method, some of them by name or all in its own type: see
        ``jettison list methods PROBLEM -v``.
    start
        A schedule that fits, or its file. Methods that can do so begin from it, and the answer is
        no slower.
    time_limit
        Wall-clock seconds; None for no limit.
    gap
        Share of the overhead that may stay open: see `jettison.solvers.core.answers.gap`.
    threads, seed
        For methods that use them.
    on_schedule, on_bound
        Called with each better schedule and its replay, and with each larger bound: while the
        method runs, if it searches, and at its end. A `KeyboardInterrupt` from there ends it.

    Raises
    ------
    InputError
        If it is no problem, the method is unknown, an option is out of range, or the start breaks
        a rule.
    """
    check_problem(problem)
    options = SolveOptions(
        time_limit_s=time_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        on_schedule=on_schedule,
        on_bound=on_bound,
        start=_read(start, problem),
    )
    return solve_with(problem, method, options, params)


def _read(schedule: Schedule | str | Path | None, problem: Problem) -> Schedule | None:
    """Return a schedule, read from its file where a path is given."""
    if isinstance(schedule, str | Path):
        return load_schedule(schedule, problem.instance)
    return schedule


def solve_with(
    problem: Problem,
    method: str | None,
    options: SolveOptions,
    params: ParamsGiven | None = None,
) -> Result:
    """Solve a problem with options that are made already; see `solve`."""
    chosen = find_method(problem.problem, method).with_params(params)
    if options.start is not None:
        _check_start(problem, chosen, options.start)
    heard = Heard(options)
    started = time.perf_counter()
    with solver_versions() as versions:
        outcome = chosen.run(problem, heard.options)
    seconds = time.perf_counter() - started
    outcome = _no_slower_than_the_start(problem, outcome, options.start)
    result = Result.from_outcome(problem, chosen.name, outcome, seconds, versions)
    _tell(heard, result, outcome)
    end = _end_of(result, options)
    # A copy would replay the schedule once more.
    return result if end is result.termination else replace(result, termination=end)


def _tell(heard: Heard, result: Result, outcome: Outcome) -> None:
    """Tell what a method has found and not told while it ran."""
    if result.schedule is not None and result.replay is not None:
        heard.schedule(result.schedule, result.replay)
    heard.bounds(outcome.bounds)


def _check_start(problem: Problem, method: Method[Any], start: Schedule) -> None:
    if method.promise is Promise.BOUND:
        raise InputError(
            f"{method.name} proves a bound and makes no schedule",
            field="start",
            expected="leave it out, or choose a method that makes schedules",
        )
    replay = replay_schedule(problem, start)
    if not replay.valid:
        raise InputError(
            f"the schedule breaks a rule: {replay.violations[0]}",
            field="start",
            expected="give one that fits in the memory of the problem",
        )


def _no_slower_than_the_start(
    problem: Problem, outcome: Outcome, start: Schedule | None
) -> Outcome:
    if start is None:
        return outcome
    found = None if outcome.schedule is None else replay_schedule(problem, outcome.schedule)
    if found is not None and found.time_ns <= replay_schedule(problem, start).time_ns:
        return outcome
    return replace(outcome, schedule=start)


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
    schedule: Schedule | str | Path | None = None,
    method: str | None = None,
    *,
    params: Mapping[str, ParamsGiven] | None = None,
    certify: bool = False,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    on_bound: Callable[[Bound], None] | None = None,
) -> Verdict:
    """Bound the time of a problem from below, and judge a schedule for it.

    Parameters
    ----------
    problem
        Instance and memory.
    schedule
        Somebody's schedule, or its file; it is replayed, and every rule it breaks is named.
    method
        The method whose bound is wanted; None for every method of the problem that proves one.
    params
        Parameters of methods, by the name of the method; see `solve`.
    certify
        Whether a certificate is wanted as well: ``verdict.certificate.save(path)`` writes it.
    time_limit, gap, threads, seed
        As for `solve`, for each of these methods, and for the certificate.
    on_bound
        Called with each larger bound; each says which method found it.

    Raises
    ------
    InputError
        If it is no problem, the method is unknown or proves no bound, or an option is out of
        range.
    """
    check_problem(problem)
    options = SolveOptions(
        time_limit_s=time_limit, gap=gap, threads=threads, seed=seed, on_bound=on_bound
    )
    verdict = bound_with(problem, _read(schedule, problem), method, options, params)
    return verdict.certified(options) if certify else verdict


def bound_with(
    problem: Problem,
    schedule: Schedule | None,
    method: str | None,
    options: SolveOptions,
    params: Mapping[str, ParamsGiven] | None = None,
) -> Verdict:
    """Bound a problem with options that are made already; see `bound`."""
    given = checked_params(problem.problem, params)
    methods = methods_of(problem.problem)
    proving = [item for item in methods if item.promise != Promise.HEURISTIC]
    if method is not None:
        chosen = find_method(problem.problem, method)
        if chosen not in proving:
            raise InputError(
                f"{method!r} proves no bound",
                field="method",
                expected=f"choose one of {', '.join(item.name for item in proving)}",
            )
        proving = [chosen]
    else:
        proving = [item for item in proving if not item.bounds_of]
    replay = None if schedule is None else replay_schedule(problem, schedule)
    # What one method has told is not told again by another.
    options = Heard(options).options
    results: list[Result] = []
    try:
        for item in proving:
            results.append(solve_with(problem, item.name, options, given.get(item.name)))
            _stop_if_interrupted(results)
    except KeyboardInterrupt:
        if not results:
            raise
    return Verdict(problem=problem, replay=replay, results=tuple(results))


def compare(
    problem: Problem | Sequence[Problem],
    methods: Iterable[str] | None = None,
    *,
    params: Mapping[str, ParamsGiven] | None = None,
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
    params
        Parameters of methods, by the name of the method; see `solve`.
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
    results = compare_all(problems, chosen, options, params)
    if certify:
        results = with_certified_bounds(results, options)
    frame = pd.DataFrame(
        [
            {
                **result.to_json(),
                "reference_time_ns": kind_of(result.problem).reference(result.problem).time_ns,
            }
            for result in results
        ]
    )
    for column in frame.columns:
        if column.endswith(("_ns", "_bytes", "_per_s")):
            frame[column] = frame[column].astype("Int64")
    return frame


def compare_all(
    problems: Sequence[Problem],
    methods: Sequence[str] | None,
    options: SolveOptions,
    params: Mapping[str, ParamsGiven] | None = None,
    heard_by: HeardBy | None = None,
) -> list[Result]:
    """Run methods on several problems; the results of one problem follow each other.

    Problems that differ in their memory only are given together to the methods that gain from it;
    the seconds of such a method are shared out evenly, and what it found is told at its end. Ctrl-C
    ends it all, with the results that there are.

    Parameters
    ----------
    problems, methods, options, params
        As for `compare`.
    heard_by
        Returns the options with the callbacks of one run.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C before there is any result.
    """
    results = [list[Result]() for _ in problems]
    try:
        for group in _curves(problems):
            names = methods or [item.name for item in methods_of(problems[group[0]].problem)]
            given = checked_params(problems[group[0]].problem, params)
            for name in names:
                asked = [problems[place] for place in group]
                curve = _solve_curve(asked, name, options, given.get(name), heard_by)
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


def checked_params(
    problem: str, params: Mapping[str, ParamsGiven] | None
) -> Mapping[str, ParamsGiven]:
    """Return the parameters of methods, by the name of the method, after looking at all of them.

    Raises
    ------
    InputError
        If the problem has no such method, the method no such parameter, or a value is wrong; the
        field is named with the method.
    """
    for name, given in (params or {}).items():
        try:
            find_method(problem, name).with_params(given)
        except InputError as error:
            prefix = "" if error.field == "method" else name
            raise error.within(prefix=prefix) from None
    return params or {}


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
    problems: Sequence[Problem],
    method: str,
    options: SolveOptions,
    params: ParamsGiven | None,
    heard_by: HeardBy | None,
) -> Iterator[Result]:
    def options_of(problem: Problem) -> SolveOptions:
        return options if heard_by is None else heard_by(options, problem, method)

    chosen = find_method(problems[0].problem, method).with_params(params)
    if len(problems) == 1 or chosen.solve_curve is None:
        for problem in problems:
            result = solve_with(problem, method, options_of(problem), params)
            yield result
            if result.termination is Termination.INTERRUPTED:
                break
        return
    started = time.perf_counter()
    with solver_versions() as versions:
        outcomes = chosen.run_curve(problems, options)
    seconds = (time.perf_counter() - started) / len(problems)
    for problem, outcome in zip(problems, outcomes, strict=True):
        result = Result.from_outcome(problem, chosen.name, outcome, seconds, versions)
        _tell(Heard(options_of(problem)), result, outcome)
        yield result


def _curves(problems: Sequence[Problem]) -> list[list[int]]:
    """Group the places of problems that differ in their memory only."""
    groups: dict[Problem, list[int]] = {}
    for place, problem in enumerate(problems):
        groups.setdefault(replace(problem, memory=0), []).append(place)
    return list(groups.values())
