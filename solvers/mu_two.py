r"""The method of µ-TWO, and the three others that its policy gives.

For each division of the models into pairs of sub-arrays, each pair is scheduled (`mu_two_policy`)
and executed; the division with the shortest iteration wins. Pairs of the same sizes are scheduled
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jettison.instances.multi_model_training import MultiModelTraining
from jettison.schedules.multi_model_schedule import MultiModelSchedule
from jettison.solvers.clock import Clock
from jettison.solvers.least_multi_model_memory import infeasibility
from jettison.solvers.mu_two_divisions import Division, paired_divisions
from jettison.solvers.mu_two_policy import OutOfMemoryStrategy
from jettison.solvers.mu_two_unit import ScheduledUnit, scheduled_unit
from jettison.solvers.outcome import Outcome, Problem, SolveOptions
from jettison.solvers.status import Termination


@dataclass(frozen=True, slots=True)
class ScheduledDivision:
    """One division of the models, with a schedule for each of its units.

    Attributes
    ----------
    division
        The sizes.
    time_ns
        The iteration; None where a unit does not fit.
    """

    division: Division
    time_ns: int | None


def scheduled_divisions(problem: MultiModelTraining) -> list[ScheduledDivision]:
    """Return every division of the models into pairs with the time that µ-TWO reaches, in order."""
    units = _PairSchedules(problem)
    return [
        ScheduledDivision(division, units.time_ns(division))
        for division in paired_divisions(problem.count, problem.instance.sizes)
    ]


class _PairSchedules:
    """The schedules of pairs, each made once."""

    def __init__(self, problem: MultiModelTraining) -> None:
        self._problem = problem
        self._found: dict[tuple[int, ...], ScheduledUnit | None] = {}

    def of(self, sizes: tuple[int, ...]) -> ScheduledUnit | None:
        if sizes not in self._found:
            self._found[sizes] = scheduled_unit(self._problem, sizes)
        return self._found[sizes]

    def time_ns(self, division: Division) -> int | None:
        total_ns = 0
        for sizes in division:
            unit = self.of(sizes)
            if unit is None:
                return None
            total_ns += unit.executed.time_ns
        return total_ns


def solve_mu_two(problem: Problem, options: SolveOptions) -> Outcome:
    """Schedule every division into pairs, and return the fastest that fits.

    Notes
    -----
    For T feature maps and n operators in each profile, time :math:`O(T^2 + T n)` for each of at
    most :math:`n` different pairs.
    """
    assert isinstance(problem, MultiModelTraining)
    refused = infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    units = _PairSchedules(problem)
    best: tuple[int, Division] | None = None
    divisions = 0
    termination = Termination.COMPLETED
    try:
        for division in paired_divisions(problem.count, problem.instance.sizes):
            if not clock.left_s:
                termination = Termination.TIME_LIMIT
                break
            divisions += 1
            time_ns = units.time_ns(division)
            if time_ns is not None and (best is None or time_ns < best[0]):
                best = time_ns, division
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    return Outcome(
        termination=termination,
        schedule=None if best is None else _schedule(map(units.of, best[1])),
        work={"divisions": divisions},
        note=None if best else "no division into pairs of sub-arrays fits",
    )


def _schedule(units: Iterable[ScheduledUnit | None]) -> MultiModelSchedule:
    return MultiModelSchedule(tuple(unit.executed.unit for unit in units if unit is not None))


def solve_hfta_capuchin(problem: Problem, options: SolveOptions) -> Outcome:
    """Fuse all models, and swap and recompute as the policy decides."""
    return _all_fused(problem, OutOfMemoryStrategy.HYBRID)


def solve_swap_only(problem: Problem, options: SolveOptions) -> Outcome:
    """Fuse all models, and swap those feature maps that are idle longest, as vDNN."""
    return _all_fused(problem, OutOfMemoryStrategy.SWAP)


def solve_recompute_only(problem: Problem, options: SolveOptions) -> Outcome:
    """Fuse all models, and recompute what takes least time for its size."""
    return _all_fused(problem, OutOfMemoryStrategy.RECOMPUTE)


def _all_fused(problem: Problem, strategy: OutOfMemoryStrategy) -> Outcome:
    assert isinstance(problem, MultiModelTraining)
    refused = infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    if problem.count not in problem.instance.sizes:
        return Outcome(
            termination=Termination.COMPLETED,
            note=f"there is no profile of {problem.count} fused models",
        )
    unit = scheduled_unit(problem, (problem.count,), strategy)
    if unit is None:
        return Outcome(
            termination=Termination.COMPLETED,
            note=f"{problem.count} fused models do not fit this way",
        )
    return Outcome(
        termination=Termination.COMPLETED,
        schedule=MultiModelSchedule((unit.executed.unit,)),
    )
