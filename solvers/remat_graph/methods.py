"""The methods of remat-graph, the default one first."""

from __future__ import annotations

from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_graph.annealing.method import ANNEAL, solve_anneal
from jettison.solvers.remat_graph.baselines.chen import (
    solve_ap_chen_greedy,
    solve_ap_chen_sqrt,
    solve_chen_greedy,
    solve_chen_sqrt,
)
from jettison.solvers.remat_graph.baselines.dtr import DTR, solve_dtr, solve_dtr_eq, solve_dtr_local
from jettison.solvers.remat_graph.baselines.last_node import solve_last_node
from jettison.solvers.remat_graph.baselines.lp_rounding import LP_ROUNDING, solve_lp_rounding
from jettison.solvers.remat_graph.baselines.partitioned import PARTITIONED, solve_partitioned
from jettison.solvers.remat_graph.baselines.revolve import solve_linearized_griewank
from jettison.solvers.remat_graph.baselines.simple import solve_recompute_all, solve_store_all
from jettison.solvers.remat_graph.baselines.tree_width import solve_tree_width
from jettison.solvers.remat_graph.checkmate import (
    CHECKMATE_LP,
    bound_checkmate_lp,
    solve_checkmate,
)
from jettison.solvers.remat_graph.checkmate_unpartitioned import solve_checkmate_unpartitioned
from jettison.solvers.remat_graph.cuts.bound_method import bound_graph_cuts
from jettison.solvers.remat_graph.cuts.exact_method import solve_graph_exact
from jettison.solvers.remat_graph.cuts.params import EXACT
from jettison.solvers.remat_graph.cuts.restricted_method import RESTRICTED, solve_restricted
from jettison.solvers.remat_graph.cuts.saved_or_once_method import solve_saved_or_once
from jettison.solvers.remat_graph.least_memory import LEAST_MEMORY
from jettison.solvers.remat_graph.orders.bound_method import ANY_ORDER, bound_any_order
from jettison.solvers.remat_graph.orders.joined_method import JOINED, solve_any_order
from jettison.solvers.remat_graph.orders.least_peak_order import LEAST_PEAK, solve_least_peak
from jettison.solvers.remat_graph.orders.method import ORDERS, solve_orders
from jettison.solvers.remat_graph.planners.selective import (
    solve_selective_attention,
    solve_selective_blocks,
    solve_selective_products,
)
from jettison.solvers.remat_graph.planners.torch_min_cut import (
    GREEDY_BUDGETS,
    INTEGER_BUDGETS,
    solve_torch_dynamic,
    solve_torch_greedy,
    solve_torch_integer,
)
from jettison.solvers.remat_graph.planners.xla_greedy import XLA_GREEDY, solve_xla_greedy

