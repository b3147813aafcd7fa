"""The methods of remat-offload-chain, the default one first."""

from __future__ import annotations

from jettison.solvers.core.method import Method, Promise

METHODS = (
    Method(
        "pofo",
        "remat-offload-chain",
        Promise.BRACKET,
        "POFO, NeurIPS 2021, Appendix B",
        "the best persistent schedule with offloading before the loss, timed at once or fluid",
        "remat_offload.pofo.method:solve_pofo",
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
        "remat-offload-chain",
        Promise.HEURISTIC,
        "Beaumont et al., Euro-Par 2020; POFO, Section 5.2",
        "the best choice of what to offload where nothing is computed again",
        "remat_offload.pofo.method:solve_offload_only",
    ),
    Method(
        "autocapper",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "POFO, Section 5.1",
        "recompute as in more memory, offload what is above the limit; the best of 40 sizes",
        "remat_offload.autocapper:solve_autocapper",
    ),
    Method(
        "opportunist",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "POFO, Section 5.1",
        "keep the link busy, recompute what it had no time for",
        "remat_offload.opportunist:solve_opportunist",
    ),
    Method(
        "rotor",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "RR-9302, Theorem 1",
        "the fastest persistent schedule without transfers",
        "remat_offload.baselines:solve_rotor_alone",
    ),
    Method(
        "offload-all",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "folklore; the proof of the least memory",
        "move everything after every operation: fits wherever anything does",
        "remat_offload.offload_everything:solve_offload_everything",
    ),
    Method(
        "store-all",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "folklore",
        "save everything in memory, move and recompute nothing",
        "remat_offload.baselines:solve_store_all",
    ),
    Method(
        "cut-bound",
        "remat-offload-chain",
        Promise.BOUND,
        "POFO's problem; cuts chained as for remat-chain, with what the link can carry",
        "what each operation's memory forces to be computed again or moved; for all schedules",
        "remat_offload.cut_bound.method:bound_offload_cut",
    ),
    Method(
        "event-bound",
        "remat-offload-chain",
        Promise.BOUND,
        "POFO's problem; a linear program over the first starts of all operations",
        "what is where at every first start, all moments in one model; holds for all schedules",
        "remat_offload.event_bound:bound_offload_events",
    ),
)
