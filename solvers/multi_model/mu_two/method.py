r"""mu-two, and the methods that use its policy on fused models.

For each division of the models into pairs of sub-arrays, each pair is scheduled (`policy`)
and executed; the division with the shortest iteration wins. Pairs of the same sizes are scheduled
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from jettison.instances.core.units import format_ns
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.all_fused import all_fused
from jettison.solvers.multi_model.least_division import Sizes, best_division, units_that_fit
from jettison.solvers.multi_model.least_memory import multi_model_infeasibility
from jettison.solvers.multi_model.mu_two.divisions import paired_divisions
from jettison.solvers.multi_model.mu_two.policy import OutOfMemoryStrategy
from jettison.solvers.multi_model.mu_two.unit import (
    POLICY,
    PolicyParams,
    ScheduledUnit,
    scheduled_unit,
)

UnitScheduler = Callable[[MultiModelTraining, Sizes], ScheduledUnit | None]


@dataclass(frozen=True, slots=True)
class ScheduledDivision:
    """Division of the models into pairs, with its schedule.

    Attributes
    ----------
    units
        The sizes of the sub-arrays of each pair.
    schedule
        The schedule of an iteration; None where a pair does not fit.
    time_ns
        Its time, the sum of the replayed times of its pairs, or None.
    """

    units: tuple[Sizes, ...]
    schedule: MultiModelSchedule | None
    time_ns: int | None

    def __str__(self) -> str:
        """Write the sizes, pairs joined by a plus, and the time."""
        sizes = " ".join("+".join(map(str, unit)) for unit in self.units)
        return f"{sizes}: {'does not fit' if self.time_ns is None else format_ns(self.time_ns)}"


def unit_both_ways(
    problem: MultiModelTraining, sizes: Sizes, params: PolicyParams = POLICY
) -> ScheduledUnit | None:
    """Schedule a unit with and without a charge for copies to the host; return the faster one."""
    found = [
        unit
        for strategy in (OutOfMemoryStrategy.HYBRID, OutOfMemoryStrategy.BOTH_WAYS)
        if (unit := scheduled_unit(problem, sizes, strategy, params)) is not None
    ]
    return min(found, key=lambda unit: unit.executed.time_ns, default=None)


def scheduled_divisions(
    problem: MultiModelTraining, scheduler: UnitScheduler = scheduled_unit
) -> Iterator[ScheduledDivision]:
    """Yield every division of the models into pairs, with its schedule.

    Pairs of the same sizes are scheduled once.

    Parameters
    ----------
    problem
        The models.
    scheduler
        Schedules a pair.
    """
    made: dict[Sizes, ScheduledUnit | None] = {}
    for units in paired_divisions(problem.count, problem.instance.sizes):
        for sizes in units:
            if sizes not in made:
                made[sizes] = scheduler(problem, sizes)
        pairs = [pair.executed.unit for sizes in units if (pair := made[sizes]) is not None]
        if len(pairs) < len(units):
            yield ScheduledDivision(units, None, None)
            continue
        time_ns = sum(pair.executed.time_ns for sizes in units if (pair := made[sizes]))
        yield ScheduledDivision(units, MultiModelSchedule(tuple(pairs)), time_ns)


def mixed_divisions(
    problem: MultiModelTraining, scheduler: UnitScheduler, clock: Clock
) -> Iterator[ScheduledDivision]:
    """Yield divisions of models of several architectures, each faster than the one before.

    The paper leaves them to future work (Appendix E): only models of one architecture are fused,
    pairs may join two, and the divisions are too many to go through. But no unit depends on the
    others, so that the fastest division follows from the time of every unit by dynamic programming
    (`best_division`). Units are all pairs, not only those of the closest iteration times, and
    sub-arrays alone.

    Parameters
    ----------
    problem
        The models.
    scheduler
        Schedules a unit.
    clock
        Ends the search between two units, at the best division so far.

    Notes
    -----
    For s sub-arrays that may be chosen, at most :math:`s (s + 3) / 2` units.
    """
    made: dict[Sizes, ScheduledUnit] = {}
    known_ns: int | None = None
    units = units_that_fit(problem)
    alone = sum(len(unit) == 1 for unit in units)
    for number, sizes in enumerate(units, start=1):
        unit = scheduler(problem, sizes)
        if unit is not None:
            made[sizes] = unit
        # All sub-arrays alone are known first; then every pair may be an improvement.
        if number >= alone and (unit is not None or number == alone):
            times_ns = {key: item.executed.time_ns for key, item in made.items()}
            best = best_division(problem.counts, times_ns)
            if best is not None and (known_ns is None or best.value < known_ns):
                known_ns = best.value
                chosen = tuple(made[key].executed.unit for key in best.units)
                yield ScheduledDivision(best.units, MultiModelSchedule(chosen), best.value)
        clock.require_time()


def solve_mu_two(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Schedule every division into pairs, and return the fastest that fits.

    The note has all of them with their times. Of several architectures it is the fastest division
    into units (`mixed_divisions`), and the note has those that were the fastest so far.

    Notes
    -----
    For T feature maps and n operators in each profile, time :math:`O(T^2 + T n)` for each of at
    most :math:`n` different pairs.
    """
    return _fastest_division(problem, options, partial(scheduled_unit, params=params))


def solve_mu_two_both_ways(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Schedule every division into pairs, with and without a charge for copies to the host.

    Not in the paper. Each pair is scheduled twice: by the policy of µ-TWO, and by one in which a
    swap also costs its copy to the host (`offloads`). The faster schedule is kept: no pair takes
    longer than in `mu-two`.
    """
    return _fastest_division(problem, options, partial(unit_both_ways, params=params))


def solve_hfta_both_ways(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Fuse all models, and swap and recompute by µ-TWO's policy, copies to the host charged.

    Not in the paper: the faster one of `hfta-capuchin` and of the policy with that charge.
    """
    return all_fused(problem, partial(unit_both_ways, params=params))


def solve_hfta_capuchin(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Fuse all models, and swap and recompute by µ-TWO's policy."""
    return all_fused(problem, partial(scheduled_unit, params=params))


def solve_swap_only(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Fuse all models, and swap those feature maps that are idle longest, as vDNN."""
    swap = OutOfMemoryStrategy.SWAP
    return all_fused(problem, partial(scheduled_unit, strategy=swap, params=params))


def solve_recompute_only(
    problem: MultiModelTraining, options: SolveOptions, params: PolicyParams = POLICY
) -> Outcome:
    """Fuse all models, and recompute feature maps that take least time for their size."""
    again = OutOfMemoryStrategy.RECOMPUTE
    return all_fused(problem, partial(scheduled_unit, strategy=again, params=params))


def _fastest_division(
    problem: MultiModelTraining, options: SolveOptions, scheduler: UnitScheduler
) -> Outcome:
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    divisions = (
        mixed_divisions(problem, scheduler, clock)
        if problem.instance.others
        else scheduled_divisions(problem, scheduler)
    )
    tried: list[ScheduledDivision] = []
    with Ending() as ending:
        clock.require_time()
        for division in divisions:
            tried.append(division)
            clock.require_time()
    fits = [division for division in tried if division.time_ns is not None]
    best = min(fits, key=lambda division: division.time_ns or 0, default=None)
    what = "units" if problem.instance.others else "pairs"
    note = f"divisions into {what}: " + "; ".join(map(str, tried))
    return Outcome(
        termination=ending.termination,
        schedule=None if best is None else best.schedule,
        work={"divisions": len(tried)},
        note=note if best else f"no division into {what} of sub-arrays fits ({note})",
    )
