"""The methods of remat-sharding, the default one first."""

from __future__ import annotations

from jettison.instances.remat_sharding.problem import RematSharding
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_sharding.baselines import (
    solve_alpa,
    solve_checkpoint_dots_alpa,
    solve_recompute_all_alpa,
    solve_selective_alpa,
)
from jettison.solvers.remat_sharding.exact.method import solve_sharded_exact
from jettison.solvers.remat_sharding.exact.search import SHARDED
from jettison.solvers.remat_sharding.kiwi.by_scip import (
    REDUCED_SCIP,
    solve_kiwi_full_scip,
    solve_kiwi_reduced_scip,
)
from jettison.solvers.remat_sharding.kiwi.elementwise import ELEMENTWISE, solve_kiwi_elementwise
from jettison.solvers.remat_sharding.kiwi.full import FULL, solve_kiwi_full
from jettison.solvers.remat_sharding.kiwi.reduced import solve_kiwi_reduced
from jettison.solvers.remat_sharding.kiwi.reduced_rounds import REDUCED
from jettison.solvers.remat_sharding.strategies_of_computations import FIXED

_BASELINES = ("alpa", "alpa-checkpoint-dots", "alpa-selective", "alpa-recompute-all")

METHODS: tuple[Method[RematSharding], ...] = (
    Method(
        "exact",
        Promise.EXACT_STAGED,
        "KIWI, NeurIPS'23 workshop, equations (1) and (12) to (23)",
        "strategies and recomputation together; models of few cuts, more where plans exceed memory",
        solve=Tuned(solve_sharded_exact, SHARDED),
        baselines=_BASELINES,
    ),
    Method(
        "kiwi-reduced",
        Promise.EXACT_REDUCED,
        "KIWI, Section 3.2; compact linearisation",
        "the best plan under KIWI's three simplifications; hundreds of operators",
        solve=Tuned(solve_kiwi_reduced, REDUCED),
        baselines=_BASELINES,
    ),
    Method(
        "kiwi-elementwise",
        Promise.EXACT_ELEMENTWISE,
        "ours, after KIWI, Section 3.2, and JAX's checkpoint policies",
        "the reduced problem with elementwise operators recomputed together",
        solve=Tuned(solve_kiwi_elementwise, ELEMENTWISE),
        baselines=_BASELINES,
    ),
    Method(
        "kiwi-full",
        Promise.EXACT_STAGED,
        "KIWI, Section 3.1 and Appendix 7.1",
        "Checkmate's stages with strategies in one ILP; about a dozen operators",
        solve=Tuned(solve_kiwi_full, FULL),
        baselines=_BASELINES,
    ),
    Method(
        "kiwi-reduced-scip",
        Promise.EXACT_REDUCED,
        "KIWI, Section 3.2; the quadratic program by SCIP",
        "the reduced problem as printed, products and all; some dozen operators; jettison[scip]",
        solve=Tuned(solve_kiwi_reduced_scip, REDUCED_SCIP),
        baselines=_BASELINES,
        needs="pyscipopt",
    ),
    Method(
        "kiwi-full-scip",
        Promise.EXACT_STAGED,
        "KIWI, Section 3.1 and Appendix 7.1; the quadratic program by SCIP",
        "the full problem as printed, products and all; about ten operators; jettison[scip]",
        solve=Tuned(solve_kiwi_full_scip, FULL),
        baselines=_BASELINES,
        needs="pyscipopt",
    ),
    Method(
        "alpa",
        Promise.HEURISTIC,
        "Alpa: Zheng et al., OSDI 2022",
        "the fastest strategies that fit with every operator computed once",
        solve=Tuned(solve_alpa, FIXED),
    ),
    Method(
        "alpa-checkpoint-dots",
        Promise.HEURISTIC,
        "KIWI, Section 4.1; JAX's checkpoint policies",
        "all but products of matrices computed again, then the fastest strategies",
        solve=Tuned(solve_checkpoint_dots_alpa, FIXED),
    ),
    Method(
        "alpa-selective",
        Promise.HEURISTIC,
        "KIWI, Section 4.1; Megatron: Korthikanti et al., 2022",
        "the inside of attention computed again, then the fastest strategies",
        solve=Tuned(solve_selective_alpa, FIXED),
    ),
    Method(
        "alpa-recompute-all",
        Promise.HEURISTIC,
        "folklore",
        "every forward operator computed again, then the fastest strategies",
        solve=Tuned(solve_recompute_all_alpa, FIXED),
    ),
)
