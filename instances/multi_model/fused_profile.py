r"""Multi-model instance from graphs: one training step for each number of fused models.

What µ-TWO's profiler (Section 4.1, Tables A and B) reads off a traced step is read off a `Graph`
here. Forward operators are the nodes that are not marked as backward. Values that are kept to the
end, gradients of weights say, are resident all the time and belong to the static memory. A
*feature map* is any other forward value that a backward operator reads; a forward value that is
not a feature map is *transient*, and gone when the forward pass is over.

**Memory of a pass.** Each value is in memory from the start of its operator to the end of the last
one that reads it, its own if none does. With :math:`L(p)` the values in memory after operator
:math:`p` of a pass, without those that are kept and without the idle ones, feature maps between
their last forward and their first backward use,

.. math::
    \text{active}(p) = \sum_{v \in L(p)} \text{size}(v), \qquad
    \text{peak}(p) = \text{active}(p-1) + \text{arriving}(p) + \text{size}(p) + \text{workspace}(p),

where :math:`\text{arriving}(p)` is the size of the feature maps that stop being idle at :math:`p`.
So static memory, idle feature maps and memory of the pass add up to what
`Graph.store_all_peak_bytes` counts after every operator, except that kept values are there from
the beginning.

**Recomputation.** The sources of a feature map are the nearest feature maps above it, reached
through transient values only; those values are computed again on the way, each once, in the order
of the graph, and freed early. Beside the result and the sources this needs

.. math::
    \max_q \bigl(\text{stored}(q) + \text{workspace}(q)\bigr) - \text{size of the result} ,

the result being stored when its own operator runs: the memory of the result is taken before it is
written, and may hold transient values until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.multi_model.feature_map import FeatureMap
from jettison.instances.multi_model.fused_operator import FusedOperator
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.step_uses import StepUses
from jettison.instances.remat_graph.graph import Graph, Node


def fused_profile(
    name: str,
    graphs: Mapping[int, Graph],
    static_bytes: Mapping[int, int],
    *,
    bandwidth: int,
    models: int | None = None,
    provenance: Provenance | None = None,
) -> MultiModel:
    r"""Return the multi-model instance of these training steps of fused models.

    Parameters
    ----------
    name
        Name of the instance.
    graphs
        The step of so many fused models, for each number that may be fused. All have the same
        nodes and edges in the same order; forward nodes come before backward ones.
    static_bytes
        For each of these numbers, what is resident beside the kept values of the graph: weights and
        states of the optimizer.
    bandwidth
        Bandwidth of each direction of the link, in bytes per second.
    models
        How many models are to be trained; None for the largest number that may be fused.
    provenance
        Provenance of the numbers.

    Raises
    ------
    InputError
        If the graphs differ in more than times and sizes, a pass is missing, a forward node comes
        after a backward one, or `static_bytes` has other keys than `graphs`.

    Notes
    -----
    :math:`O(s (n + |E|))` for `s` sizes, and as much again for each feature map with many transient
    values above it.
    """
    sizes = tuple(sorted(graphs))
    if not sizes:
        raise InputError("no step is given", field="graphs", expected="give at least one graph")
    if set(static_bytes) != set(graphs):
        raise InputError(
            f"{sorted(static_bytes)} for the steps of {list(sizes)} models",
            field="static_bytes",
            expected="give one amount for each step",
        )
    for size, other in pairwise(sizes):
        _check_same_shape(graphs[size], graphs[other], f"graphs[{other}]")
    uses = StepUses.of(graphs[sizes[0]])
    columns = [_passes(graphs[size], uses) for size in sizes]
    repeats = [
        [_recomputation(graphs[size], uses, position) for position in uses.feature_maps]
        for size in sizes
    ]
    nodes = graphs[sizes[0]].nodes
    operators = [
        FusedOperator(
            name=node.name,
            run_ns=tuple(graphs[size].nodes[position].duration_ns for size in sizes),
            peak_bytes=tuple(peaks[position] for peaks, _ in columns),
            active_bytes=tuple(actives[position] for _, actives in columns),
        )
        for position, node in enumerate(nodes)
    ]
    return MultiModel(
        name=name,
        models=sizes[-1] if models is None else models,
        sizes=sizes,
        static_bytes=tuple(
            static_bytes[size] + sum(node.output_bytes for node in graphs[size].nodes if node.keep)
            for size in sizes
        ),
        forward=tuple(operators[: uses.first_backward_node]),
        backward=tuple(operators[uses.first_backward_node :]),
        feature_maps=tuple(
            FeatureMap(
                name=nodes[position].name,
                size_bytes=tuple(graphs[size].nodes[position].output_bytes for size in sizes),
                made_by=nodes[position].name,
                last_forward=nodes[uses.last_forward[position]].name,
                first_backward=nodes[uses.first_backward[position]].name,
                last_backward=nodes[uses.last[position]].name,
                recompute_ns=tuple(repeat[place].duration_ns for repeat in repeats),
                recompute_bytes=tuple(repeat[place].extra_bytes for repeat in repeats),
                sources=tuple(nodes[source].name for source in repeats[0][place].sources),
            )
            for place, position in enumerate(uses.feature_maps)
        ),
        bandwidth=bandwidth,
        provenance=Provenance() if provenance is None else provenance,
    )


def _check_same_shape(graph: Graph, other: Graph, where: str) -> None:
    def shape(node: Node) -> tuple[object, ...]:
        return node.name, frozenset(node.inputs), node.backward, node.keep

    if [shape(node) for node in graph.nodes] != [shape(node) for node in other.nodes]:
        raise InputError(
            f"{other.name} and {graph.name} differ in their nodes or edges",
            field=where,
            expected="give one architecture: only times and sizes depend on the number of models",
        )


def _passes(graph: Graph, uses: StepUses) -> tuple[list[int], list[int]]:
    """Return the peak and the active memory of the pass at each node."""
    bytes_of = [0 if node.keep else node.output_bytes for node in graph.nodes]
    arrives = [0] * len(graph)
    leaves = [0] * len(graph)
    for place in range(len(graph)):
        if place in uses.last_forward:
            leaves[uses.last_forward[place]] += bytes_of[place]
            arrives[uses.first_backward[place]] += bytes_of[place]
        leaves[uses.last[place]] += bytes_of[place]
    peaks, actives, stored = [], [], 0
    for place, node in enumerate(graph.nodes):
        stored += arrives[place] + bytes_of[place]
        # A kept value is written to memory that is resident anyway.
        peaks.append(stored + node.workspace_bytes)
        stored -= leaves[place]
        actives.append(stored)
    return peaks, actives


@dataclass(frozen=True, slots=True)
class _Recomputation:
    """Recomputation of a feature map: its sources, its time, and the further memory it needs."""

    sources: tuple[int, ...]
    duration_ns: int
    extra_bytes: int


def _recomputation(graph: Graph, uses: StepUses, result: int) -> _Recomputation:
    sources, order = uses.recomputation(graph, result)
    again = set(order)
    last_read = {above: place for place in order for above in graph.inputs[place]}
    stored = peak = 0
    for place in order:
        stored += graph.nodes[place].output_bytes
        peak = max(peak, stored + graph.nodes[place].workspace_bytes)
        stored -= sum(
            graph.nodes[above].output_bytes
            for above in graph.inputs[place]
            if above in again and last_read[above] == place
        )
    return _Recomputation(
        sources=sources,
        duration_ns=sum(graph.nodes[place].duration_ns for place in order),
        extra_bytes=peak - graph.nodes[result].output_bytes,
    )
