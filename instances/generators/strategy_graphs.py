r"""Random strategy graphs that resemble those of the IOPDDL contest.

A graph of :math:`N` nodes in topological order: node i > 0 has an edge from the node before it or
from one of some nodes before it, and further edges with a given probability. The value
of a node lives from its own time until after the last node that it has an edge to.

Every strategy of a node has a *layout*, a number from 0 to :math:`L - 1`. On an edge, equal layouts
cost nothing and others a resharding cost that grows with the bytes of the first node; a given share
of the other pairs is forbidden. A strategy of layout l > 0 has the usage of layout 0 divided by
:math:`2^l`: sharding saves memory. Nodes cost more the more they are sharded.

Some nodes are *followers* (elementwise operators, say): they cost nothing, and every pair of
unequal layouts is forbidden at their first edge.

Layout 0 everywhere is a choice without a forbidden pair. The limit is a share of its peak; the
choice of the largest layout everywhere has no forbidden pair either, and needs about
:math:`2^{1 - L}` of it, so that a limit above that is one that some choice keeps.

The same parameters give the same bytes on any machine (`SplitMix64`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import check_range
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode

GENERATOR_VERSION = 1
LARGEST_NODES = 100_000
_LARGEST_AMOUNT = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyGraphs:
    """Parameters of a random strategy graph.

    Attributes
    ----------
    nodes
        Number of nodes, 1 to 100 000.
    layouts
        Layouts of each node, 1 to 16.
    variants
        Strategies of each layout, which differ in cost, 1 to 16.
    window
        How far back edges go, 1 to 10 000 nodes.
    density_percent
        Probability of a second edge to each node; then of a third one, and so on, 0 to 90.
    follower_percent
        Nodes that follow the one before them, 0 to 100.
    forbidden_percent
        Pairs of unequal layouts that are forbidden, 0 to 100.
    most_ns
        Largest cost of a node and, for each layout that is passed, of resharding.
    most_bytes
        Largest usage.
    limit_percent
        The limit, as a share of the peak of layout 0 everywhere; 1 to 100.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    nodes: int
    layouts: int = 4
    variants: int = 2
    window: int = 8
    density_percent: int = 30
    follower_percent: int = 50
    forbidden_percent: int = 20
    most_ns: int = 1000
    most_bytes: int = 2**20
    limit_percent: int = 50

    def __post_init__(self) -> None:
        for name, least, most in (
            ("nodes", 1, LARGEST_NODES),
            ("layouts", 1, 16),
            ("variants", 1, 16),
            ("window", 1, 10_000),
            ("density_percent", 0, 90),
            ("follower_percent", 0, 100),
            ("forbidden_percent", 0, 100),
            ("most_ns", 0, _LARGEST_AMOUNT),
            ("most_bytes", 0, _LARGEST_AMOUNT),
            ("limit_percent", 1, 100),
        ):
            check_range(name, getattr(self, name), least, most)

    def draw(self, seed: int) -> StrategyGraph:
        """Return the graph of this seed.

        Time linear in the number of pairs of strategies of all edges.

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
        sources = [self._sources(random, node) for node in range(self.nodes)]
        follows = [
            node > 0 and random.below(100) < self.follower_percent for node in range(self.nodes)
        ]
        last_use = list(range(self.nodes))
        for node, inputs in enumerate(sources):
            for source in inputs:
                last_use[source] = node
        sizes = [random.between(0, self.most_bytes) for _ in range(self.nodes)]
        nodes = [
            self._node(random, node, sizes[node], last_use[node], is_follower=follows[node])
            for node in range(self.nodes)
        ]
        edges = [
            self._edge(random, nodes[source], nodes[node], is_tie=follows[node] and place == 0)
            for node, inputs in enumerate(sources)
            for place, source in enumerate(inputs)
        ]
        unlimited = StrategyGraph("unlimited", tuple(nodes), tuple(edges))
        widest = unlimited.peak_bytes((0,) * self.nodes)
        return StrategyGraph(
            name=f"strategies-n{self.nodes}-l{self.layouts}-s{seed}",
            nodes=tuple(nodes),
            edges=tuple(edges),
            usage_limit_bytes=widest * self.limit_percent // 100,
            provenance=Provenance(
                source="synthetic",
                model="strategy graph",
                model_arguments={**asdict(self), "seed": seed, "version": GENERATOR_VERSION},
            ),
        )

    def _sources(self, random: SplitMix64, node: int) -> list[int]:
        if node == 0:
            return []
        near = min(node, self.window)
        found = [node - 1 - random.below(near)]
        # The window may be smaller than the number of edges that are drawn.
        while len(found) < near and random.below(100) < self.density_percent:
            source = node - 1 - random.below(near)
            if source not in found:
                found.append(source)
        return found

    def _node(
        self, random: SplitMix64, position: int, size: int, last_use: int, *, is_follower: bool
    ) -> StrategyNode:
        work = 0 if is_follower else random.between(0, self.most_ns)
        costs = [
            0 if is_follower else work + layout * random.between(0, self.most_ns) // self.layouts
            for layout in range(self.layouts)
            for _ in range(self.variants)
        ]
        usages = [
            (size >> layout) + (0 if variant == 0 else random.between(0, size) // 8)
            for layout in range(self.layouts)
            for variant in range(self.variants)
        ]
        return StrategyNode(
            name=f"n{position}",
            interval=(position, last_use + 1),
            costs_ns=tuple(costs),
            usages_bytes=tuple(usages),
        )

    def _edge(
        self, random: SplitMix64, first: StrategyNode, second: StrategyNode, *, is_tie: bool
    ) -> StrategyEdge:
        rate = random.between(0, self.most_ns)
        costs: list[int | None] = []
        between: dict[tuple[int, int], int | None] = {}
        for one in range(len(first)):
            for two in range(len(second)):
                layouts = (one // self.variants, two // self.variants)
                if layouts not in between:
                    is_forbidden = is_tie or random.below(100) < self.forbidden_percent
                    far = abs(layouts[0] - layouts[1])
                    between[layouts] = None if far and is_forbidden else rate * far
                costs.append(between[layouts])
        return StrategyEdge(first=first.name, second=second.name, costs_ns=tuple(costs))
