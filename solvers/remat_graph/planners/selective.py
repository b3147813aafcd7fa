r"""Selective checkpointing by rules: every n-th product, whole blocks, the core of attention.

Each rule says what is saved of the forward pass; the schedule is that of `boundary_plan`, as a
compiler runs it. A rule that has one answer has one schedule, and a memory decides only whether it
fits. So each is taken with the numbers that its sources leave open, from the fewest bytes saved to
the most, and the fastest that fits is returned, as a user would find it who tries them all.

* *Products* (torchtitan, ``torchtitan/distributed/activation_checkpoint.py``, its selective mode
  ``op``): saved are products of matrices with parameters, but every n-th, and the results of fused
  attention; all else is recomputed. torchtitan has n = 2; n = 1 saves no product, and large n all.
* *Blocks* (``torch.utils.checkpoint`` of each block; Megatron-LM's ``--recompute-method``): of a
  checkpointed block only what others read is saved. *Block* checkpoints the first k, *uniform* all
  of them in groups of g. Everything outside is saved. Blocks are `Graph.repeated_blocks`, or
  else found (`repeated_blocks`).
* *Attention* (Korthikanti et al., MLSys 2023, arXiv:2205.05198, Section 5): what lies between
  queries and keys and the weighted values, that is the scores, the softmax, the dropout, is
  recomputed, and all else saved. Here in the first k attentions. Fused attention has none of them.

Differences
-----------
Eager frameworks recompute a region as a whole when the first of its values is asked for; here, as
under a compiler, each value is recomputed when it is needed, and only if it is.

Complexity: :math:`O(n + |E|)` for each plan, and as many plans as products, blocks or attentions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit
from jettison.solvers.remat_graph.baselines.plans import Plan, fastest_that_fits
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary
from jettison.solvers.remat_graph.planners.operator_lists import (
    FUSED_ATTENTION,
    PRODUCTS,
    packet_name,
)
from jettison.solvers.remat_graph.planners.refusals import not_for, without_passes
from jettison.solvers.remat_graph.planners.repeated_blocks import forward_blocks

_LINEAR = frozenset({"aten.mm", "aten.addmm", "aten._scaled_mm"})
_SOFTMAX = frozenset(
    {"aten._softmax", "aten._safe_softmax", "aten.exp", "prims.prepare_softmax_online"}
)


def solve_selective_products(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits in which products but every n-th are saved."""
    method = "selective-products"
    refused = not_for(problem, method)
    if refused is not None:
        return refused
    return fastest_that_fits(problem, method, _ranked(problem, _by_products), options)


def solve_selective_blocks(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits in which blocks are checkpointed."""
    method = "selective-blocks"
    refused = without_passes(problem, method)
    if refused is not None:
        return refused
    if len(forward_blocks(problem.instance)) < 2:
        return Outcome.not_applicable(
            f"{method} needs blocks that repeat, and the forward pass has none: give the graph "
            "repeated_blocks, or use another method"
        )
    return fastest_that_fits(problem, method, _ranked(problem, _by_blocks), options)


def solve_selective_attention(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits in which the cores of attentions are recomputed."""
    method = "selective-attention"
    refused = not_for(problem, method)
    if refused is not None:
        return refused
    if not attention_cores(problem.instance):
        return Outcome.not_applicable(
            f"{method} recomputes what is between two products of an attention with a softmax, and "
            "the forward pass has none; use another method"
        )
    return fastest_that_fits(problem, method, _ranked(problem, _by_attentions), options)


def attention_cores(graph: Graph) -> tuple[frozenset[int], ...]:
    """Return for each attention, in order, the nodes from its scores to before its weighted values.

    The scores are a product of matrices; a softmax follows, or an exponential, with operators that
    are no products in between; a product reads what follows from that.
    """
    names = [packet_name(node.operator_name or "") for node in graph.nodes]
    forward = [not node.backward for node in graph.nodes]
    cores: list[frozenset[int]] = []
    for start, name in enumerate(names):
        if name != "aten.bmm" or not forward[start]:
            continue
        behind = {start}
        ends = False
        for node in range(start + 1, len(graph)):
            if forward[node] and not behind.isdisjoint(graph.inputs[node]):
                if names[node] in PRODUCTS:
                    ends = ends or names[node] == "aten.bmm"
                else:
                    behind.add(node)
        if ends and any(names[node] in _SOFTMAX for node in behind):
            cores.append(frozenset(behind))
    return tuple(cores)


class SavedProducts:
    """Products that are saved of a forward pass but every n-th, with what fused attention makes.

    Parameters
    ----------
    graph
        The instance.

    Attributes
    ----------
    linear
        The products of matrices with parameters, in order.
    """

    def __init__(self, graph: Graph) -> None:
        names = [packet_name(node.operator_name or "") for node in graph.nodes]
        forward = [i for i, node in enumerate(graph.nodes) if not node.backward]
        self.linear = tuple(i for i in forward if names[i] in _LINEAR)
        self._fused = frozenset(
            i
            for i in forward
            if names[i] in FUSED_ATTENTION or names[graph.operators[i]] in FUSED_ATTENTION
        )

    def but_every(self, number: int) -> frozenset[int]:
        """Return what is saved where every so manieth product is recomputed."""
        return self._fused.union(self.linear).difference(
            set(self.linear[number - 1 :: number]) - self._fused
        )


def _by_products(graph: Graph) -> Iterator[frozenset[int]]:
    products = SavedProducts(graph)
    for every in range(len(products.linear) + 1, 0, -1):
        yield products.but_every(every)


def _by_blocks(graph: Graph) -> Iterator[frozenset[int]]:
    blocks = forward_blocks(graph)
    for count in range(1, len(blocks) + 1):
        yield saved_outside(graph, blocks[:count])
    for size in range(2, len(blocks) + 1):
        groups = [blocks[start : start + size] for start in range(0, len(blocks), size)]
        yield saved_outside(graph, [frozenset().union(*group) for group in groups])


def _by_attentions(graph: Graph) -> Iterator[frozenset[int]]:
    cores = attention_cores(graph)
    forward = {i for i, node in enumerate(graph.nodes) if not node.backward}
    for count in range(1, len(cores) + 1):
        yield frozenset(forward.difference(*cores[:count]))


def saved_outside(graph: Graph, regions: Collection[frozenset[int]]) -> frozenset[int]:
    """Return all forward nodes but those that only their own region reads in the forward pass."""
    region_of = {node: number for number, region in enumerate(regions) for node in region}
    return frozenset(
        node
        for node, item in enumerate(graph.nodes)
        if not item.backward
        and (
            node not in region_of
            or any(
                not graph.nodes[user].backward and region_of.get(user) != region_of[node]
                for user in graph.users[node]
            )
        )
    )


def _ranked(
    problem: RematGraph, rule: Callable[[Graph], Iterator[frozenset[int]]]
) -> Iterator[Plan]:
    """Yield a plan that saves all, then those of a rule."""
    graph = problem.instance
    boundary = PlanBoundary(graph)
    everything = frozenset(i for i, node in enumerate(graph.nodes) if not node.backward)
    seen: set[frozenset[int]] = set()
    for saved in chain([everything], rule(graph)):
        if saved not in seen:
            seen.add(saved)
            yield Plan(len(seen) - 1, partial(_computations, boundary, saved))


def _computations(boundary: PlanBoundary, saved: frozenset[int], limit: PlanLimit) -> list[int]:
    del limit
    return boundary.computations(saved)
