"""Certificates of lower bounds on the time of sharding with recomputation."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement


def certify_remat_sharding(
    problem: RematSharding,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    """Certify a bound of KIWI's reduced problem, where there is one, or of all schedules.

    Bounds for all schedules are proved by the model of the fastest strategies in any memory. Bounds
    for staged schedules, whose model has no certificates, are proved as far as that model goes.
    That nothing fits is proved by the needs of single operators, or else by the model of the class.
    """
    clock = Clock(options.time_limit_s)
    reduced = ScheduleClass.KIWI_REDUCED
    if infeasibility is not None:
        is_reduced = infeasibility.valid_for is reduced
        names = ("memory-floor", "kiwi-reduced-compact" if is_reduced else "sharding-only")
        return best_certificate([_attempted(problem, name) for name in names], None, clock)
    largest = max(bounds, key=lambda bound: bound.time_ns, default=None)
    if largest is None:
        return None
    name = "kiwi-reduced-compact" if largest.valid_for is reduced else "sharding-only"
    return best_certificate([_attempted(problem, name)], largest.time_ns, clock)


def _attempted(problem: RematSharding, formulation: str) -> Attempted:
    return Attempted(
        Statement(
            problem.problem,
            problem.instance.to_json(),
            {"memory_bytes": problem.memory_bytes},
            {"name": formulation, "version": 1},
        )
    )