METHODS: tuple[Method[RematGraph], ...] = (
    Method(
        "exact",
        Promise.EXACT_STAGED,
        "Checkmate's problem; frontier rows and slots where they are needed",
        "models of few cuts, more where their schedules exceed the memory; annealing if time ends",
        solve=Tuned(solve_graph_exact, EXACT),
    ),
    Method(
        "checkmate",
        Promise.EXACT_STAGED,
        "Checkmate, MLSys 2020; KIWI, Appendix 7.1",
        "the rematerialization ILP, solved by HiGHS, decoded, pruned and replayed",
        solve=Tuned(solve_checkmate, LEAST_MEMORY),
    ),
    Method(
        "checkmate-unpartitioned",
        Promise.BRACKET,
        "Checkmate, MLSys 2020, Section 4.3",
        "the same program without stages, for first computations in any order; tiny graphs only",
        solve=Tuned(solve_checkmate_unpartitioned, LEAST_MEMORY),
    ),
    Method(
        "checkmate-lp",
        Promise.BOUND,
        "Checkmate, MLSys 2020",
        "linear relaxation of the rematerialization ILP",
        solve=Tuned(bound_checkmate_lp, CHECKMATE_LP),
    ),
    Method(
        "anneal",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; staged as Checkmate's schedules",
        "adds, moves and drops recomputations; thousands of nodes",
        solve=Tuned(solve_anneal, ANNEAL),
    ),
    Method(
        "restricted",
        Promise.HEURISTIC,
        "Checkmate's problem; forward operations repeated in the backward pass, nothing else",
        "models of few cuts with fewer columns; for graphs whose backward pass is marked",
        solve=Tuned(solve_restricted, RESTRICTED),
    ),
    Method(
        "saved-or-once",
        Promise.EXACT_SAVED_OR_ONCE,
        "Checkmate's problem; what compilers choose from that partition a step in two passes",
        "models of few cuts; a value is saved between the passes, or computed again once",
        solve=Tuned(solve_saved_or_once, RESTRICTED),
        baselines=("selective-blocks", "torch-min-cut-greedy", "torch-min-cut-dp", "anneal"),
    ),
    Method(
        "cut-bound",
        Promise.BOUND,
        "Checkmate's problem; frontier rows at the stages whose memory costs most",
        "what a few stages' memory forces to be computed again; for the order of the graph",
        solve=Tuned(bound_graph_cuts, EXACT),
    ),
    Method(
        "store-all",
        Promise.HEURISTIC,
        "folklore",
        "compute every node once, free each value after its last use",
        solve=solve_store_all,
    ),
    Method(
        "recompute-all",
        Promise.HEURISTIC,
        "folklore",
        "keep nothing between first computations, recompute every ancestor",
        solve=solve_recompute_all,
    ),
    Method(
        "dtr",
        Promise.HEURISTIC,
        "Kirisame et al., ICLR 2021, arXiv:2006.09616 (h_DTR)",
        "evict what is stale, large and cheap to recompute, without looking ahead",
        solve=Tuned(solve_dtr, DTR),
    ),
    Method(
        "dtr-eq",
        Promise.HEURISTIC,
        "Kirisame et al., ICLR 2021, arXiv:2006.09616 (h_DTR^eq)",
        "the same with components of what is evicted in place of the exact neighbourhood",
        solve=Tuned(solve_dtr_eq, DTR),
    ),
    Method(
        "dtr-local",
        Promise.HEURISTIC,
        "Kirisame et al., ICLR 2021, arXiv:2006.09616 (h_local)",
        "the same without what is evicted around a value",
        solve=Tuned(solve_dtr_local, DTR),
    ),
    Method(
        "lp-rounding",
        Promise.HEURISTIC,
        "Checkmate, MLSys 2020 (two-phase rounding)",
        "checkpoints rounded from the linear relaxation, by thresholds and by draws",
        solve=Tuned(solve_lp_rounding, LP_ROUNDING),
    ),
    Method(
        "ap-chen-greedy",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "checkpoints at articulation points, whenever so many bytes have come together",
        solve=solve_ap_chen_greedy,
    ),
    Method(
        "chen-greedy",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "the same at any node of the linearised forward graph",
        solve=solve_chen_greedy,
    ),
    Method(
        "ap-chen-sqrt",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "about the square root of the articulation points as checkpoints",
        solve=solve_ap_chen_sqrt,
    ),
    Method(
        "chen-sqrt",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "about the square root of the linearised forward graph's nodes as checkpoints",
        solve=solve_chen_sqrt,
    ),
    Method(
        "linearized-griewank",
        Promise.HEURISTIC,
        "Griewank and Walther 2000 (revolve); Checkmate, MLSys 2020",
        "revolve's snapshots on the linearised forward graph, for every number of them",
        solve=solve_linearized_griewank,
    ),
    Method(
        "last-node",
        Promise.HEURISTIC,
        "Checkmate (Jain et al., MLSys 2020), released code",
        "nothing stays between stages but the value of the last one",
        solve=solve_last_node,
    ),
    Method(
        "tree-width",
        Promise.HEURISTIC,
        "Kumar et al., NeurIPS 2019 (TW-REMAT)",
        "separators of a tree decomposition stay, what lies between is computed again for each",
        solve=solve_tree_width,
    ),
    Method(
        "partitioned",
        Promise.HEURISTIC,
        "HiRemate (Gusak et al., ICML 2025), with two levels",
        "parts of the forward pass solved by exact in several memories, their options combined",
        solve=Tuned(solve_partitioned, PARTITIONED),
    ),
    Method(
        "torch-min-cut-dp",
        Promise.HEURISTIC,
        "PyTorch 2.13, torch.compile: activation_memory_budget, its default solver",
        "a minimum cut and a knapsack of what is saved, by dynamic programming, for every budget",
        solve=solve_torch_dynamic,
    ),
    Method(
        "torch-min-cut-greedy",
        Promise.HEURISTIC,
        "PyTorch 2.13, torch.compile: activation_memory_budget, solver greedy",
        "the same with a greedy knapsack",
        solve=Tuned(solve_torch_greedy, GREEDY_BUDGETS),
    ),
    Method(
        "torch-min-cut-ilp",
        Promise.HEURISTIC,
        "PyTorch 2.13, torch.compile: activation_memory_budget, solver ilp",
        "the same with an integer program as knapsack",
        solve=Tuned(solve_torch_integer, INTEGER_BUDGETS),
    ),
    Method(
        "xla-greedy",
        Promise.HEURISTIC,
        "OpenXLA: HloRematerialization",
        "computes again later what frees the most bytes, wherever the memory is exceeded",
        solve=Tuned(solve_xla_greedy, XLA_GREEDY),
    ),
    Method(
        "selective-products",
        Promise.HEURISTIC,
        "torchtitan: selective activation checkpointing",
        "saves products of matrices, but every second or n-th, and fused attention",
        solve=solve_selective_products,
    ),
    Method(
        "selective-blocks",
        Promise.HEURISTIC,
        "torch.utils.checkpoint of each block; Megatron-LM: block and uniform",
        "saves what enters blocks that repeat, in the first of them or in groups",
        solve=solve_selective_blocks,
    ),
    Method(
        "selective-attention",
        Promise.HEURISTIC,
        "Korthikanti et al. 2023, arXiv:2205.05198",
        "computes the scores and the softmax of attentions again",
        solve=solve_selective_attention,
    ),
    Method(
        "any-order-bound",
        Promise.BOUND,
        "Checkmate's problem without its order",
        "what a few moments that every schedule passes force to be computed again; for all orders",
        solve=Tuned(bound_any_order, ANY_ORDER),
    ),
    Method(
        "orders",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; over orders and recomputations",
        "looks for an order of first computations that is better than the one given",
        solve=Tuned(solve_orders, ORDERS),
    ),
    Method(
        "least-peak-order",
        Promise.BRACKET,
        "orders without recomputation: OLLA, arXiv:2210.12924; sets of operators and minimum cuts",
        "the order of least peak that computes everything once, or the proof that none fits",
        solve=Tuned(solve_least_peak, LEAST_PEAK),
    ),
    Method(
        "any-order",
        Promise.BRACKET,
        "Checkmate's problem without its order; annealing, models of few cuts, unrolled schedules",
        "orders, exact in the best order, and sequences that spare recomputations; for all orders",
        solve=Tuned(solve_any_order, JOINED),
    ),
)
