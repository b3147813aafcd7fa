"""The methods of remat-chain, the default one first."""

from __future__ import annotations

from jettison.solvers.core.method import Method, Promise

METHODS = (
    Method(
        "unrestricted",
        "remat-chain",
        Promise.EXACT,
        "RR-9302, Section 4.1 poses the question; A* over memory contents, values dropped for free",
        "the fastest of all schedules, and its proof; at a limit, the best schedule of any method",
        "remat_chain.unrestricted:solve_unrestricted",
    ),
    Method(
        "rotor-exact",
        "remat-chain",
        Promise.EXACT_PERSISTENT,
        "RR-9302, Theorem 1",
        "the best persistent schedule to the byte: coarse grids, finer ones, then step functions",
        "remat_chain.rotor_exact:solve_rotor_exact",
    ),
    Method(
        "rotor",
        "remat-chain",
        Promise.EXACT_PERSISTENT,
        "RR-9302, Algorithms 1 and 2",
        "dynamic program over memory slots, with a floor and a ceiling",
        "remat_chain.rotor:solve_rotor",
        "remat_chain.rotor:solve_rotor_curve",
    ),
    Method(
        "rotor-drops",
        "remat-chain",
        Promise.EXACT_PERSISTENT_WITH_DROPS,
        "RR-9302's recurrence, widened here by drops of inputs",
        "the best schedule that is persistent but for inputs dropped while what they led to stays",
        "remat_chain.rotor_drops:solve_rotor_drops",
        "remat_chain.rotor_drops:solve_rotor_drops_curve",
    ),
    Method(
        "cut-bound",
        "remat-chain",
        Promise.BOUND,
        "POFO's cut bound without offloading, carried on from cut to cut",
        "what each backward's memory forces to be computed again; holds for all schedules",
        "remat_chain.cut_bound:bound_chain_cut",
    ),
    Method(
        "store-all",
        "remat-chain",
        Promise.HEURISTIC,
        "folklore",
        "save everything, recompute nothing",
        "remat_chain.baselines:solve_store_all",
    ),
    Method(
        "revolve",
        "remat-chain",
        Promise.HEURISTIC,
        "Griewank and Walther 2008; RR-9302, Section 5.3",
        "the best schedule that checkpoints inputs of stages only",
        "remat_chain.revolve:solve_revolve",
    ),
    Method(
        "periodic",
        "remat-chain",
        Promise.HEURISTIC,
        "RR-9302, Section 5.3 (sequential)",
        "equal segments, the best number of them",
        "remat_chain.baselines:solve_periodic",
    ),
    Method(
        "chen-sqrt",
        "remat-chain",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174",
        "segments of about the square root of the length",
        "remat_chain.baselines:solve_chen_sqrt",
    ),
    Method(
        "recompute-all",
        "remat-chain",
        Promise.HEURISTIC,
        "POFO, Section 4 (defines the lowest memory)",
        "save the input only, restart from it for every backward",
        "remat_chain.baselines:solve_recompute_all",
    ),
)
