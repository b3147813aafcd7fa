"""Certificates for chains: the persistent program, which every exact bracket rests on."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

from jettison.instances.remat_chain import RematChain
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Bound
from jettison.solvers.clock import Clock
from jettison.solvers.outcome import Infeasibility, Problem, SolveOptions
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.persistent_steps import PersistentSteps
from jettison.solvers.proof.statement import Statement

_FORMULATION = {"name": "persistent-bellman", "version": 1}


def certify_chain(
    problem: Problem,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    """Certify the largest bound that holds for persistent schedules, or that none fits.

    Where the time does not suffice for all of it, less and less is tried; where a bound is above
    the persistent optimum, the optimum is certified in its place.
    """
    assert isinstance(problem, RematChain)
    chain, memory_bytes = problem.instance, problem.memory_bytes
    clock = Clock(options.time_limit_s)
    try:
        if infeasibility is not None:
            steps = PersistentSteps(chain, memory_bytes, None, clock)
            return _certificate(problem, None, steps) if steps.is_true else None
        times = [
            bound.time_ns for bound in bounds if bound.valid_for.covers(ScheduleClass.PERSISTENT)
        ]
        extra_ns = max(0, max(times, default=0) - chain.base_time_ns)
        while True:
            try:
                steps = PersistentSteps(chain, memory_bytes, extra_ns, Clock(clock.left_s / 2))
                if steps.is_true:
                    return _certificate(problem, chain.base_time_ns + extra_ns, steps)
                extra_ns = steps.cost
            except TimeoutError:
                # Smaller claims need less: what costs more than the claim is left out.
                extra_ns = extra_ns * 3 // 4
    except (KeyboardInterrupt, TimeoutError):
        return None


def _certificate(problem: RematChain, time_ns: int | None, steps: PersistentSteps) -> Certificate:
    instance = problem.instance.to_json()
    # It is no part of the instance's hash, and may be longer than the rest.
    instance.pop("provenance", None)
    resources = {"memory_bytes": problem.memory_bytes}
    statement = Statement(RematChain.problem, instance, resources, _FORMULATION)
    lines = "".join(f"{line}\n" for line in steps.records())
    certificate = Certificate(
        statement.header(time_ns, ScheduleClass.PERSISTENT, 0),
        gzip.compress(lines.encode("ascii"), mtime=0),
    )
    certificate.checked()
    return certificate
