"""Certificates of lower bounds for graphs, from models of a few cuts.

The model is that of the bound (`formulations.remat_graph.windows.frontier`) without the results of
presolve: the checker's model has no fixings, and the nodes of the given graph. The needs of single
operations, and the time of each of them once, are bounds for all schedules
(`certificates.remat_graph.memory_floor`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.statement import Statement

_FLOOR: Mapping[str, object] = {"name": "memory-floor", "version": 1}


@dataclass(frozen=True, kw_only=True)
class GraphProofParams(Params):
    """Parameters of the certificates for graphs.

    Attributes
    ----------
    first_share
        Share of the time for the largest bound where another one might prove more in the rest.
    most_nodes_of_all_slots
        Largest graph for which a model of every cut and every slot, exact for staged schedules, is
        to prove that nothing fits. Its rows grow with the third power of the nodes.
    """

    first_share: float = 0.7
    most_nodes_of_all_slots: int = 30


GRAPH_PROOF = GraphProofParams()


def certify_graph(
    problem: RematGraph,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
    params: GraphProofParams = GRAPH_PROOF,
) -> Certificate | None:
    """Certify the largest bound that came from cuts, or that there is no schedule.

    Where cuts prove no more than the time of each node once, that time is certified for all
    schedules.

    Parameters
    ----------
    problem, options
        As for methods; the time limit is for the certificate alone.
    bounds
        The bounds; those above the time of each node once that have no formulation are left out.
    infeasibility
        A proof that nothing fits, if a method found one.
    params
        The share of a bound, and the largest model.

    Returns
    -------
    Certificate or None
        Certificate of the best claim that was proved in the time; None without bounds, or where no
        model proves that there is no schedule.

    Raises
    ------
    CertificateError
        If the checker rejects what was proved: a defect here.
    """
    clock = Clock(options.time_limit_s)
    # No model of a certificate forbids recomputation, so that bounds say more than such a proof.
    if infeasibility is not None and infeasibility.valid_for is not ScheduleClass.ONCE:
        return best_certificate(_without_points(problem, infeasibility, params), None, clock)
    # The largest bound of each class: if its model proves nothing, that of a smaller one rarely
    # does.
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
        share = clock if is_last else Clock(clock.left_s * params.first_share)
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
    # A certificate is about the limit, to which resident bytes are no part.
    graph = replace(problem.instance, resident_bytes=None)
    return Statement(
        problem=problem.problem,
        instance=graph.to_json(),
        resources={"memory_bytes": problem.memory_bytes},
        formulation=formulation,
    )


def _without_points(
    problem: RematGraph, infeasibility: Infeasibility, params: GraphProofParams
) -> list[Attempted]:
    """Return models that may have no point, those that hold for all schedules first."""
    formulations: list[Mapping[str, object]] = [_FLOOR]
    count = len(problem.instance)
    if infeasibility.formulation is not None:
        formulations.append(infeasibility.formulation)
    if count <= params.most_nodes_of_all_slots:
        slots = [[stage, node] for stage in range(count) for node in range(stage)]
        formulations.append(
            {"name": "windowed-frontier", "version": 1, "cuts": [*range(count)], "slots": slots}
        )
    return [_attempted(problem, formulation) for formulation in formulations]
