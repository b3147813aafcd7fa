"""The methods of multi-model, the default one first."""

from __future__ import annotations

from jettison.solvers.core.method import Method, Promise

METHODS = (
    Method(
        "local-search",
        "multi-model",
        Promise.HEURISTIC,
        "changes to the best schedule of the other heuristics, over all divisions into units",
        "random changes of fates of feature maps and of interleavings; starts from all others",
        "multi_model.local_search:solve_local_search",
    ),
    Method(
        "mu-two",
        "multi-model",
        Promise.HEURISTIC,
        "µ-TWO, Algorithms B to G, corrected",
        "pairs of sub-arrays, the backward pass of one beside the forward pass of the other",
        "multi_model.mu_two.method:solve_mu_two",
    ),
    Method(
        "mu-two-both-ways",
        "multi-model",
        Promise.HEURISTIC,
        "not in the paper: µ-TWO that charges a swap for its copy to the host",
        "mu-two with copies in both directions charged for; never slower than mu-two",
        "multi_model.mu_two.method:solve_mu_two_both_ways",
    ),
    Method(
        "hfta",
        "multi-model",
        Promise.HEURISTIC,
        "Wang et al. 2021 (HFTA); µ-TWO, Section 5 (HFTA-NoMemOpt)",
        "as many models fused as fit with every feature map kept, group after group",
        "multi_model.baselines:solve_hfta",
    ),
    Method(
        "hfta-capuchin",
        "multi-model",
        Promise.HEURISTIC,
        "µ-TWO, Section 5 (HFTA-Capuchin); Peng et al. 2020",
        "all models fused; the policy of µ-TWO swaps and recomputes, nothing is interleaved",
        "multi_model.mu_two.method:solve_hfta_capuchin",
    ),
    Method(
        "capuchin",
        "multi-model",
        Promise.HEURISTIC,
        "Peng et al. 2020 (Capuchin), on fused models as in µ-TWO, Appendix B.2.2",
        "all models fused; swaps in order of free time, recomputation by memory saved per second",
        "multi_model.capuchin:solve_capuchin",
    ),
    Method(
        "hfta-both-ways",
        "multi-model",
        Promise.HEURISTIC,
        "not in the paper: the policy of µ-TWO that charges a swap for its copy to the host",
        "all models fused; hfta-capuchin with copies in both directions charged for",
        "multi_model.mu_two.method:solve_hfta_both_ways",
    ),
    Method(
        "swap-only",
        "multi-model",
        Promise.HEURISTIC,
        "µ-TWO, Table E; Rhu et al. 2016 (vDNN)",
        "all models fused; feature maps leave for the host until the rest fits",
        "multi_model.mu_two.method:solve_swap_only",
    ),
    Method(
        "recompute-only",
        "multi-model",
        Promise.HEURISTIC,
        "µ-TWO, Table E",
        "all models fused; feature maps are computed again until the rest fits",
        "multi_model.mu_two.method:solve_recompute_only",
    ),
    Method(
        "exact",
        "multi-model",
        Promise.EXACT,
        "the problem of the µ-TWO paper; label setting over operation lists",
        "the fastest of all schedules, proved: a few feature maps and up to about 8 operators",
        "multi_model.exact.method:solve_multi_model_exact",
    ),
    Method(
        "bound",
        "multi-model",
        Promise.BOUND,
        "the problem of the µ-TWO paper; an integer program for each unit",
        "a lower bound for every division and interleaving, its relaxation in exact arithmetic",
        "multi_model.bound.divisions:bound_multi_model",
    ),
)
