"""Certificates of the persistent program of a chain: a bound of `rotor` or `rotor-exact`."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

from jettison.instances.remat_chain import RematChain
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Bound
from jettison.solvers.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.persistent_steps import PersistentSteps
from jettison.solvers.proof.statement import Statement

_FORMULATION = {"name": "persistent-bellman", "version": 1}


def certify_program(
    problem: RematChain, bounds: Sequence[Bound], clock: Clock
) -> Certificate | None:
    """Certify the largest of the bounds for persistent schedules; None if none is for those alone.

    Where the time does not suffice for all of it, less and less is tried; where a bound is above
    the persistent optimum, the optimum is certified in its place.
    """
    if all(bound.valid_for is not ScheduleClass.PERSISTENT for bound in bounds):
        return None
    base_ns = problem.instance.base_time_ns
    known_ns = [
        bound.time_ns for bound in bounds if bound.valid_for.covers(ScheduleClass.PERSISTENT)
    ]
    extra_ns = max(0, max(known_ns) - base_ns)
    try:
        while True:
            try:
                steps = _steps(problem, extra_ns, Clock(clock.left_s / 2))
                if steps.is_true:
                    return _certificate(problem, base_ns + extra_ns, steps)
                extra_ns = steps.cost
            except TimeoutError:
                # Smaller claims need less: what costs more than the claim is left out.
                extra_ns = extra_ns * 3 // 4
    except KeyboardInterrupt:
        return None


def certify_none_fits(problem: RematChain, clock: Clock) -> Certificate | None:
    """Certify that no persistent schedule fits; None if one does, or the time is up."""
    try:
        steps = _steps(problem, None, clock)
        return _certificate(problem, None, steps) if steps.is_true else None
    except (KeyboardInterrupt, TimeoutError):
        return None


def _steps(problem: RematChain, extra_ns: int | None, clock: Clock) -> PersistentSteps:
    return PersistentSteps(problem.instance, problem.memory_bytes, extra_ns, clock)


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
