r"""The method of µ-TWO, and the three others that its policy gives.

For each division of the models into pairs of sub-arrays, each pair is scheduled (`mu_two_policy`)
and executed; the division with the shortest iteration wins. Pairs of the same sizes are scheduled
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jettison.instances.multi_model_training import MultiModelTraining
from jettison.instances.units import format_ns
from jettison.schedules.multi_model_schedule import MultiModelSchedule
from jettison.solvers.clock import Clock
from jettison.solvers.least_multi_model_memory import multi_model_infeasibility
from jettison.solvers.mu_two_divisions import paired_divisions
from jettison.solvers.mu_two_policy import OutOfMemoryStrategy
from jettison.solvers.mu_two_unit import ScheduledUnit, scheduled_unit
from jettison.solvers.multi_model_units import Sizes
from jettison.solvers.outcome import Outcome, Problem, SolveOptions
from jettison.solvers.status import Termination


@dataclass(frozen=True, slots=True)
class ScheduledDivision:
    """One division of the models into pairs.

    Attributes
    ----------
    units
        The sizes of the sub-arrays of each pair.
    schedule
        The schedule of an iteration; None where a pair does not fit.
    time_ns
        Its replayed time, or None.
    """

    units: tuple[Sizes, ...]
    schedule: MultiModelSchedule | None
    time_ns: int | None

    def __str__(self) -> str:
        """Write the sizes, pairs joined by a plus, and the time."""
        sizes = " ".join("+".join(map(str, unit)) for unit in self.units)
        return f"{sizes}: {'does not fit' if self.time_ns is None else format_ns(self.time_ns)}"


def scheduled_divisions(problem: MultiModelTraining) -> Iterator[ScheduledDivision]:
    """Yield every division of the models into pairs, with what µ-TWO makes of it, in order.

    Pairs of the same sizes are scheduled once.
    """
    made: dict[Sizes, ScheduledUnit | None] = {}
    for units in paired_divisions(problem.count, problem.instance.sizes):
        for sizes in units:
            if sizes not in made:
                made[sizes] = scheduled_unit(problem, sizes)
        pairs = [pair.executed.unit for sizes in units if (pair := made[sizes]) is not None]
        if len(pairs) < len(units):
            yield ScheduledDivision(units, None, None)
            continue
        schedule = MultiModelSchedule(tuple(pairs))
        yield ScheduledDivision(units, schedule, schedule.replay(problem).time_ns)


def solve_mu_two(problem: Problem, options: SolveOptions) -> Outcome:
    """Schedule every division into pairs, and return the fastest that fits.

    The note has all of them with their times.

    Notes
    -----
    For T feature maps and n operators in each profile, time :math:`O(T^2 + T n)` for each of at
    most :math:`n` different pairs.
    """
    assert isinstance(problem, MultiModelTraining)
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    divisions = scheduled_divisions(problem)
    tried: list[ScheduledDivision] = []
    termination = Termination.TIME_LIMIT
    try:
        while clock.left_s:
            division = next(divisions, None)
            if division is None:
                termination = Termination.COMPLETED
                break
            tried.append(division)
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    fits = [division for division in tried if division.time_ns is not None]
    best = min(fits, key=lambda division: division.time_ns or 0, default=None)
    note = "divisions into pairs: " + "; ".join(map(str, tried))
    return Outcome(
        termination=termination,
        schedule=None if best is None else best.schedule,
        work={"divisions": len(tried)},
        note=note if best else f"no division into pairs of sub-arrays fits ({note})",
    )


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
    refused = multi_model_infeasibility(problem)
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
