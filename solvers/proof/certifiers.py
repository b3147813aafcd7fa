"""Which problems have certificates of their lower bounds, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import Infeasibility, Problem, SolveOptions
from jettison.solvers.proof.certificate import Certificate

Certifier = Callable[
    [Problem, Sequence[Bound], Infeasibility | None, SolveOptions], Certificate | None
]

# ``module:function`` in `jettison.solvers`; modules are loaded when they are needed.
CERTIFIERS: Mapping[str, str] = MappingProxyType(
    {
        "remat-chain": "remat_chain.proof.certifier:certify_chain",
        "remat-graph": "remat_graph.certifier:certify_graph",
        "remat-sharding": "remat_sharding.certifier:certify_remat_sharding",
        "sharding": "sharding.certifier:certify_sharding",
        "weight-offload": "weight_offload.certifier:certify_weight_offload",
    }
)


def certifier_of(problem: str) -> Certifier | None:
    """Return what makes certificates for a problem, by its name; None if nothing does.

    A certifier takes the problem, the bounds that methods found, their proof that nothing fits if
    they found one, and options, whose time limit is its own. It returns a certificate, checked, of
    the largest of these bounds, or of the best smaller one that it could prove in the time.
    """
    entry = CERTIFIERS.get(problem)
    if entry is None:
        return None
    module, name = entry.split(":")
    found: Certifier = getattr(import_module(f"jettison.solvers.{module}"), name)
    return found
