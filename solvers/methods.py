"""Every method of every problem, and what it promises: one row each.

The modules are imported when a method runs, so that listing them is light.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from jettison.instances.errors import InputError
from jettison.solvers.outcome import Outcome, Problem, SolveOptions


class Promise(StrEnum):
    """What a method promises of its answer."""

    EXACT = "exact"
    EXACT_PERSISTENT = "exact-persistent"
    EXACT_STAGED = "exact-staged"
    BRACKET = "bracket"
    """A schedule, and a bound that need not meet it."""

    HEURISTIC = "heuristic"
    BOUND = "bound"


@dataclass(frozen=True, slots=True)
class Method:
    """One named algorithm for one problem.

    Attributes
    ----------
    name
        Its name on the command line.
    problem
        The problem it solves.
    promise
        What its answer is worth when it ends without hitting a limit.
    source
        Where it comes from.
    summary
        One line for a person.
    entry
        ``module:function``; the function takes the problem and `SolveOptions`.
    curve_entry
        The same for a list of problems that differ in their memory only, and returns one outcome
        each; None where solving them together saves nothing.
    """

    name: str
    problem: str
    promise: Promise
    source: str
    summary: str
    entry: str
    curve_entry: str | None = None

    def run(self, problem: Problem, options: SolveOptions) -> Outcome:
        """Run the method."""
        call: Callable[[Problem, SolveOptions], Outcome] = _function(self.entry)
        return call(problem, options)

    def run_curve(self, problems: Sequence[Problem], options: SolveOptions) -> list[Outcome]:
        """Run the method on one instance in several memories."""
        if self.curve_entry is None:
            return [self.run(problem, options) for problem in problems]
        call: Callable[[Sequence[Problem], SolveOptions], list[Outcome]] = _function(
            self.curve_entry
        )
        return call(problems, options)


def _function(entry: str) -> Callable[..., Any]:
    module, name = entry.split(":")
    function: Callable[..., Any] = getattr(import_module(f"jettison.solvers.{module}"), name)
    return function


METHODS = (
    Method(
        "rotor-exact",
        "remat-chain",
        Promise.EXACT_PERSISTENT,
        "RR-9302, Theorem 1",
        "the best persistent schedule to the byte: coarse grids, finer ones, then step functions",
        "rotor_exact:solve_rotor_exact",
    ),
    Method(
        "rotor",
        "remat-chain",
        Promise.EXACT_PERSISTENT,
        "RR-9302, Algorithms 1 and 2",
        "dynamic program over memory slots, with a floor and a ceiling",
        "rotor:solve_rotor",
        "rotor:solve_rotor_curve",
    ),
    Method(
        "unrestricted",
        "remat-chain",
        Promise.EXACT,
        "RR-9302, Section 4.1 poses the question; A* over memory contents",
        "the fastest of all schedules, persistent or not, of a chain of at most 29 stages",
        "unrestricted:solve_unrestricted",
    ),
    Method(
        "cut-bound",
        "remat-chain",
        Promise.BOUND,
        "POFO's cut bound without offloading, carried on from cut to cut",
        "what each backward's memory forces to be computed again; holds for all schedules",
        "chain_cut_bound:bound_chain_cut",
    ),
    Method(
        "store-all",
        "remat-chain",
        Promise.HEURISTIC,
        "folklore",
        "save everything, recompute nothing",
        "chain_baselines:solve_store_all",
    ),
    Method(
        "revolve",
        "remat-chain",
        Promise.HEURISTIC,
        "Griewank and Walther 2008; RR-9302, Section 5.3",
        "the best schedule that checkpoints inputs of stages only",
        "revolve:solve_revolve",
    ),
    Method(
        "periodic",
        "remat-chain",
        Promise.HEURISTIC,
        "RR-9302, Section 5.3 (sequential)",
        "equal segments, the best number of them",
        "chain_baselines:solve_periodic",
    ),
    Method(
        "chen-sqrt",
        "remat-chain",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174",
        "segments of about the square root of the length",
        "chain_baselines:solve_chen_sqrt",
    ),
    Method(
        "recompute-all",
        "remat-chain",
        Promise.HEURISTIC,
        "POFO, Section 4 (defines the lowest memory)",
        "save the input only, restart from it for every backward",
        "chain_baselines:solve_recompute_all",
    ),
    Method(
        "pofo",
        "remat-offload-chain",
        Promise.BRACKET,
        "POFO, NeurIPS 2021, Appendix B",
        "the best persistent schedule with offloading before the loss, timed at once or fluid",
        "pofo:solve_pofo",
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
    Method(
        "local-search",
        "weight-offload",
        Promise.HEURISTIC,
        "changes to the best schedule of the methods below",
        "random changes of what is absent and of the order of transfers; the best of all methods",
        "weight_local_search:solve_local_search",
    ),
    Method(
        "margin-sweep",
        "weight-offload",
        Promise.HEURISTIC,
        "the paper on weight offloading, Section 5, with memory to spare",
        "greedy, which selects for less memory than there is; the best of up to 400 margins",
        "weight_margin:solve_margin_sweep",
    ),
    Method(
        "greedy",
        "weight-offload",
        Promise.HEURISTIC,
        "the paper on weight offloading, Algorithms 1 and 2",
        "the most profitable absences until all fits, then all transfers as soon as possible",
        "weight_greedy:solve_greedy",
    ),
    Method(
        "greedy-no-discount",
        "weight-offload",
        Promise.HEURISTIC,
        "the paper on weight offloading, Section 7 (Greedy*)",
        "the same selection, but every deletion pays an upload of its own",
        "weight_greedy:solve_greedy_no_discount",
    ),
    Method(
        "l2l",
        "weight-offload",
        Promise.HEURISTIC,
        "Pudipeddi et al. 2020, arXiv:2002.05645",
        "only the running layer's weights stay, every operation waits for its own; always fits",
        "layer_to_layer:solve_layer_to_layer",
    ),
    Method(
        "bound-guided",
        "weight-offload",
        Promise.BRACKET,
        "the paper on weight offloading, Section 5; selections from the models agg and aggint",
        "the bound's model chooses what leaves memory, Algorithm 2 schedules it; with the bound",
        "weight_bound_guided:solve_bound_guided",
    ),
    Method(
        "milp",
        "weight-offload",
        Promise.BOUND,
        "the paper on weight offloading, Section 6, corrected and strengthened",
        "the paper's MILP: every layer's weights from operation to operation",
        "weight_milp_bound:bound_weight_milp",
    ),
    Method(
        "agg",
        "weight-offload",
        Promise.BOUND,
        "the paper's problem; inventories of all layers together",
        "a model of O(L) columns, its relaxation in exact arithmetic; for a thousand layers",
        "weight_aggregated_bound:bound_weight_fluid",
    ),
    Method(
        "aggint",
        "weight-offload",
        Promise.BOUND,
        "the paper's problem; inventories of all layers together",
        "the same with equal layers absent as a whole or not at all; proves more, takes longer",
        "weight_aggregated_bound:bound_weight_whole",
    ),
    Method(
        "closed-form",
        "weight-offload",
        Promise.BOUND,
        "the paper's problem; what has to come back for the first and for the last layer",
        "a knapsack cover over the link's time, in exact integers, without a solver",
        "weight_closed_form:bound_weight_closed_form",
    ),
    Method(
        "exact",
        "weight-offload",
        Promise.EXACT,
        "the paper on weight offloading poses the problem; sweeps over events, period by period",
        "the fastest of all schedules, proved: up to about 8 layers in seconds",
        "weight_exact:solve_weight_exact",
    ),
    Method(
        "exact",
        "remat-graph",
        Promise.EXACT_STAGED,
        "Checkmate's problem; frontier rows and slots where they are needed",
        "models of few cuts, more where their schedules exceed the memory; annealing if time ends",
        "graph_exact:solve_graph_exact",
    ),
    Method(
        "checkmate",
        "remat-graph",
        Promise.EXACT_STAGED,
        "Checkmate, MLSys 2020; KIWI, Appendix 7.1",
        "the rematerialization ILP, solved by HiGHS, decoded, pruned and replayed",
        "checkmate:solve_checkmate",
    ),
    Method(
        "checkmate-lp",
        "remat-graph",
        Promise.BOUND,
        "Checkmate, MLSys 2020",
        "linear relaxation of the rematerialization ILP",
        "checkmate:bound_checkmate_lp",
    ),
    Method(
        "anneal",
        "remat-graph",
        Promise.HEURISTIC,
        "simulated annealing: Kirkpatrick et al. 1983; staged as Checkmate's schedules",
        "adds, moves and drops recomputations; thousands of nodes",
        "remat_anneal:solve_anneal",
    ),
    Method(
        "cut-bound",
        "remat-graph",
        Promise.BOUND,
        "Checkmate's problem; frontier rows at the stages that need most memory",
        "what a few stages' memory forces to be computed again; for the order of the graph",
        "graph_cut_bound:bound_graph_cuts",
    ),
    Method(
        "store-all",
        "remat-graph",
        Promise.HEURISTIC,
        "folklore",
        "compute every node once, free each value after its last use",
        "graph_baselines:solve_store_all",
    ),
    Method(
        "recompute-all",
        "remat-graph",
        Promise.HEURISTIC,
        "folklore",
        "keep nothing between first computations, recompute every ancestor",
        "graph_baselines:solve_recompute_all",
    ),
    Method(
        "dtr",
        "remat-graph",
        Promise.HEURISTIC,
        "Kirisame et al., ICLR 2021, arXiv:2006.09616 (h_DTR)",
        "evict what is stale, large and cheap to recompute, without looking ahead",
        "graph_dtr:solve_dtr",
    ),
    Method(
        "lp-rounding",
        "remat-graph",
        Promise.HEURISTIC,
        "Checkmate, MLSys 2020 (two-phase rounding)",
        "checkpoints rounded from the linear relaxation, by thresholds and by draws",
        "graph_lp_rounding:solve_lp_rounding",
    ),
    Method(
        "ap-chen-greedy",
        "remat-graph",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "checkpoints at articulation points, whenever so many bytes have come together",
        "graph_chen:solve_ap_chen_greedy",
    ),
    Method(
        "chen-greedy",
        "remat-graph",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "the same at any node of the linearised forward graph",
        "graph_chen:solve_chen_greedy",
    ),
    Method(
        "ap-chen-sqrt",
        "remat-graph",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "about the square root of the articulation points as checkpoints",
        "graph_chen:solve_ap_chen_sqrt",
    ),
    Method(
        "chen-sqrt",
        "remat-graph",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174; Checkmate, MLSys 2020",
        "about the square root of the linearised forward graph's nodes as checkpoints",
        "graph_chen:solve_chen_sqrt",
    ),
    Method(
        "linearized-griewank",
        "remat-graph",
        Promise.HEURISTIC,
        "Griewank and Walther 2000 (revolve); Checkmate, MLSys 2020",
        "revolve's snapshots on the linearised forward graph, for every number of them",
        "graph_revolve:solve_linearized_griewank",
    ),
    Method(
        "last-node",
        "remat-graph",
        Promise.HEURISTIC,
        "Checkmate (Jain et al., MLSys 2020), released code",
        "nothing stays between stages but the value of the last one",
        "graph_last_node:solve_last_node",
    ),
)

# The first method of each problem is the one used when none is named.
PROBLEMS = tuple(dict.fromkeys(method.problem for method in METHODS))


def methods_of(problem: str) -> tuple[Method, ...]:
    """Return the methods of a problem, the default one first."""
    return tuple(method for method in METHODS if method.problem == problem)


def find_method(problem: str, name: str | None) -> Method:
    """Return the named method of a problem; None stands for its default.

    Raises
    ------
    InputError
        If the problem has no method of that name.
    """
    candidates = methods_of(problem)
    if name is None:
        return candidates[0]
    for method in candidates:
        if method.name == name:
            return method
    raise InputError(
        f"{name!r} is not a method of {problem}",
        field="method",
        expected=f"choose one of {', '.join(method.name for method in candidates)}",
    )
