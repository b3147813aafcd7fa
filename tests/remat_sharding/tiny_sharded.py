"""Named tiny sharded graphs on which every method of remat-sharding is tried.

The fastest strategies of all operators go together, so that the fastest plan takes what the graph
calls its base time.
"""

from __future__ import annotations

from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph


def operator(
    name: str,
    role: Role,
    strategies: tuple[tuple[int, int], ...],
    inputs: tuple[str, ...] = (),
    *,
    follows: str | None = None,
    keep: bool = False,
) -> Operator:
    """Build an operator from (time, size) of each strategy."""
    return Operator(
        name=name,
        role=role,
        strategies=tuple(
            Strategy(name=f"s{k}", compute_ns=time_ns, memory_bytes=size)
            for k, (time_ns, size) in enumerate(strategies)
        ),
        inputs=inputs,
        follows=follows,
        keep=keep,
    )


# While c runs, which needs 5 bytes beside b (1 byte), a waits for d: with 4 bytes, or, slower, 2.
WAITING = ShardedGraph(
    "waiting",
    (
        operator("a", Role.FORWARD, ((1, 4), (3, 2))),
        operator("b", Role.FORWARD, ((1, 1),), ("a",)),
        operator("c", Role.FORWARD, ((1, 5),), ("b",)),
        operator("d", Role.BACKWARD, ((1, 0),), ("a", "c")),
    ),
    fastest=(0, 0, 0, 0),
)

# A parameter, a batch, two layers, and a gradient that is kept; the second strategy of each holds
# half, and is a gather away from the first. The activation follows its product.
LAYERS = ShardedGraph(
    "layers",
    (
        operator("x", Role.INPUT, ((0, 4), (0, 2))),
        operator("w", Role.PARAMETER, ((0, 6), (0, 3))),
        operator("dot", Role.FORWARD, ((4, 8), (5, 4)), ("x", "w")),
        operator("act", Role.FORWARD, ((1, 8), (1, 4)), ("dot",), follows="dot"),
        operator("top", Role.FORWARD, ((3, 7), (4, 3)), ("act",)),
        operator("loss", Role.BACKWARD, ((1, 6), (2, 3)), ("top", "act")),
        operator("grad", Role.BACKWARD, ((4, 6), (5, 3)), ("x", "loss", "dot"), keep=True),
    ),
    tuple(
        Resharding(source, target, ((0, 0), (3, 0)))
        for source, target in (
            ("x", "dot"),
            ("w", "dot"),
            ("act", "top"),
            ("top", "loss"),
            ("loss", "grad"),
        )
    ),
    fastest=(0,) * 7,
)


def strategies_of(*costs: tuple[int, int, int]) -> tuple[Strategy, ...]:
    """Build strategies a, b, ... from (compute, communication, memory) each."""
    return tuple(
        Strategy(name=name, compute_ns=compute, communication_ns=communication, memory_bytes=size)
        for name, (compute, communication, size) in zip("abcd", costs, strict=False)
    )


# Two layers: each weight whole or halved, each product whole, halved, or halved and summed up.
# Resharding a halved value for a reader of the whole takes 3 ns.
TWO_LAYERS = ShardedGraph(
    "two layers",
    (
        Operator(name="x", role=Role.INPUT, strategies=strategies_of((0, 0, 4), (0, 0, 2))),
        Operator(name="w1", role=Role.PARAMETER, strategies=strategies_of((0, 0, 4), (0, 0, 2))),
        Operator(name="w2", role=Role.PARAMETER, strategies=strategies_of((0, 0, 4), (0, 0, 2))),
        Operator(
            name="h1",
            role=Role.FORWARD,
            inputs=("x", "w1"),
            strategies=strategies_of((8, 0, 6), (4, 0, 3), (4, 3, 6)),
        ),
        Operator(
            name="a1",
            role=Role.FORWARD,
            inputs=("h1",),
            strategies=strategies_of((2, 0, 6), (1, 0, 3), (2, 0, 6)),
            follows="h1",
        ),
        Operator(
            name="h2",
            role=Role.FORWARD,
            inputs=("a1", "w2"),
            strategies=strategies_of((8, 0, 6), (4, 0, 3)),
        ),
        Operator(
            name="g2",
            role=Role.BACKWARD,
            inputs=("h2", "a1"),
            strategies=strategies_of((8, 0, 4), (4, 2, 4)),
            keep=True,
        ),
        Operator(
            name="b1",
            role=Role.BACKWARD,
            inputs=("h2", "w2"),
            strategies=strategies_of((8, 0, 6), (4, 0, 3)),
        ),
        Operator(
            name="g1",
            role=Role.BACKWARD,
            inputs=("b1", "x", "h1"),
            strategies=strategies_of((8, 0, 4), (4, 2, 4)),
            keep=True,
        ),
    ),
    (
        Resharding("x", "h1", ((0, 0, 0), (3, 0, 3))),
        Resharding("w1", "h1", ((0, 0, 0), (3, None, 0))),
        Resharding("a1", "h2", ((0, 0), (3, 0), (0, 0))),
        Resharding("h2", "b1", ((0, 0), (3, 0))),
        Resharding("a1", "g2", ((0, 0), (3, 0), (0, None))),
        Resharding("b1", "g1", ((0, 0), (3, 0))),
    ),
    # Everything halved but the weights: no resharding, and each operator at its fastest.
    fastest=(1, 0, 0, 1, 1, 1, 1, 1, 1),
)

LONE_OPERATOR = ShardedGraph(
    "one operator",
    (
        Operator(
            name="a",
            role=Role.FORWARD,
            strategies=strategies_of((3, 0, 2), (5, 0, 1)),
            keep=True,
        ),
    ),
    fastest=(0,),
)

SHARDED_GRAPHS = (WAITING, LAYERS, LONE_OPERATOR, TWO_LAYERS)
