"""The methods of remat-sharding, the default one first."""

from __future__ import annotations

from jettison.solvers.method import Method, Promise

METHODS = (
    Method(
        "exact",
        "remat-sharding",
        Promise.EXACT_STAGED,
        "KIWI, NeurIPS'23 workshop, equations (1) and (12) to (23)",
        "strategies and recomputation together; models of few cuts, more where plans exceed memory",
        "sharded_exact:solve_sharded_exact",
    ),
)
