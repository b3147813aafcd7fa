"""The methods of sharding, the default one first."""

from __future__ import annotations

from jettison.solvers.core.method import Method, Promise

METHODS = (
    Method(
        "exact",
        "sharding",
        Promise.EXACT,
        "Alpa's integer program, OSDI 2022; reductions and messages in exact arithmetic",
        "reductions, a bound by messages, what cannot be better forbidden; HiGHS on the rest",
        "sharding.exact.method:solve_sharding_exact",
        baselines=(
            "greedy",
            "local-search",
        ),
    ),
    Method(
        "lagrangian",
        "sharding",
        Promise.BOUND,
        "TRW-S: Kolmogorov 2006; Lagrange multipliers of memory",
        "messages that split the edges, multipliers of memory; graphs too large for a model",
        "sharding.bounds.lagrangian:bound_lagrangian",
    ),
    Method(
        "local-search",
        "sharding",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; heat bath: Geman and Geman 1984",
        "anneals from the greedy choice on the reduced graph",
        "sharding.heuristics.methods:solve_local_search",
    ),
    Method(
        "greedy",
        "sharding",
        Promise.HEURISTIC,
        "node by node, then best moves",
        "the cheapest strategy beside those chosen, then moves until none is better and all fits",
        "sharding.heuristics.methods:solve_greedy",
    ),
)
