r"""Random layered graphs like those that MOCCASIN (Bartan et al., ICML 2023) schedules.

A graph of :math:`N` nodes: one source, one sink, and layers in between. Widths of layers vary
evenly between a quarter and seven quarters of their mean. Every node reads one node of the layer
before it, and each other node of that layer with a given probability; every node is read. Then
skips are drawn until they are a given share of all edges: from a node at random to one of a layer
further back, each such layer equally likely.

Durations are even on a range of nanoseconds. Sizes are the magnitude of a bell curve of standard
deviation :math:`\sigma`: the sum of twelve even integers less its mean, so that no floating-point
number is involved. Their mean is :math:`0.8 \sigma`.

These laws were fitted to the published graphs random_layered_n100 and n250, whose names give a
variation of 0.75 of the number of nodes per layer, 0.2 edges per pair and 0.14 skips per edge:

=========================== ============ ============
\                           n100         n250
=========================== ============ ============
layers, without the ends    19           22
edges                       236          944
skips                       33           129
mean duration               478          502
mean size                   2041         2043
median size                 1550         1730
=========================== ============ ============

They have no backward nodes. `Passes.TRAINING` mirrors a graph of :math:`N / 2` nodes: the backward
of a node reads its value, its inputs, and the backwards of its users, writes as much as the node
does, and takes twice its time.

The same parameters give the same bytes on any machine (`SplitMix64`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import pairwise
from math import isqrt

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import check_range
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.remat_graph.graph import Graph, Node

GENERATOR_VERSION = 1
LARGEST_NODES = 10_000
_LARGEST_AMOUNT = 2**40
_EVEN = 2**16


class Passes(StrEnum):
    """Kinds of layered graphs: forward nodes only, or a training step with backward nodes."""

    FORWARD = "forward"
    """No node is marked as backward, as in the published graphs."""

    TRAINING = "training"
    """A forward graph and its mirror image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredGraphs:
    """Parameters of a random layered graph.

    Attributes
    ----------
    nodes
        Number of nodes, 4 to 10 000; of a training graph an even one, at least 8.
    layers
        Layers between source and sink; 0 stands for twice the square root of the number of forward
        nodes, but at most as many as there are nodes for.
    density_percent
        Probability of each further edge from one layer to the next, 0 to 100.
    skip_percent
        Skips per hundred edges, at most 50.
    least_ns
        Shortest duration.
    most_ns
        Longest duration.
    size_bytes
        Standard deviation of sizes; their mean is .8 of it.
    passes
        The forward pass alone, or with a backward pass that mirrors it.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    nodes: int
    layers: int = 0
    density_percent: int = 20
    skip_percent: int = 14
    least_ns: int = 0
    most_ns: int = 1000
    size_bytes: int = 2560
    passes: Passes = field(default=Passes.FORWARD)

    def __post_init__(self) -> None:
        least = 4 if self.passes is Passes.FORWARD else 8
        check_range("nodes", self.nodes, least, LARGEST_NODES)
        if self.passes is Passes.TRAINING and self.nodes % 2:
            raise InputError(
                f"{self.nodes}",
                field="nodes",
                expected="write an even number: half of the nodes are backward",
            )
        check_range("layers", self.layers, 0, self.forward_nodes - 2)
        check_range("density_percent", self.density_percent, 0, 100)
        check_range("skip_percent", self.skip_percent, 0, 50)
        check_range("most_ns", self.most_ns, 0, _LARGEST_AMOUNT)
        check_range("least_ns", self.least_ns, 0, self.most_ns)
        check_range("size_bytes", self.size_bytes, 0, _LARGEST_AMOUNT)

    @property
    def forward_nodes(self) -> int:
        """Number of nodes of the forward graph."""
        return self.nodes if self.passes is Passes.FORWARD else self.nodes // 2

    @property
    def inner_layers(self) -> int:
        """Number of layers between source and sink."""
        return self.layers or min(isqrt(4 * self.forward_nodes), self.forward_nodes - 2)

    def draw(self, seed: int) -> Graph:
        """Return the graph of this seed, its nodes in a random topological order.

        Time linear in the number of pairs of nodes in adjacent layers.

        Parameters
        ----------
        seed
            From 0 to 2**64 - 1.

        Raises
        ------
        InputError
            If the seed is out of range.
        """
        check_range("seed", seed, 0, 2**64 - 1)
        random = SplitMix64(seed)
        layers = _layers(random, self.forward_nodes, self.inner_layers)
        inputs = _adjacent_edges(random, layers, self.density_percent)
        _add_skips(random, layers, inputs, self.skip_percent)
        nodes = [
            Node(
                name=f"n{position}",
                duration_ns=random.between(self.least_ns, self.most_ns),
                output_bytes=_bell(random, self.size_bytes),
                inputs=tuple(f"n{source}" for source in sorted(inputs[position])),
            )
            for position in _random_order(random, inputs)
        ]
        if self.passes is Passes.TRAINING:
            nodes.extend(_mirrored(nodes))
        return Graph(
            name=f"layered-{self.passes}-n{self.nodes}-l{self.inner_layers}-s{seed}",
            nodes=tuple(nodes),
            provenance=Provenance(
                source="synthetic",
                model="layered graph",
                model_arguments={
                    **asdict(self),
                    "layers": self.inner_layers,
                    "passes": str(self.passes),
                    "seed": seed,
                    "version": GENERATOR_VERSION,
                },
            ),
        )


def _layers(random: SplitMix64, nodes: int, inner_layers: int) -> list[list[int]]:
    """Return the nodes layer by layer; source and sink are layers of their own."""
    inner = nodes - 2
    weights = [random.between(_EVEN // 4, 7 * _EVEN // 4) for _ in range(inner_layers)]
    spare, total = inner - inner_layers, sum(weights)
    # Every layer has a node; the others are shared out by weight, at rounded partial sums.
    layers = [[0]]
    taken = passed = 0
    for number, weight in enumerate(weights, start=1):
        passed += weight
        until = number + spare * passed // total
        layers.append(list(range(1 + taken, 1 + until)))
        taken = until
    return [*layers, [nodes - 1]]


def _adjacent_edges(
    random: SplitMix64, layers: list[list[int]], density_percent: int
) -> list[set[int]]:
    """Return the inputs of each node from the layer before it."""
    inputs: list[set[int]] = [set() for layer in layers for _ in layer]
    for before, layer in pairwise(layers):
        for node in layer:
            inputs[node].add(random.choice(before))
            inputs[node].update(source for source in before if random.below(100) < density_percent)
        for source in before:
            if not any(source in inputs[node] for node in layer):
                inputs[random.choice(layer)].add(source)
    return inputs


def _add_skips(
    random: SplitMix64, layers: list[list[int]], inputs: list[set[int]], skip_percent: int
) -> None:
    """Add edges over one layer or more until they are the given share of all edges."""
    layer_of = [number for number, layer in enumerate(layers) for _ in layer]
    edges = sum(map(len, inputs))
    wanted = edges * skip_percent // (100 - skip_percent)
    later = [node for node, layer in enumerate(layer_of) if layer > 1]
    # A small graph may not have so many: as many draws as would do in a large one are enough.
    for _ in range(2 * wanted):
        if wanted == 0:
            break
        node = random.choice(later)
        source = random.choice(layers[random.below(layer_of[node] - 1)])
        if source not in inputs[node]:
            inputs[node].add(source)
            wanted -= 1


def _random_order(random: SplitMix64, inputs: list[set[int]]) -> list[int]:
    """Return a topological order, the next node drawn from those that are ready."""
    users: list[list[int]] = [[] for _ in inputs]
    missing = [len(sources) for sources in inputs]
    for node, sources in enumerate(inputs):
        for source in sorted(sources):
            users[source].append(node)
    ready = [node for node, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        place = random.below(len(ready))
        ready[place], ready[-1] = ready[-1], ready[place]
        order.append(ready.pop())
        for user in users[order[-1]]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    return order


def _bell(random: SplitMix64, deviation: int) -> int:
    """Return the magnitude of a nearly normal integer; at most six deviations."""
    total = sum(random.below(_EVEN) for _ in range(12)) - 6 * (_EVEN - 1)
    return abs(total) * deviation // _EVEN


def _mirrored(forward: list[Node]) -> list[Node]:
    """Return the backward nodes, in the opposite order."""
    users: dict[str, list[str]] = {node.name: [] for node in forward}
    for node in forward:
        for source in node.inputs:
            users[source].append(node.name)
    return [
        Node(
            name=f"{node.name}_backward",
            duration_ns=2 * node.duration_ns,
            output_bytes=node.output_bytes,
            inputs=(*node.inputs, node.name, *(f"{user}_backward" for user in users[node.name])),
            backward=True,
        )
        for node in reversed(forward)
    ]
