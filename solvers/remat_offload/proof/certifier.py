"""Certificates of lower bounds on the time of a chain's step with a link to the host.

For POFO's class a certificate proves the value of its program, or as much of it as fits in a file
of some size. The cut bound and the event bound, which hold for all schedules, rest on models of
which the checker knows none: they are not certified. That nothing fits is certified for all
schedules, by what single operations need.
"""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement
from jettison.solvers.remat_offload.proof.params import POFO_PROOF, PofoProofParams
from jettison.solvers.remat_offload.proof.pofo_claims import PofoClaims


def certify_offload_chain(
    problem: RematOffloadChain,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
    params: PofoProofParams = POFO_PROOF,
) -> Certificate | None:
    """Certify the largest bound for POFO's class, or the best that can be certified below it.

    None where no bound is for that class alone.
    """
    clock = Clock(options.time_limit_s)
    if infeasibility is not None:
        return _memory_floor(problem, clock)
    if all(bound.valid_for is not ScheduleClass.POFO for bound in bounds):
        return None
    known_ns = max(b.time_ns for b in bounds if b.valid_for.covers(ScheduleClass.POFO))
    return PofoClaims(problem, clock, params).best(known_ns)


def _memory_floor(problem: RematOffloadChain, clock: Clock) -> Certificate | None:
    statement = Statement(
        problem.problem,
        problem.instance.to_json(),
        {"memory_bytes": problem.memory_bytes, "bytes_per_s": problem.link.bytes_per_s},
        {"name": "memory-floor", "version": 1},
    )
    return best_certificate([Attempted(statement)], None, clock)
