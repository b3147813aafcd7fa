"""Certificates of lower bounds on the time of a chain's step, from its best single cut.

The cut bound carries rerun bounds from cut to cut, which is a dynamic program and no model: a
certificate proves what the best cut proves by itself, without those.
"""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_chain import RematChain
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers.bound import Bound
from jettison.solvers.chain_cut_bound import FEW_STEPS, ChainCuts
from jettison.solvers.clock import Clock
from jettison.solvers.outcome import Infeasibility, Problem, SolveOptions
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement


def certify_chain(
    problem: Problem,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    """Certify what the best single cut proves, up to the largest bound for all schedules.

    Or that nothing fits, where a cut leaves no room for the operation itself.
    """
    assert isinstance(problem, RematChain)
    clock = Clock(options.time_limit_s)
    known_ns = [bound.time_ns for bound in bounds if bound.valid_for is ScheduleClass.ALL]
    if infeasibility is None and not known_ns:
        return None
    chain = problem.instance
    cuts = ChainCuts(chain, problem.memory_bytes, FEW_STEPS)
    unknown_ns = [0] * len(chain)
    found = {number: cuts.rerun_ns(number, unknown_ns) for number in range(1, len(chain) + 1)}
    without = [number for number, rerun_ns in found.items() if rerun_ns is None]
    if infeasibility is not None:
        forms = [_attempted(problem, number) for number in without[:1]]
        return best_certificate(forms, None, clock)
    best = max(found, key=lambda number: found[number] or 0)
    return best_certificate([_attempted(problem, best)], max(known_ns), clock)


def _attempted(problem: RematChain, number: int) -> Attempted:
    return Attempted(
        Statement(
            problem.problem,
            problem.instance.to_json(),
            {"memory_bytes": problem.memory_bytes},
            {"name": "chain-cut", "version": 1, "stage": number},
        )
    )
