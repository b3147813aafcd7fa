r"""Windowed sharding as a graph of states: strategies with window masks in place of pair columns.

The columns of `formulations.remat_sharding.windows` for an operator :math:`i \in A_w` become kinds:
a mask says for each window whether :math:`i` is *again* (computed again in it, :math:`R_{wi}`),
*stored* (in memory at the cut and read before it is computed next, :math:`S_{wi}`), or *neither*.
The rows of the model say which masks there are and which go together:

======================= ===================================================================
(need)                  no *neither* in :math:`w` for :math:`i \in N_w`
(stay)                  *stored* in :math:`w+1` only after *stored* or *again* in :math:`w`
(either), (againas), …  a node has one state
(again)                 an edge: where the reader is *again* in :math:`w`, the input is not
                        *neither* in it
(reshard)               the table of the edge is paid :math:`1 + |c|` times
(memory), (work)        memory rows
(ever), (lost), (path)  implied
======================= ===================================================================

A plan of the class gives whole :math:`s`, :math:`R` and :math:`S` that keep all rows, where what is
both stored and computed again counts as *again*. So it is a labelling whose cost is at most the
time of the plan, and bounds on the least cost of labellings hold for all plans in the order of the
graph. Slots are left out: the bound holds for all such plans, staged or not.

Size: for `w` windows an operator has at most :math:`3^w` masks, 8 for two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from jettison.formulations.remat_graph.windows.built import latest_computations
from jettison.formulations.remat_graph.windows.needed_sets import (
    kept_until,
    needed_sets,
    read_in_window,
)
from jettison.formulations.remat_sharding.messages.arrays import FORBIDDEN, StateGraph
from jettison.formulations.remat_sharding.messages.kinds import KindedGraph, Kinds
from jettison.formulations.remat_sharding.messages.lifting import (
    AGAIN,
    NEITHER,
    STORED,
    Mask,
    StatesLeft,
)
from jettison.formulations.remat_sharding.skeleton import skeleton
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph

__all__ = ["AGAIN", "NEITHER", "STORED", "Mask", "WindowedStates", "windowed_states"]


@dataclass(frozen=True)
class WindowedStates:
    """Graph of states of some cuts, with the translation of labellings.

    Attributes
    ----------
    sharded
        The instance.
    cuts
        The operators after whose first computations the windows begin.
    graph
        The graph.
    masks
        For each operator its kinds.
    choice, node
        As in `KindedGraph`.
    """

    sharded: ShardedGraph
    cuts: tuple[int, ...]
    graph: StateGraph
    masks: tuple[tuple[Mask, ...], ...]
    choice: tuple[int, ...]
    node: tuple[int, ...]

    def left(self, states: Sequence[Sequence[tuple[int, int]]]) -> StatesLeft:
        """Return what is left, from the states of each node as pairs of place and kind."""
        return StatesLeft(
            self.cuts,
            self.masks,
            tuple(
                frozenset(
                    (k, masks[kind] if len(masks) > 1 else masks[0])
                    for k, kind in states[self.node[i]]
                )
                for i, masks in enumerate(self.masks)
            ),
        )

    def strategies(self, places: Sequence[int]) -> tuple[int, ...]:
        """Return the strategy of each operator from the place of each node."""
        return tuple(places[node] for node in self.choice)

    def computations(self, kinds: Sequence[int]) -> tuple[int, ...]:
        """Return the computations that a labelling suggests, from the kind of each node."""
        if not self.cuts:
            return tuple(range(len(self.sharded)))
        again: list[set[int]] = [set() for _ in self.cuts]
        for i, masks in enumerate(self.masks):
            mask = masks[kinds[self.node[i]]] if len(masks) > 1 else masks[0]
            for w, kind in enumerate(mask):
                if kind == AGAIN:
                    again[w].add(i)
        graph = skeleton(self.sharded)[0]
        ends = (*self.cuts[1:], len(graph))
        return latest_computations(graph, self.cuts, ends, again)


def windowed_states(
    problem: RematSharding, cuts: tuple[int, ...], within: StatesLeft | None = None
) -> WindowedStates:
    """Return the graph of states of some cuts, ascending; linear in its states and tables.

    Parameters
    ----------
    problem, cuts
        The instance and its memory, and where windows begin.
    within
        What is left with some of these cuts; other states are left out.
    """
    sharded = problem.instance
    masks = _masks(sharded, cuts, within)
    kinds = [
        Kinds(
            tuple(
                frozenset(w for w, kind in enumerate(mask) if kind == AGAIN) for mask in of_operator
            )
        )
        for of_operator in masks
    ]

    def allows(j: int, kind: int, i: int, again: frozenset[int]) -> bool:
        return _provides(sharded, j, masks[j][kind], again)

    written = KindedGraph(sharded, kinds, allows)
    if within is not None:
        _forbid_others(cuts, masks, written, within)
    _add_rows(problem, cuts, masks, written)
    return WindowedStates(
        sharded, cuts, written.graph, masks, tuple(written.choice), tuple(written.node)
    )


def _provides(sharded: ShardedGraph, j: int, mask: Mask, again: frozenset[int]) -> bool:
    """Tell whether an input with this mask is there for recomputations in some windows."""
    return j in sharded.parameters or all(mask[w] != NEITHER for w in again)


def _forbid_others(
    cuts: tuple[int, ...],
    masks: Sequence[Sequence[Mask]],
    written: KindedGraph,
    within: StatesLeft,
) -> None:
    """Forbid the states of nodes that are not left with fewer cuts."""
    nodes = written.graph.nodes
    costs = [list(node.cost_ns) for node in nodes]
    for i, of_operator in enumerate(masks):
        images = within.images(cuts, i, of_operator)
        node = written.node[i]
        kinds = nodes[node].kinds
        left = within.left[i]
        for k in range(nodes[node].places):
            for kind in range(kinds):
                if (k, images[kind] if len(images) > 1 else images[0]) not in left:
                    costs[node][k * kinds + kind] = FORBIDDEN
    for number, cost_ns in enumerate(costs):
        nodes[number] = replace(nodes[number], cost_ns=tuple(cost_ns))


def _masks(
    sharded: ShardedGraph, cuts: tuple[int, ...], within: StatesLeft | None
) -> tuple[tuple[Mask, ...], ...]:
    graph, once = skeleton(sharded)
    needed = needed_sets(graph, cuts, once) if cuts else []
    ends = (*cuts[1:], len(graph) - 1) if cuts else ()
    reads = [read_in_window(graph, t, end) for t, end in zip(cuts, ends, strict=True)]
    if cuts:
        reads[-1] |= kept_until(graph, cuts[-1])
    found: list[tuple[Mask, ...]] = []
    for i in range(len(graph)):
        of_window = []
        for w in range(len(cuts)):
            if i not in needed[w]:
                of_window.append([NEITHER])
                continue
            of_window.append(
                [STORED] if i in reads[w] else [NEITHER, STORED],
            )
            if i not in once:
                of_window[-1].append(AGAIN)
        singles = [j for j in sharded.inputs[i] if len(found[j]) == 1] if i not in once else []
        possible: list[Mask] = list(product(*of_window))
        if within is not None:
            images = within.images(cuts, i, possible)
            left = {image for _, image in within.left[i]}
            pairs = zip(possible, images, strict=True)
            possible = [mask for mask, image in pairs if image in left]
        found.append(
            tuple(
                mask
                for mask in possible
                if all(
                    later != STORED or before != NEITHER or i > cuts[w]
                    for w, (before, later) in enumerate(pairwise(mask))
                )
                and all(
                    _provides(
                        sharded,
                        j,
                        found[j][0],
                        frozenset(w for w, kind in enumerate(mask) if kind == AGAIN),
                    )
                    for j in singles
                )
            )
        )
    return tuple(found)


def _add_rows(
    problem: RematSharding,
    cuts: tuple[int, ...],
    masks: Sequence[Sequence[Mask]],
    written: KindedGraph,
) -> None:
    sharded, limit = problem.instance, problem.memory_bytes
    largest = [max(item.memory_bytes for item in op.strategies) for op in sharded.operators]
    spans: list[list[tuple[int, int, tuple[bool, ...]]]] = [[] for _ in largest]
    window_of = {t: w for w, t in enumerate(cuts)}
    at_the_end = {i for i, op in enumerate(sharded.operators) if op.keep}
    at_the_end |= set(sharded.parameters)
    parameters = sorted(sharded.parameters)
    for t in range(len(sharded) + 1):
        if t < len(sharded):
            running = {t, *sharded.inputs[t], *(p for p in parameters if p < t)}
        else:
            running = at_the_end
        w = window_of.get(t)
        if w is None and sum(largest[i] for i in running) <= limit:
            continue
        row = written.graph.add_row(limit)
        for i in running:
            spans[i].append((row, row, (True,) * len(masks[i])))
        for i, of_operator in enumerate(masks) if w is not None else ():
            held = tuple(mask[w] == STORED for mask in of_operator)  # type: ignore[index]
            if i not in running and any(held):
                spans[i].append((row, row, held))
    for i, of_operator_spans in enumerate(spans):
        written.add_sizes(i, of_operator_spans)
