"""Named tiny sharded graphs on which every method of remat-sharding is tried.

The fastest strategies of all operators go together, so that the fastest plan takes what the graph
calls its base time.
"""

from __future__ import annotations

from jettison.instances.operator import Operator, Role, Strategy
from jettison.instances.sharded_graph import Resharding, ShardedGraph


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

SHARDED_GRAPHS = (WAITING, LAYERS)
