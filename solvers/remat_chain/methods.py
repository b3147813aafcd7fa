"""The methods of remat-chain, the default one first."""

from __future__ import annotations

from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_chain.baselines import (
    solve_chen_sqrt,
    solve_periodic,
    solve_recompute_all,
    solve_store_all,
)
from jettison.solvers.remat_chain.cut_bound import CUT_BOUND, bound_chain_cut
from jettison.solvers.remat_chain.revolve import solve_revolve
from jettison.solvers.remat_chain.rotor import ROTOR, solve_rotor, solve_rotor_curve
from jettison.solvers.remat_chain.rotor_drops import (
    DROPS,
    solve_rotor_drops,
    solve_rotor_drops_curve,
)
from jettison.solvers.remat_chain.rotor_exact import EXACT_SEARCH, ROTOR_EXACT, solve_rotor_exact
from jettison.solvers.remat_chain.unrestricted import UNRESTRICTED, solve_unrestricted

METHODS: tuple[Method[RematChain], ...] = (
    Method(
        "unrestricted",
        Promise.EXACT,
        "RR-9302, Section 4.1 poses the question; A* over memory contents, values dropped for free",
        "the fastest of all schedules, and its proof; at a limit, the best schedule of any method",
        solve=Tuned(solve_unrestricted, UNRESTRICTED),
    ),
    Method(
        "rotor-exact",
        Promise.EXACT_PERSISTENT,
        "RR-9302, Theorem 1",
        "the best persistent schedule to the byte: coarse grids, finer ones, then step functions",
        solve=Tuned(solve_rotor_exact, ROTOR_EXACT),
    ),
    Method(
        "rotor",
        Promise.EXACT_PERSISTENT,
        "RR-9302, Algorithms 1 and 2",
        "dynamic program over memory slots, with a floor and a ceiling",
        solve=Tuned(solve_rotor, ROTOR),
        solve_curve=Tuned(solve_rotor_curve, ROTOR),
    ),
    Method(
        "rotor-drops",
        Promise.EXACT_PERSISTENT_WITH_DROPS,
        "RR-9302's recurrence, widened here by drops of inputs",
        "the best schedule that is persistent but for inputs dropped while what they led to stays",
        solve=Tuned(solve_rotor_drops, DROPS),
        solve_curve=Tuned(solve_rotor_drops_curve, DROPS),
    ),
    Method(
        "cut-bound",
        Promise.BOUND,
        "POFO's cut bound without offloading, carried on from cut to cut",
        "what each backward's memory forces to be computed again; holds for all schedules",
        solve=Tuned(bound_chain_cut, CUT_BOUND),
    ),
    Method(
        "store-all",
        Promise.HEURISTIC,
        "folklore",
        "save everything, recompute nothing",
        solve=solve_store_all,
    ),
    Method(
        "revolve",
        Promise.HEURISTIC,
        "Griewank and Walther 2008; RR-9302, Section 5.3",
        "the best schedule that checkpoints inputs of stages only",
        solve=Tuned(solve_revolve, EXACT_SEARCH),
    ),
    Method(
        "periodic",
        Promise.HEURISTIC,
        "RR-9302, Section 5.3 (sequential)",
        "equal segments, the best number of them",
        solve=solve_periodic,
    ),
    Method(
        "chen-sqrt",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174",
        "segments of about the square root of the length",
        solve=solve_chen_sqrt,
    ),
    Method(
        "recompute-all",
        Promise.HEURISTIC,
        "POFO, Section 4 (defines the lowest memory)",
        "save the input only, restart from it for every backward",
        solve=solve_recompute_all,
    ),
)
