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
from jettison.solvers.remat_offload_graph.capped_memory import CAPPED, solve_capped
from jettison.solvers.remat_offload_graph.choice_annealing import (
    CHOICE_ANNEAL,
    solve_choice_annealing,
)
from jettison.solvers.remat_offload_graph.everything_away import solve_offload_everything
from jettison.solvers.remat_offload_graph.eviction_method import (
    solve_greedy,
    solve_without_recomputation,
)
from jettison.solvers.remat_offload_graph.over_moments import MOMENT_SEARCH, solve_linked_exact
from jettison.solvers.remat_offload_graph.poet_method import POET, solve_poet

METHODS: tuple[Method[RematOffloadGraph], ...] = (
    Method(
        "anneal",
        Promise.BRACKET,
        "simulated annealing: Kirkpatrick et al. 1983; over plans in which values make room",
        "what is moved and what is computed again; no worse than the baselines, with a bound",
        solve=Tuned(solve_choice_annealing, CHOICE_ANNEAL),
        baselines=(
            "store-all",
            "offload-all",
            "no-recompute",
            "greedy",
            "autocapper",
            "no-transfer",
        ),
    ),
    Method(
        "exact",
        Promise.EXACT,
        "A*: Hart, Nilsson and Raphael 1968; over the moments of schedules",
        "the fastest of all schedules; graphs of at most 32 nodes, exponential in their number",
        solve=Tuned(solve_linked_exact, MOMENT_SEARCH),
    ),
    Method(
        "no-recompute",
        Promise.HEURISTIC,
        "Belady 1966: what is read last goes; capuchin's and SwapAdvisor's setting",
        "computes each node once, in order, and moves what does not fit",
        solve=solve_without_recomputation,
    ),
    Method(
        "no-transfer",
        Promise.HEURISTIC,
        "Checkmate's problem, by the exact method of remat-graph",
        "the fastest staged schedule that leaves the link idle",
        solve=Tuned(solve_without_transfers, EXACT),
    ),
    Method(
        "greedy",
        Promise.HEURISTIC,
        "Belady 1966, with the cheaper of a copy and a computation for what has gone",
        "the same, but computes again what takes less time than its copies",
        solve=solve_greedy,
    ),
    Method(
        "autocapper",
        Promise.HEURISTIC,
        "POFO, NeurIPS 2021, Section 5.1, on graphs",
        "recompute as in more memory, move what is above the limit; the best of 10 sizes",
        solve=Tuned(solve_capped, CAPPED),
    ),
    Method(
        "poet",
        Promise.HEURISTIC,
        "POET, ICML 2022, arXiv:2207.07697",
        "POET's program of stages with paging, in which nothing overlaps; its plan, replayed here",
        solve=Tuned(solve_poet, POET),
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
