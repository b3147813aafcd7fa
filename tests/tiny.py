"""Named tiny instances on which every method of a problem is tried."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
from jettison.instances.training_chain.with_optimizer import Optimizer, with_optimizer
from tests.drawing.chains import stage_of

LOSS_ONLY = Chain("loss only", 3, (stage_of("loss", 2, 3, 0, 4),))

UNIFORM = Chain(
    "uniform",
    1,
    (
        *(stage_of(f"layer{k}", 2, 3, 1, 2) for k in range(6)),
        stage_of("loss", 1, 1, 0, 0),
    ),
)

UNEVEN = Chain(
    "uneven",
    4,
    (
        stage_of("wide", 9, 5, 8, 20, 3, 1),
        stage_of("narrow", 1, 2, 1, 1),
        stage_of("free", 0, 0, 0, 0),
        stage_of("heavy", 7, 30, 5, 11, 0, 6),
        stage_of("loss", 1, 1, 0, 2, 1, 1),
    ),
)

GRADIENT_IN_OVERHEAD = Chain(
    "gradient in overhead",
    2,
    (
        stage_of("one", 4, 4, 3, 5, 0, 2),
        stage_of("two", 3, 6, 2, 6, 1, 3),
        stage_of("loss", 1, 1, 0, 1, 0, 2),
    ),
    backward_overhead_holds_gradient=True,
)

# Equation (1) of the paper on weight offloading: what is saved is all that an operation needs
# besides weights. A large first layer, as an embedding is, and equal ones after it.
EQUAL_LAYERS = Chain(
    "equal layers",
    0,
    (
        stage_of("embedding", 0, 0, 0, 1, weight_bytes=9),
        *(stage_of(f"block{k}", 2, 6, 0, 1, weight_bytes=6) for k in range(3)),
        stage_of("head", 0, 0, 0, 0, weight_bytes=0),
    ),
)

UNEQUAL_LAYERS = Chain(
    "unequal layers",
    2,
    (
        stage_of("light", 3, 4, 2, 3, 1, 2, 1),
        stage_of("none", 5, 1, 1, 1, weight_bytes=0),
        stage_of("heavy", 1, 9, 3, 4, weight_bytes=12),
        stage_of("loss", 2, 2, 0, 1, weight_bytes=5),
    ),
)

# Without an overhead F 2 fits beside a plain a^1 only: 4 bytes for the persistent, 3 for all, as
# the tests of the brute force derive.
LARGER_IF_PERSISTENT = Chain(
    "larger if persistent",
    0,
    (
        stage_of("first", 1, 0, 1, 2, 1, 0),
        stage_of("second", 1, 0, 0, 0, 2, 0),
        stage_of("loss", 0, 0, 0, 0),
    ),
    backward_overhead_holds_gradient=True,
)

CHAINS = (LOSS_ONLY, UNIFORM, UNEVEN, GRADIENT_IN_OVERHEAD)
WEIGHT_CHAINS = (LOSS_ONLY, EQUAL_LAYERS, UNEQUAL_LAYERS)

ONE_NODE = Graph("one node", (Node(name="a", duration_ns=3, output_bytes=2, keep=True),))

LADDER = Graph(
    "ladder",
    (
        Node(name="f0", duration_ns=2, output_bytes=3),
        Node(name="f1", duration_ns=3, output_bytes=4, inputs=("f0",), workspace_bytes=1),
        Node(name="f2", duration_ns=1, output_bytes=3, inputs=("f1",)),
        Node(name="b2", duration_ns=2, output_bytes=3, inputs=("f2", "f1"), backward=True),
        Node(name="b1", duration_ns=4, output_bytes=2, inputs=("b2", "f1", "f0"), backward=True),
        Node(
            name="w1", duration_ns=1, output_bytes=1, inputs=("b2", "f0"), backward=True, keep=True
        ),
        Node(name="b0", duration_ns=2, output_bytes=1, inputs=("b1", "f0"), backward=True),
    ),
)

DIAMOND = Graph(
    "diamond",
    (
        Node(name="top", duration_ns=5, output_bytes=4),
        Node(name="left", duration_ns=1, output_bytes=3, inputs=("top",)),
        Node(name="right", duration_ns=2, output_bytes=5, inputs=("top",), workspace_bytes=2),
        Node(name="middle", duration_ns=1, output_bytes=1, inputs=("left",)),
        Node(name="bottom", duration_ns=1, output_bytes=2, inputs=("right", "middle"), keep=True),
        Node(name="last", duration_ns=1, output_bytes=1, inputs=("top", "bottom")),
    ),
)

# tests/remat_graph/oracles/test_brute_force.py derives its fastest schedule: n2 and n4 come before
# n3.
ONLY_OUT_OF_ORDER = Graph(
    "only out of order",
    (
        Node(name="n0", duration_ns=5, output_bytes=11),
        Node(name="n1", duration_ns=9, output_bytes=7, inputs=("n0",)),
        Node(name="n2", duration_ns=6, output_bytes=11, inputs=("n1",)),
        Node(name="n3", duration_ns=2, output_bytes=2, inputs=("n1",)),
        Node(name="n4", duration_ns=7, output_bytes=1, inputs=("n2",)),
        Node(name="n5", duration_ns=1, output_bytes=4, inputs=("n0", "n3", "n4")),
    ),
)

# One order. a and b wait for d while c runs, which reads b: 8 bytes, of 3, 4, 1 and 1. In 7, a
# (2 ns) must be computed again for d.
SKIP = Graph(
    "skip",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=1, inputs=("b",)),
        Node(name="d", duration_ns=1, output_bytes=1, inputs=("a", "c")),
    ),
)

# A product and a function, and their backward pass, which reads the product; nodes say what they
# run.
TRAINING = Graph(
    "training",
    tuple(
        Node(
            name=name,
            duration_ns=duration_ns,
            output_bytes=output_bytes,
            inputs=inputs,
            backward=name.startswith("d"),
            keep=name in {"loss", "dw"},
            operator_name=operator,
        )
        for name, duration_ns, output_bytes, inputs, operator in (
            ("p", 3, 4, (), "aten.mm.default"),
            ("f", 1, 5, ("p",), "aten.gelu.default"),
            ("loss", 1, 1, ("f",), "aten.sum.default"),
            ("df", 1, 3, ("f",), "aten.mul.Tensor"),
            ("dw", 3, 1, ("df", "p"), "aten.mm.default"),
        )
    ),
)

GRAPHS = (ONE_NODE, LADDER, DIAMOND, TRAINING)


def _operator(name: str, interval: tuple[int, int], *strategies: tuple[int, int]) -> StrategyNode:
    costs, usages = zip(*strategies, strict=True)
    return StrategyNode(name=name, interval=interval, costs_ns=costs, usages_bytes=usages)


ONE_OPERATOR = StrategyGraph("one operator", (_operator("a", (0, 1), (3, 2), (5, 1)),))

# The diagonal of the first edge is free and all else on it forbidden; a ring of four.
RING = StrategyGraph(
    "ring",
    (
        _operator("a", (0, 4), (0, 4), (2, 2)),
        _operator("b", (1, 3), (1, 4), (1, 2)),
        _operator("c", (2, 2), (0, 9), (0, 9)),
        _operator("d", (3, 5), (3, 6), (4, 3), (9, 1)),
    ),
    (
        StrategyEdge(first="a", second="b", costs_ns=(0, None, None, 0)),
        StrategyEdge(first="b", second="c", costs_ns=(0, 3, 3, 0)),
        StrategyEdge(first="c", second="d", costs_ns=(0, 2, 4, 4, 2, 0)),
        StrategyEdge(first="d", second="a", costs_ns=(0, 5, 5, 0, 1, 1)),
    ),
)

# a and b are cheapest apart, together with resharding dearer than a strategy of more memory.
CROSSED = StrategyGraph(
    "crossed",
    (
        _operator("a", (0, 2), (0, 1), (4, 3), (1, 5)),
        _operator("b", (1, 3), (4, 3), (0, 1), (2, 4)),
        _operator("c", (1, 2), (0, 2), (3, 0)),
    ),
    (
        StrategyEdge(first="a", second="b", costs_ns=(0, 9, 5, 9, 0, 5, 7, 2, None)),
        StrategyEdge(first="c", second="b", costs_ns=(1, 2, 0, 2, 1, None)),
    ),
)

STRATEGY_GRAPHS = (ONE_OPERATOR, RING, CROSSED)

# All tensors of a step: gradients and states, updates on the device and on the host.
TRAINED_LAYERS = with_optimizer(
    UNEQUAL_LAYERS, Optimizer(1, device_bytes_per_s=4 * 10**9, host_bytes_per_s=2 * 10**9)
)
# Of three stages, two of them with weights, so that the search of all states ends soon.
TRAINED_CHAINS = [
    with_optimizer(
        Chain(
            "trained layers",
            1,
            tuple(
                replace(stage, weight_bytes=size)
                for stage, size in zip(UNEQUAL_LAYERS.stages[1:], (3, 2, 0), strict=True)
            ),
        ),
        Optimizer(1, device_bytes_per_s=4 * 10**9, host_bytes_per_s=2 * 10**9),
    )
]
