"""Certificates of lower bounds on the time of a chain's step.

For persistent schedules, with drops or without, a certificate proves the value of the class's
dynamic program (`programs`); for all schedules it proves the bound of the best single cut. The cut
bound of the methods carries the bounds on reruns from cut to cut, a dynamic program and no linear
model, so that it can be larger than what one cut proves by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement
from jettison.solvers.remat_chain.cut_bound import CUT_BOUND, ChainCuts
from jettison.solvers.remat_chain.proof.program_steps import PROGRAM_PROOF, ProgramProofParams
from jettison.solvers.remat_chain.proof.programs import (
    PROGRAMS,
    certify_none_fits,
    certify_program,
)

_WIDEST_FIRST = sorted(
    PROGRAMS, key=lambda valid_for: sum(map(valid_for.covers, ScheduleClass)), reverse=True
)


def certify_chain(
    problem: RematChain,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
    params: ProgramProofParams = PROGRAM_PROOF,
) -> Certificate | None:
    """Certify the largest of the bounds, or the best that can be certified below it.

    A certificate for persistent schedules, with drops or without, is made only if one of the bounds
    is for that class. Of equal claims, the one that holds for more schedules is returned.
    """
    clock = Clock(options.time_limit_s)
    if infeasibility is not None:
        return certify_cut(problem, None, clock) or _none_fits(
            problem, infeasibility, clock, params
        )
    share = Clock(clock.left_s * params.share_of_program)
    persistent = _program(problem, bounds, share, params)
    known_ns = [bound.time_ns for bound in bounds if bound.valid_for is ScheduleClass.ALL]
    cut = certify_cut(problem, max(known_ns), clock) if known_ns else None
    found = [certificate for certificate in (cut, persistent) if certificate is not None]
    return max(found, key=lambda certificate: certificate.time_ns or 0, default=None)


def _program(
    problem: RematChain, bounds: Sequence[Bound], clock: Clock, params: ProgramProofParams
) -> Certificate | None:
    """Certify the largest bound of a dynamic program; of equal ones, that for more schedules."""

    def largest_ns(valid_for: ScheduleClass) -> int:
        known = (bound.time_ns for bound in bounds if bound.valid_for.covers(valid_for))
        return max(known, default=0)

    for valid_for in sorted(_WIDEST_FIRST, key=largest_ns, reverse=True):
        certificate = certify_program(problem, valid_for, bounds, clock, params)
        if certificate is not None:
            return certificate
    return None


def _none_fits(
    problem: RematChain, infeasibility: Infeasibility, clock: Clock, params: ProgramProofParams
) -> Certificate | None:
    """Certify that no schedule fits, for the widest class of schedules that is proved empty."""
    for valid_for in _WIDEST_FIRST:
        if infeasibility.valid_for.covers(valid_for):
            certificate = certify_none_fits(problem, valid_for, clock, params)
            if certificate is not None:
                return certificate
    return None


def certify_cut(problem: RematChain, time_ns: int | None, clock: Clock) -> Certificate | None:
    """Certify what the best single cut proves, up to a time, or that nothing fits.

    Nothing fits where, at some cut, the operation itself exceeds the memory.
    """
    chain = problem.instance
    cuts = ChainCuts(chain, problem.memory_bytes, CUT_BOUND.rough_cut_steps)
    unknown_ns = [0] * len(chain)
    found = {number: cuts.rerun_ns(number, unknown_ns) for number in range(1, len(chain) + 1)}
    if time_ns is None:
        without = [number for number, rerun_ns in found.items() if rerun_ns is None]
        return best_certificate([_attempted(problem, stage) for stage in without[:1]], None, clock)
    best = max(found, key=lambda number: found[number] or 0)
    return best_certificate([_attempted(problem, best)], time_ns, clock)


def _attempted(problem: RematChain, number: int) -> Attempted:
    return Attempted(
        Statement(
            problem.problem,
            problem.instance.to_json(),
            {"memory_bytes": problem.memory_bytes},
            {"name": "chain-cut", "version": 1, "stage": number},
        )
    )
