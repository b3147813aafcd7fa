"""The methods of remat-offload-chain, the default one first."""

from __future__ import annotations

from jettison.solvers.method import Method, Promise

METHODS = (
    Method(
        "pofo",
        "remat-offload-chain",
        Promise.BRACKET,
        "POFO, NeurIPS 2021, Appendix B",
        "the best persistent schedule with offloading before the loss, timed at once or fluid",
        "pofo:solve_pofo",
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
        "pofo:solve_offload_only",
    ),
    Method(
        "autocapper",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "POFO, Section 5.1",
        "recompute as in more memory, offload what is above the limit; the best of 40 sizes",
        "autocapper:solve_autocapper",
    ),
    Method(
        "opportunist",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "POFO, Section 5.1",
        "keep the link busy, recompute what it had no time for",
        "opportunist:solve_opportunist",
    ),
    Method(
        "rotor",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "RR-9302, Theorem 1",
        "the fastest persistent schedule without transfers",
        "offload_baselines:solve_rotor_alone",
    ),
    Method(
        "offload-all",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "folklore; the proof of the least memory",
        "move everything after every operation: fits wherever anything does",
        "offload_everything:solve_offload_everything",
    ),
    Method(
        "store-all",
        "remat-offload-chain",
        Promise.HEURISTIC,
        "folklore",
        "save everything in memory, move and recompute nothing",
        "offload_baselines:solve_store_all",
    ),
    Method(
        "cut-bound",
        "remat-offload-chain",
        Promise.BOUND,
        "POFO's problem; cuts chained as for remat-chain, with what the link can carry",
        "what each operation's memory forces to be computed again or moved; for all schedules",
        "offload_cut_bound:bound_offload_cut",
    ),
    Method(
        "event-bound",
        "remat-offload-chain",
        Promise.BOUND,
        "POFO's problem; a linear program over the first starts of all operations",
        "what is where at every first start, all moments in one model; holds for all schedules",
        "offload_event_bound:bound_offload_events",
    ),
)
