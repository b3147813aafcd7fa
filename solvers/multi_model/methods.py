"""The methods of multi-model, the default one first."""

from __future__ import annotations

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.multi_model.baselines import solve_hfta
from jettison.solvers.multi_model.bound.divisions import bound_multi_model
from jettison.solvers.multi_model.bound.unit import UNIT_BOUND
from jettison.solvers.multi_model.capuchin import solve_capuchin
from jettison.solvers.multi_model.exact.method import EXACT, solve_multi_model_exact
from jettison.solvers.multi_model.local_search import UNIT_SEARCH, solve_local_search
from jettison.solvers.multi_model.mu_two.method import (
    solve_hfta_both_ways,
    solve_hfta_capuchin,
    solve_mu_two,
    solve_mu_two_both_ways,
    solve_recompute_only,
    solve_swap_only,
)
from jettison.solvers.multi_model.mu_two.unit import POLICY

METHODS: tuple[Method[MultiModelTraining], ...] = (
    Method(
        "local-search",
        Promise.HEURISTIC,
        "changes to the best schedule of the other heuristics, over all divisions into units",
        "random changes of fates of feature maps and of interleavings; starts from all others",
        solve=Tuned(solve_local_search, UNIT_SEARCH),
    ),
    Method(
        "mu-two",
        Promise.HEURISTIC,
        "µ-TWO, Algorithms B to G, corrected",
        "pairs of sub-arrays, the backward pass of one beside the forward pass of the other",
        solve=Tuned(solve_mu_two, POLICY),
    ),
    Method(
        "mu-two-both-ways",
        Promise.HEURISTIC,
        "not in the paper: µ-TWO that charges a swap for its copy to the host",
        "mu-two with copies in both directions charged for; never slower than mu-two",
        solve=Tuned(solve_mu_two_both_ways, POLICY),
    ),
    Method(
        "hfta",
        Promise.HEURISTIC,
        "Wang et al. 2021 (HFTA); µ-TWO, Section 5 (HFTA-NoMemOpt)",
        "as many models fused as fit with every feature map kept, group after group",
        solve=solve_hfta,
    ),
    Method(
        "hfta-capuchin",
        Promise.HEURISTIC,
        "µ-TWO, Section 5 (HFTA-Capuchin); Peng et al. 2020",
        "all models fused; the policy of µ-TWO swaps and recomputes, nothing is interleaved",
        solve=Tuned(solve_hfta_capuchin, POLICY),
    ),
    Method(
        "capuchin",
        Promise.HEURISTIC,
        "Peng et al. 2020 (Capuchin), on fused models as in µ-TWO, Appendix B.2.2",
        "all models fused; swaps in order of free time, recomputation by memory saved per second",
        solve=Tuned(solve_capuchin, POLICY),
    ),
    Method(
        "hfta-both-ways",
        Promise.HEURISTIC,
        "not in the paper: the policy of µ-TWO that charges a swap for its copy to the host",
        "all models fused; hfta-capuchin with copies in both directions charged for",
        solve=Tuned(solve_hfta_both_ways, POLICY),
    ),
    Method(
        "swap-only",
        Promise.HEURISTIC,
        "µ-TWO, Table E; Rhu et al. 2016 (vDNN)",
        "all models fused; feature maps leave for the host until the rest fits",
        solve=Tuned(solve_swap_only, POLICY),
    ),
    Method(
        "recompute-only",
        Promise.HEURISTIC,
        "µ-TWO, Table E",
        "all models fused; feature maps are computed again until the rest fits",
        solve=Tuned(solve_recompute_only, POLICY),
    ),
    Method(
        "exact",
        Promise.EXACT,
        "the problem of the µ-TWO paper; label setting over operation lists",
        "the fastest of all schedules, proved: a few feature maps and up to about 8 operators; on "
        "a shared link a bracket",
        solve=Tuned(solve_multi_model_exact, EXACT),
    ),
    Method(
        "bound",
        Promise.BOUND,
        "the problem of the µ-TWO paper; an integer program for each unit",
        "a lower bound for every division and interleaving, its relaxation in exact arithmetic",
        solve=Tuned(bound_multi_model, UNIT_BOUND),
    ),
)
