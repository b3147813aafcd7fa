"""The methods of remat-sharding, the default one first."""

from __future__ import annotations

from jettison.solvers.core.method import Method, Promise

METHODS = (
    Method(
        "exact",
        "remat-sharding",
        Promise.EXACT_STAGED,
        "KIWI, NeurIPS'23 workshop, equations (1) and (12) to (23)",
        "strategies and recomputation together; models of few cuts, more where plans exceed memory",
        "remat_sharding.exact.method:solve_sharded_exact",
        baselines=(
            "alpa",
            "alpa-checkpoint-dots",
            "alpa-selective",
            "alpa-recompute-all",
        ),
    ),
    Method(
        "kiwi-reduced",
        "remat-sharding",
        Promise.EXACT_REDUCED,
        "KIWI, Section 3.2; compact linearisation",
        "the best plan under KIWI's three simplifications; hundreds of operators",
        "remat_sharding.kiwi.reduced:solve_kiwi_reduced",
        baselines=(
            "alpa",
            "alpa-checkpoint-dots",
            "alpa-selective",
            "alpa-recompute-all",
        ),
    ),
    Method(
        "kiwi-full",
        "remat-sharding",
        Promise.EXACT_STAGED,
        "KIWI, Section 3.1 and Appendix 7.1",
        "Checkmate's stages with strategies in one ILP; about a dozen operators",
        "remat_sharding.kiwi.full:solve_kiwi_full",
        baselines=(
            "alpa",
            "alpa-checkpoint-dots",
            "alpa-selective",
            "alpa-recompute-all",
        ),
    ),
    Method(
        "alpa",
        "remat-sharding",
        Promise.HEURISTIC,
        "Alpa: Zheng et al., OSDI 2022",
        "the fastest strategies that fit with every operator computed once",
        "remat_sharding.baselines:solve_alpa",
    ),
    Method(
        "alpa-checkpoint-dots",
        "remat-sharding",
        Promise.HEURISTIC,
        "KIWI, Section 4.1; JAX's checkpoint policies",
        "all but products of matrices computed again, then the fastest strategies",
        "remat_sharding.baselines:solve_checkpoint_dots_alpa",
    ),
    Method(
        "alpa-selective",
        "remat-sharding",
        Promise.HEURISTIC,
        "KIWI, Section 4.1; Megatron: Korthikanti et al., 2022",
        "the inside of attention computed again, then the fastest strategies",
        "remat_sharding.baselines:solve_selective_alpa",
    ),
    Method(
        "alpa-recompute-all",
        "remat-sharding",
        Promise.HEURISTIC,
        "folklore",
        "every forward operator computed again, then the fastest strategies",
        "remat_sharding.baselines:solve_recompute_all_alpa",
    ),
)
