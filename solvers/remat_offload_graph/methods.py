"""The methods of remat-offload-graph, the default one first."""

from __future__ import annotations

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_graph.cuts.params import EXACT
from jettison.solvers.remat_offload_graph.baselines import (
    solve_store_all,
    solve_without_transfers,
)
from jettison.solvers.remat_offload_graph.bound_method import MOMENTS, bound_moments
from jettison.solvers.remat_offload_graph.everything_away import solve_offload_everything
from jettison.solvers.remat_offload_graph.exact_method import MOMENT_SEARCH, solve_linked_exact

METHODS: tuple[Method[RematOffloadGraph], ...] = (
    Method(
        "exact",
        Promise.EXACT,
        "A*: Hart, Nilsson and Raphael 1968; over the moments of schedules",
        "the fastest of all schedules; graphs of at most 32 nodes, exponential in their number",
        solve=Tuned(solve_linked_exact, MOMENT_SEARCH),
    ),
    Method(
        "no-transfer",
        Promise.HEURISTIC,
        "Checkmate's problem, by the exact method of remat-graph",
        "the fastest staged schedule that leaves the link idle",
        solve=Tuned(solve_without_transfers, EXACT),
    ),
    Method(
        "offload-all",
        Promise.HEURISTIC,
        "folklore; the proof of the least memory",
        "move everything after every operation: fits wherever anything does",
        solve=solve_offload_everything,
    ),
    Method(
        "store-all",
        Promise.HEURISTIC,
        "folklore",
        "compute every node once, move nothing",
        solve=solve_store_all,
    ),
    Method(
        "moment-bound",
        Promise.BOUND,
        "Checkmate's problem without its order; what a link can carry beside it",
        "what a few first starts force to be computed again or moved; for all schedules",
        solve=Tuned(bound_moments, MOMENTS),
    ),
)
