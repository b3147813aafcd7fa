"""The methods of weight-offload, the default one first."""

from __future__ import annotations

from jettison.solvers.core.method import Method, Promise

METHODS = (
    Method(
        "local-search",
        "weight-offload",
        Promise.HEURISTIC,
        "changes to the best schedule of the methods below",
        "random changes of what is absent and of the order of transfers; the best of all methods",
        "weight_offload.local_search:solve_local_search",
        baselines=(
            "l2l",
            "greedy",
            "greedy-no-discount",
            "margin-sweep",
            "bound-guided",
        ),
    ),
    Method(
        "margin-sweep",
        "weight-offload",
        Promise.HEURISTIC,
        "the paper on weight offloading, Section 5, with memory to spare",
        "greedy, which selects for less memory than there is; the best of up to 400 margins",
        "weight_offload.margin_sweep:solve_margin_sweep",
    ),
    Method(
        "greedy",
        "weight-offload",
        Promise.HEURISTIC,
        "the paper on weight offloading, Algorithms 1 and 2",
        "the most profitable absences until all fits, then all transfers as soon as possible",
        "weight_offload.greedy.method:solve_greedy",
    ),
    Method(
        "greedy-no-discount",
        "weight-offload",
        Promise.HEURISTIC,
        "the paper on weight offloading, Section 7 (Greedy*)",
        "the same selection, but every deletion pays an upload of its own",
        "weight_offload.greedy.method:solve_greedy_no_discount",
    ),
    Method(
        "l2l",
        "weight-offload",
        Promise.HEURISTIC,
        "Pudipeddi et al. 2020, arXiv:2002.05645",
        "only the running layer's weights stay, every operation waits for its own; always fits",
        "weight_offload.layer_to_layer:solve_layer_to_layer",
    ),
    Method(
        "bound-guided",
        "weight-offload",
        Promise.BRACKET,
        "the paper on weight offloading, Section 5; selections from the models agg and aggint",
        "the bound's model chooses what leaves memory, Algorithm 2 schedules it; with the bound",
        "weight_offload.bound_guided:solve_bound_guided",
    ),
    Method(
        "milp",
        "weight-offload",
        Promise.BOUND,
        "the paper on weight offloading, Section 6, corrected and strengthened",
        "the paper's MILP: every layer's weights from operation to operation",
        "weight_offload.bounds.milp:bound_weight_milp",
    ),
    Method(
        "agg",
        "weight-offload",
        Promise.BOUND,
        "the paper's problem; inventories of all layers together",
        "a model of O(L) columns, its relaxation in exact arithmetic; for a thousand layers",
        "weight_offload.bounds.aggregated:bound_weight_fluid",
    ),
    Method(
        "aggint",
        "weight-offload",
        Promise.BOUND,
        "the paper's problem; inventories of all layers together",
        "the same with equal layers absent as a whole or not at all; proves more, takes longer",
        "weight_offload.bounds.aggregated:bound_weight_whole",
    ),
    Method(
        "closed-form",
        "weight-offload",
        Promise.BOUND,
        "the paper's problem; what has to come back for the first and for the last layer",
        "a knapsack cover over the link's time, in exact integers, without a solver",
        "weight_offload.bounds.closed_form:bound_weight_closed_form",
    ),
    Method(
        "exact",
        "weight-offload",
        Promise.EXACT,
        "the paper on weight offloading poses the problem; sweeps over events, period by period",
        "the fastest of all schedules, proved: up to about 8 layers in seconds",
        "weight_offload.exact.method:solve_weight_exact",
    ),
)
