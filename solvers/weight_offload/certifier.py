r"""Certificates of lower bounds on the time of weight offloading.

The models are those of the methods: ``agg``, ``aggint``, ``paper-milp`` and
``paper-milp-strengthened`` bound by models of the same optimum, and ``closed-form`` by a pair of
knapsacks. Where a bound comes from elsewhere, such as an
exact search, all of them are tried, and the certificate may prove less.

The paper's model does not say that layers are absent as a whole. For each operation that exceeds
the memory,

.. math:: \sum_{i \ne l} |w_i|\, g_i \ge E_k

follows from its rows (memory), (stock), (late) and (early), :math:`g_i` being ``gone0_i`` or
``gone1_i``: when the operation starts, any absent part of a layer has been deleted since the
layer's last use. Divided by the most frequent size :math:`w` and rounded, at least
:math:`\lceil E_k / w \rceil` layers are gone. These roundings go into the proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jettison.certificates.integer_model import IntegerModel
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.prove import Rounding
from jettison.solvers.proof.statement import Statement

Formulation = Mapping[str, object]

_FLUID: Formulation = {"name": "aggregated", "version": 1}
_WHOLE: Formulation = {"name": "aggregated", "version": 1, "whole": True}
_PAPER_MILP: Formulation = {"name": "milp", "version": 1, "cuts": []}
_STRENGTHENED_MILP: Formulation = {
    "name": "milp",
    "version": 1,
    "cuts": ["3a", "3b", "7'", "6c"],
}
_MILPS = (_PAPER_MILP, _STRENGTHENED_MILP)
_COVER: Formulation = {"name": "cover", "version": 1}
# By the method that found the bound, the formulations to try, the most promising one first.
_FORMULATIONS: Mapping[str, tuple[Formulation, ...]] = {
    "agg": (_FLUID, _WHOLE),
    "aggint": (_WHOLE, _FLUID),
    "paper-milp": (_PAPER_MILP, _STRENGTHENED_MILP, _WHOLE),
    "paper-milp-strengthened": (_STRENGTHENED_MILP, _WHOLE),
    "closed-form": (_COVER, _FLUID),
}
_OTHERWISE: tuple[Formulation, ...] = (_FLUID, _WHOLE, _STRENGTHENED_MILP)


@dataclass(frozen=True, kw_only=True)
class WeightProofParams(Params):
    """Parameters of the certificates for weight offloading.

    Attributes
    ----------
    most_layers_of_milp
        Layers up to which the paper's model is tried; above, it is too large for a proof.
    """

    most_layers_of_milp: int = 60


WEIGHT_PROOF = WeightProofParams()


def certify_weight_offload(
    problem: WeightOffload,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
    params: WeightProofParams = WEIGHT_PROOF,
) -> Certificate | None:
    """Certify the largest bound, or as much of it as can be proved; or that nothing fits."""
    clock = Clock(options.time_limit_s)
    if infeasibility is not None:
        return best_certificate([_attempted(problem, _FLUID)], None, clock)
    largest = max(bounds, key=lambda bound: bound.time_ns, default=None)
    if largest is None:
        return None
    if largest.time_ns == problem.instance.base_time_ns:
        # Any model proves it; this one is the smallest.
        return best_certificate([_attempted(problem, _FLUID)], largest.time_ns, clock)
    forms = _FORMULATIONS.get(largest.method, _OTHERWISE)
    if len(problem.instance) > params.most_layers_of_milp:
        forms = tuple(form for form in forms if form not in _MILPS)
    return best_certificate([_attempted(problem, form) for form in forms], largest.time_ns, clock)


def _attempted(problem: WeightOffload, formulation: Formulation) -> Attempted:
    link = problem.link
    resources = {"memory_bytes": problem.memory_bytes, "bytes_per_s": link.bytes_per_s}
    if link.is_shared and formulation is not _COVER:
        # The cover is about prefetches alone, and holds for the shared link as it is.
        resources["total_bytes_per_s"] = link.total_bytes_per_s
    statement = Statement(problem.problem, problem.instance.to_json(), resources, formulation)
    if formulation not in _MILPS:
        return Attempted(statement)
    return Attempted(statement, lambda model: whole_layers(problem, model))


def whole_layers(problem: WeightOffload, model: IntegerModel) -> list[Rounding]:
    """Return the roundings of the paper's model that count whole layers, by operation."""
    cycle = problem.cycle
    sizes = Counter(size for size in cycle.weight_bytes if size)
    block = max(sizes, key=lambda size: (sizes[size], size), default=1)
    row_of = {row.name: number for number, row in enumerate(model.rows)}
    found = []
    for k, excess in enumerate(cycle.excess_bytes(problem.memory_bytes)):
        if excess <= 0:
            continue
        weights = [(row_of[f"memory_{k}"], 1)]
        for i, size in enumerate(cycle.weight_bytes, start=1):
            own = [cycle.backward_index(i), cycle.forward_index(i)]
            if not size or k in own:
                continue
            # From the layer's last operation on, around the cycle.
            start = max((place for place in own if place < k), default=own[1] - len(cycle))
            word = "early" if start % len(cycle) == own[0] else "late"
            weights += [(row_of[f"stock_{i}_{j % len(cycle)}"], 1) for j in range(start, k)]
            weights.append((row_of[f"{word}_{i}"], -1))
        found.append(Rounding(block, tuple(weights)))
    return found
