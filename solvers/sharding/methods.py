"""The methods of sharding, the default one first."""

from __future__ import annotations

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.sharding.bounds.lagrangian import LAGRANGIAN, bound_lagrangian
from jettison.solvers.sharding.exact.method import SHARDING_EXACT, solve_sharding_exact
from jettison.solvers.sharding.heuristics.greedy_and_annealing import (
    GREEDY,
    LOCAL_SEARCH,
    solve_greedy,
    solve_local_search,
)

METHODS: tuple[Method[Sharding], ...] = (
    Method(
        "exact",
        Promise.EXACT,
        "Alpa's integer program, OSDI 2022; reductions and messages in exact arithmetic",
        "reductions, a bound by messages that forbids strategies; HiGHS on the rest",
        solve=Tuned(solve_sharding_exact, SHARDING_EXACT),
        baselines=(
            "greedy",
            "local-search",
        ),
    ),
    Method(
        "lagrangian",
        Promise.BOUND,
        "TRW-S: Kolmogorov 2006; Lagrange multipliers of memory",
        "messages that split the edges, multipliers of memory; graphs too large for a model",
        solve=Tuned(bound_lagrangian, LAGRANGIAN),
    ),
    Method(
        "local-search",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; heat bath: Geman and Geman 1984",
        "anneals from the greedy choice on the reduced graph",
        solve=Tuned(solve_local_search, LOCAL_SEARCH),
    ),
    Method(
        "greedy",
        Promise.HEURISTIC,
        "node by node, then best moves",
        "the cheapest strategy beside those chosen, then moves until none is better and all fits",
        solve=Tuned(solve_greedy, GREEDY),
    ),
)
