"""The methods of remat-offload-chain, the default one first."""

from __future__ import annotations

from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_chain.rotor_exact import EXACT_SEARCH, SEARCH_GRID
from jettison.solvers.remat_offload.autocapper import AUTOCAPPER, solve_autocapper
from jettison.solvers.remat_offload.baselines import solve_rotor_alone, solve_store_all
from jettison.solvers.remat_offload.cut_bound.cuts import OFFLOAD_CUTS
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from jettison.solvers.remat_offload.event_bound import EVENTS, bound_offload_events
from jettison.solvers.remat_offload.offload_everything import solve_offload_everything
from jettison.solvers.remat_offload.opportunist import solve_opportunist
from jettison.solvers.remat_offload.pofo.method import solve_offload_only, solve_pofo
from jettison.solvers.remat_offload.pofo.params import PLANS, POFO

METHODS: tuple[Method[RematOffloadChain], ...] = (
    Method(
        "pofo",
        Promise.BRACKET,
        "POFO, NeurIPS 2021, Appendix B",
        "the best persistent schedule with offloading before the loss, timed at once or fluid",
        solve=Tuned(solve_pofo, POFO),
        baselines=(
            "store-all",
            "offload-all",
            "opportunist",
            "rotor",
            "autocapper",
            "offload-only",
        ),
    ),
    Method(
        "offload-only",
        Promise.HEURISTIC,
        "Beaumont et al., Euro-Par 2020; POFO, Section 5.2",
        "the best choice of what to offload where nothing is computed again",
        solve=Tuned(solve_offload_only, PLANS),
    ),
    Method(
        "autocapper",
        Promise.HEURISTIC,
        "POFO, Section 5.1",
        "recompute as in more memory, offload what is above the limit; the best of 40 sizes",
        solve=Tuned(solve_autocapper, AUTOCAPPER),
    ),
    Method(
        "opportunist",
        Promise.HEURISTIC,
        "POFO, Section 5.1",
        "offload whenever the link is idle, recompute the rest",
        solve=Tuned(solve_opportunist, SEARCH_GRID),
    ),
    Method(
        "rotor",
        Promise.HEURISTIC,
        "RR-9302, Theorem 1",
        "the fastest persistent schedule without transfers",
        solve=Tuned(solve_rotor_alone, EXACT_SEARCH),
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
        "save everything in memory, move and recompute nothing",
        solve=solve_store_all,
    ),
    Method(
        "cut-bound",
        Promise.BOUND,
        "POFO's problem; cuts chained as for remat-chain, with what the link can carry",
        "what each operation's memory forces to be computed again or moved; for all schedules",
        solve=Tuned(bound_offload_cut, OFFLOAD_CUTS),
    ),
    Method(
        "event-bound",
        Promise.BOUND,
        "POFO's problem; a linear program over the first starts of all operations",
        "what is where at every first start, all moments in one model; holds for all schedules",
        solve=Tuned(bound_offload_events, EVENTS),
    ),
)
