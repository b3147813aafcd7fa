"""The methods of remat-sharding, the default one first."""

from __future__ import annotations

from jettison.solvers.method import Method, Promise

METHODS = (
    Method(
        "kiwi-reduced",
        "remat-sharding",
        Promise.EXACT_REDUCED,
        "KIWI, Section 3.2; compact linearisation",
        "the best plan under KIWI's three simplifications; hundreds of operators",
        "kiwi_reduced:solve_kiwi_reduced",
    ),
    Method(
        "kiwi-full",
        "remat-sharding",
        Promise.EXACT_STAGED,
        "KIWI, Section 3.1 and Appendix 7.1",
        "Checkmate's stages with strategies in one ILP; about a dozen operators",
        "kiwi_full:solve_kiwi_full",
    ),
)
