"""The methods of remat-arena, the default one first."""

from __future__ import annotations

from jettison.instances.remat_arena.problem import RematArena
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_arena.bounds_without_addresses import bound_by_cuts, bound_in_any_order
from jettison.solvers.remat_arena.buffer_placement import PLACEMENT
from jettison.solvers.remat_arena.replanning import (
    REPLAN,
    solve_best_fit,
    solve_order_and_place,
    solve_replan,
    solve_replan_anneal,
    solve_replan_orders,
    solve_store_all,
)

METHODS: tuple[Method[RematArena], ...] = (
    Method(
        "replan",
        Promise.BRACKET,
        "Checkmate's problem; placement by decreasing size: arXiv:2001.03288",
        "exact schedules, made for less memory until their buffers fit, and its bound",
        solve=Tuned(solve_replan, REPLAN),
    ),
    Method(
        "replan-anneal",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; placement as in replan",
        "the same with schedules of anneal; thousands of nodes",
        solve=Tuned(solve_replan_anneal, REPLAN),
    ),
    Method(
        "replan-orders",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; placement as in replan",
        "the same with schedules of orders, whose first computations come in any order",
        solve=Tuned(solve_replan_orders, REPLAN),
    ),
    Method(
        "best-fit",
        Promise.HEURISTIC,
        "folklore: best fit at run time",
        "schedules of anneal whose addresses an arena chooses without looking ahead",
        solve=Tuned(solve_best_fit, REPLAN),
    ),
    Method(
        "order-and-place",
        Promise.HEURISTIC,
        "what OLLA (arXiv:2210.12924) and ROAM (arXiv:2310.19295) decide: order, then addresses",
        "the order of least peak that computes everything once, and its buffers placed",
        solve=Tuned(solve_order_and_place, PLACEMENT),
    ),
    Method(
        "store-all",
        Promise.HEURISTIC,
        "folklore",
        "compute every node once, and place the buffers",
        solve=Tuned(solve_store_all, PLACEMENT),
    ),
    Method(
        "cut-bound",
        Promise.BOUND,
        "Checkmate's problem; frontier rows at the stages whose memory costs most",
        "the bound without addresses; for the order of the graph",
        solve=bound_by_cuts,
    ),
    Method(
        "any-order-bound",
        Promise.BOUND,
        "Checkmate's problem without its order",
        "the bound without addresses; for all orders",
        solve=bound_in_any_order,
    ),
)
