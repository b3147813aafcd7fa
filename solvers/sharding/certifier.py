"""Certificates of lower bounds on the cost of a choice of strategies."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement


def certify_sharding(
    problem: Sharding,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    """Certify the largest bound, or as much of it as can be proved; or that nothing fits."""
    time_ns = None
    if infeasibility is None:
        if not bounds:
            return None
        time_ns = max(bound.time_ns for bound in bounds)
    statement = Statement(
        problem.problem,
        problem.instance.to_json(),
        {"memory_bytes": problem.memory_bytes},
        {"name": "strategy-choice", "version": 1},
    )
    clock = Clock(options.time_limit_s)
    return best_certificate([Attempted(statement)], time_ns, clock)
