"""Certificates of the persistent programs of a chain: what `rotor` and `rotor-drops` prove."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement
from jettison.solvers.remat_chain.proof.drop_steps import DropSteps
from jettison.solvers.remat_chain.proof.persistent_steps import PersistentSteps
from jettison.solvers.remat_chain.proof.program_steps import (
    PROGRAM_PROOF,
    ProgramProofParams,
    ProgramSteps,
)

# For each class of schedules, the name of its program and the class that finds the steps.
PROGRAMS: Mapping[ScheduleClass, tuple[str, type[ProgramSteps]]] = MappingProxyType(
    {
        ScheduleClass.PERSISTENT: ("persistent-bellman", PersistentSteps),
        ScheduleClass.PERSISTENT_WITH_DROPS: ("drops-bellman", DropSteps),
    }
)


def certify_program(
    problem: RematChain,
    valid_for: ScheduleClass,
    bounds: Sequence[Bound],
    clock: Clock,
    params: ProgramProofParams = PROGRAM_PROOF,
) -> Certificate | None:
    """Certify the largest bound for a class of schedules; None if no bound is for it alone.

    Where the time does not suffice for the whole bound, smaller and smaller claims are tried; where
    a bound is above the optimum of the class, the optimum is certified in its place.
    """
    if all(bound.valid_for is not valid_for for bound in bounds):
        return None
    base_ns = problem.instance.base_time_ns
    known_ns = [bound.time_ns for bound in bounds if bound.valid_for.covers(valid_for)]
    extra_ns = max(0, max(known_ns) - base_ns)
    with Ending():
        while True:
            try:
                steps = _steps(problem, valid_for, extra_ns, Clock(clock.left_s / 2), params)
                if steps.is_true:
                    return _certificate(problem, valid_for, base_ns + extra_ns, steps)
                extra_ns = steps.cost
            except TimeoutError:
                # Smaller claims need fewer steps: costs above the claim are left out.
                extra_ns = extra_ns * 3 // 4
    return None


def certify_none_fits(
    problem: RematChain,
    valid_for: ScheduleClass,
    clock: Clock,
    params: ProgramProofParams = PROGRAM_PROOF,
) -> Certificate | None:
    """Certify that no schedule of a class fits; None if one does, or the time is up."""
    with Ending():
        steps = _steps(problem, valid_for, None, clock, params)
        return _certificate(problem, valid_for, None, steps) if steps.is_true else None
    return None


def _steps(
    problem: RematChain,
    valid_for: ScheduleClass,
    extra_ns: int | None,
    clock: Clock,
    params: ProgramProofParams,
) -> ProgramSteps:
    _, steps = PROGRAMS[valid_for]
    return steps(problem.instance, problem.memory_bytes, extra_ns, clock, params)


def _certificate(
    problem: RematChain, valid_for: ScheduleClass, time_ns: int | None, steps: ProgramSteps
) -> Certificate:
    instance = problem.instance.to_json()
    # It is no part of the instance's hash, and may be longer than the rest.
    instance.pop("provenance", None)
    name, _ = PROGRAMS[valid_for]
    resources, formulation = {"memory_bytes": problem.memory_bytes}, {"name": name, "version": 1}
    statement = Statement(RematChain.problem, instance, resources, formulation)
    lines = "".join(f"{line}\n" for line in steps.records())
    certificate = Certificate(
        statement.header(time_ns, valid_for, 0),
        gzip.compress(lines.encode("ascii"), mtime=0),
    )
    certificate.checked()
    return certificate
