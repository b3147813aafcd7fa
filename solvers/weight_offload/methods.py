"""The methods of weight-offload, the default one first."""

from __future__ import annotations

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.weight_offload.bound_guided import BOUND_GUIDED, solve_bound_guided
from jettison.solvers.weight_offload.bounds.aggregated import (
    AGGREGATED,
    bound_weight_fluid,
    bound_weight_whole,
)
from jettison.solvers.weight_offload.bounds.closed_form import CLOSED_FORM, bound_weight_closed_form
from jettison.solvers.weight_offload.bounds.milp import (
    MILP,
    bound_paper_milp,
    bound_paper_milp_strengthened,
)
from jettison.solvers.weight_offload.events.method import solve_event_milp
from jettison.solvers.weight_offload.events.params import EVENT_MILP
from jettison.solvers.weight_offload.exact.method import solve_weight_exact
from jettison.solvers.weight_offload.exact.params import WEIGHT_EXACT
from jettison.solvers.weight_offload.greedy.method import solve_greedy, solve_greedy_no_discount
from jettison.solvers.weight_offload.layer_to_layer import solve_layer_to_layer
from jettison.solvers.weight_offload.local_search import WEIGHT_SEARCH, solve_local_search
from jettison.solvers.weight_offload.margin_sweep import MARGINS, solve_margin_sweep

METHODS: tuple[Method[WeightOffload], ...] = (
    Method(
        "local-search",
        Promise.HEURISTIC,
        "changes to the best schedule of the methods below",
        "random changes of what is absent and of the order of transfers; the best of all methods",
        solve=Tuned(solve_local_search, WEIGHT_SEARCH),
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
        Promise.HEURISTIC,
        "the paper on weight offloading, Section 5, with memory to spare",
        "greedy, which selects for less memory than there is; the best of up to 400 margins",
        solve=Tuned(solve_margin_sweep, MARGINS),
    ),
    Method(
        "greedy",
        Promise.HEURISTIC,
        "the paper on weight offloading, Algorithms 1 and 2",
        "the most profitable absences until all fits, then all transfers as soon as possible",
        solve=solve_greedy,
    ),
    Method(
        "greedy-no-discount",
        Promise.HEURISTIC,
        "the paper on weight offloading, Section 7 (Greedy*)",
        "the same selection, but every deletion pays an upload of its own",
        solve=solve_greedy_no_discount,
    ),
    Method(
        "l2l",
        Promise.HEURISTIC,
        "Pudipeddi et al. 2020, arXiv:2002.05645",
        "only the running layer's weights stay, every operation waits for its own; always fits",
        solve=solve_layer_to_layer,
    ),
    Method(
        "bound-guided",
        Promise.BRACKET,
        "the paper on weight offloading, Section 5; selections from the models agg and aggint",
        "the bound's model chooses what leaves memory, Algorithm 2 schedules it; with the bound",
        solve=Tuned(solve_bound_guided, BOUND_GUIDED),
    ),
    Method(
        "paper-milp",
        Promise.BOUND,
        "the paper on weight offloading, Section 6, its misprints corrected",
        "the paper's own MILP: every layer's weights from operation to operation",
        solve=Tuned(bound_paper_milp, MILP),
    ),
    Method(
        "paper-milp-strengthened",
        Promise.BOUND,
        "the paper on weight offloading, Section 6, and rows that it has not",
        "the paper's MILP with valid inequalities; proves more, takes longer",
        solve=Tuned(bound_paper_milp_strengthened, MILP),
    ),
    Method(
        "agg",
        Promise.BOUND,
        "the paper's problem; inventories of all layers together",
        "a model of O(L) columns, its relaxation in exact arithmetic; for a thousand layers",
        solve=Tuned(bound_weight_fluid, AGGREGATED),
    ),
    Method(
        "aggint",
        Promise.BOUND,
        "the paper's problem; inventories of all layers together",
        "the same with equal layers absent as a whole or not at all; proves more, takes longer",
        solve=Tuned(bound_weight_whole, AGGREGATED),
    ),
    Method(
        "closed-form",
        Promise.BOUND,
        "the paper's problem; what has to come back for the first and for the last layer",
        "a knapsack cover over the link's time, in exact integers, without a solver",
        solve=Tuned(bound_weight_closed_form, CLOSED_FORM),
    ),
    Method(
        "exact",
        Promise.EXACT,
        "the paper on weight offloading poses the problem; sweeps over events, period by period",
        "the fastest of all schedules, proved: up to about 8 layers in seconds; on a shared link "
        "a bracket of it",
        solve=Tuned(solve_weight_exact, WEIGHT_EXACT),
    ),
    Method(
        "event-milp",
        Promise.EXACT,
        "the paper on weight offloading poses the problem; the model over events is ours",
        "the fastest of all schedules by an exact MILP; its bound rests on the solver; on a shared "
        "link a bracket of it",
        solve=Tuned(solve_event_milp, EVENT_MILP),
    ),
)
