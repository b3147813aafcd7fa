r"""Presolve of a sharding problem: all reductions, repeated while they remove enough.

Every reduction keeps at least one optimal choice; :math:`c_i, c_{ij}, u_{ri}` are as in
`reduced_graph`. They are kernels that look at the clock between nodes or edges and may stop there:
each step by itself keeps an optimal choice.

`keep_consistent`
    A strategy that is forbidden, that has no allowed partner at one of its edges, or that exceeds
    a row with all others at their least is in no choice. Pairs with it go too.
`drop_rows`
    A row that no choice exceeds is dropped; so is one all of whose parts are in another row of no
    more capacity. Rows follow each other in time, so that numbers of parts begun and ended tell.
`fold_separable`
    If :math:`c_{ij}(a, b) = f(a) + g(b)` on all allowed pairs, f and g become costs of the nodes.
    The edge then only says which pairs are allowed; if all are, it is removed.
`merge_followers`
    If each strategy of i allows only one of j, j is merged into i. The same holds if j has no other
    edge, and for each strategy of i one of j has both the least cost and the least usage in every
    row.
`eliminate_free`
    A node of at most two edges whose strategies all use the same memory is minimised out: its edges
    become costs, or one edge between its neighbours. This would be wrong for other nodes
    (`tests/sharding/test_presolve.py`).
`drop_dominated`
    Strategy a is replaced by b in any choice without loss if b uses no more memory in any row and

    .. math:: c_i(b) + \sum_j \max_{d} \bigl( c_{ij}(b, d) - c_{ij}(a, d) \bigr) \le c_i(a)

    over the allowed partners d of a, all of which b must have (Goldstein's criterion, 1994, with
    equality allowed because strategies go one after the other). Since the maximum is at least
    :math:`\min_d c_{ij}(b, d) - \min_d c_{ij}(a, d)`, most pairs are refuted without a look at the
    tables.
"""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.sharding.problem import Sharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.params import AS_TUNED, ShardingParams
from jettison.solvers.sharding.presolve.reduced_graph import ReducedGraph, Size

# In the order in which a round runs them.
REDUCTIONS = (
    "keep_consistent",
    "drop_rows",
    "fold_separable",
    "merge_followers",
    "eliminate_free",
    "drop_dominated",
)


def presolve(
    problem: Sharding,
    clock: Clock,
    params: ShardingParams = AS_TUNED,
    on_step: Callable[[str, Size], None] | None = None,
) -> ReducedGraph:
    """Return the problem reduced as far as the reductions, or the time, allow.

    Every intermediate state has the optimum of the problem, so that presolve may stop anywhere.

    Parameters
    ----------
    problem
        The instance and its memory.
    clock
        The time limit.
    params
        When reductions end.
    on_step
        Called after each reduction with its name and the size of what is left.

    Raises
    ------
    NoChoiceError
        If there is no choice at all.
    """
    graph = ReducedGraph(problem)
    if on_step is not None:
        on_step("as given", graph.size)
    reduce_further(graph, clock, params, on_step)
    return graph


def reduce_further(
    graph: ReducedGraph,
    clock: Clock,
    params: ShardingParams = AS_TUNED,
    on_step: Callable[[str, Size], None] | None = None,
) -> None:
    """Reduce a graph until a round removes hardly any of its pairs, or the time is up.

    Afterwards the graph is consistent, as messages need it, unless the time is up.

    Raises
    ------
    NoChoiceError
        If there is no choice at all.
    """
    before: Size | None = None
    while (
        before is None
        or graph.size.pairs < params.most_pairs_left * before.pairs
        or graph.size.nodes < before.nodes
    ):
        before = graph.size
        for name in REDUCTIONS:
            if not clock.left_s:
                return
            graph.reduce(name, clock, params.most_more_pairs)
            if on_step is not None:
                on_step(name, graph.size)
    graph.reduce("keep_consistent", clock, params.most_more_pairs)
