"""Certificates for graphs: what a few cuts force to be computed again.

The model is that of the bound (`formulations.windowed_frontier`) without what presolve knows: the
checker's model has no fixings and the nodes of the given graph. What single operations need, and
the time of all of them once, holds for all schedules (`certificates.models.graph_memory_floor`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.statement import Statement

# What the largest bound gets of the time where another one might prove more in the rest.
_FIRST_SHARE = 0.7

_FLOOR: Mapping[str, object] = {"name": "memory-floor", "version": 1}
# With every cut and every slot the windows are exact for staged schedules. Their rows grow with the
# third power of the nodes.
_MOST_NODES_OF_ALL_SLOTS = 30


def certify_graph(
    problem: RematGraph,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
) -> Certificate | None:
    """Certify the largest bound that came from cuts, or that there is no schedule.

    Where cuts prove no more than the time of all nodes once, that is certified for all schedules.

    Parameters
    ----------
    problem, options
        As for methods; the time limit is for the certificate alone.
    bounds
        Those without a formulation, and above the time of all nodes once, are left out.
    infeasibility
        A proof that nothing fits, if a method found one.

    Returns
    -------
    Certificate or None
        Of the best claim that was proved in the time; None without bounds, or where no model
        proves that there is no schedule.

    Raises
    ------
    CertificateError
        If the checker rejects what was proved: a defect here.
    """
    clock = Clock(options.time_limit_s)
    if infeasibility is not None:
        return best_certificate(_without_points(problem, infeasibility), None, clock)
    # Of each class the largest: what its model cannot prove, that of a smaller one rarely can.
    of_class: dict[ScheduleClass, Bound] = {}
    for bound in sorted(bounds, key=lambda bound: bound.time_ns):
        if bound.formulation is not None:
            of_class[bound.valid_for] = bound
    largest = sorted(of_class.values(), key=lambda bound: -bound.time_ns)
    best: Certificate | None = None
    for place, bound in enumerate(largest):
        assert bound.formulation is not None
        best_ns = None if best is None else best.time_ns
        if best_ns is not None and best_ns >= bound.time_ns:
            break
        is_last = place + 1 == len(largest)
        share = clock if is_last else Clock(clock.left_s * _FIRST_SHARE)
        found = certify(_statement(problem, bound.formulation), bound.time_ns, share)
        found_ns = None if found is None else found.time_ns
        if best_ns is None or (found_ns is not None and found_ns > best_ns):
            best = found
    base_ns = problem.instance.base_time_ns
    if bounds and (best is None or best.time_ns == base_ns):
        return best_certificate([_attempted(problem, _FLOOR)], base_ns, clock) or best
    return best


def _attempted(problem: RematGraph, formulation: Mapping[str, object]) -> Attempted:
    return Attempted(_statement(problem, formulation))


def _statement(problem: RematGraph, formulation: Mapping[str, object]) -> Statement:
    return Statement(
        problem=problem.problem,
        instance=problem.instance.to_json(),
        resources={"memory_bytes": problem.memory_bytes},
        formulation=formulation,
    )


def _without_points(problem: RematGraph, infeasibility: Infeasibility) -> list[Attempted]:
    """Return models that may have no point: first what holds for all schedules."""
    formulations: list[Mapping[str, object]] = [_FLOOR]
    count = len(problem.instance)
    if infeasibility.formulation is not None:
        formulations.append(infeasibility.formulation)
    if count <= _MOST_NODES_OF_ALL_SLOTS:
        slots = [[stage, node] for stage in range(count) for node in range(stage)]
        formulations.append(
            {"name": "windowed-frontier", "version": 1, "cuts": [*range(count)], "slots": slots}
        )
    return [_attempted(problem, formulation) for formulation in formulations]
