"""Worked examples of KIWI's Figures 1 to 4: small instances, and the plans that the pictures show.

The pictures of the paper are lost in its text, and with them sizes and costs. What the text says of
each figure holds here; every other number is ours.
"""

from __future__ import annotations

from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph

MB = 10**6
TENTH_MS = 10**5


def four_layers() -> ShardedGraph:
    """Return Figure 1: a perceptron of four layers on eight devices with slow links.

    w2 and w3, 8 MB each, are sharded over eight devices, 1 MB on each, or over four, 2 MB. So are
    the products that read them. Over eight, the backward operators gather each weight for 1.2 ms,
    over four for .6 ms, and each product is resharded for its reader for 1 ms, or for nothing.
    """
    both = ("8", "4")

    def weight(name: str, sizes: tuple[int, ...]) -> Operator:
        return _operator(name, Role.PARAMETER, 0, sizes, names=both)

    def product(name: str, tenths: int, sizes: tuple[int, ...], *inputs: str) -> Operator:
        return _operator(name, Role.FORWARD, tenths, sizes, inputs, names=both, operation="dot")

    def gradient(name: str, *inputs: str) -> Operator:
        return _operator(name, Role.BACKWARD, 5, (1,), inputs, operation="dot", keep=True)

    def backward(name: str, tenths: int, *inputs: str) -> Operator:
        return _operator(name, Role.BACKWARD, tenths, (2,), inputs, operation="dot")

    # A value over four devices cannot be what one over eight is made from, nor the other way round.
    same: list[list[int | None]] = [[0, None], [None, 0]]
    return ShardedGraph(
        "figure-1",
        (
            _operator("x", Role.INPUT, 0, (1,)),
            weight("w0", (1,)),
            weight("w1", (1,)),
            weight("w2", (1, 2)),
            weight("w3", (1, 2)),
            product("dot.0", 4, (2,), "x", "w0"),
            product("dot.1", 8, (2,), "dot.0", "w1"),
            product("dot.2", 8, (2, 2), "dot.1", "w2"),
            product("dot.3", 8, (2, 2), "dot.2", "w3"),
            backward("subtract", 1, "dot.3"),
            gradient("grad.w3", "dot.2", "subtract"),
            backward("grad.dot.2", 7, "subtract", "w3"),
            gradient("grad.w2", "dot.1", "grad.dot.2"),
            backward("grad.dot.1", 7, "grad.dot.2", "w2"),
            gradient("grad.w1", "dot.0", "grad.dot.1"),
            backward("grad.dot.0", 7, "grad.dot.1", "w1"),
            gradient("grad.w0", "x", "grad.dot.0"),
        ),
        (
            _table("w2", "dot.2", same),
            _table("w3", "dot.3", same),
            _table("dot.2", "dot.3", [[10, 10], [0, 0]]),
            _table("dot.3", "subtract", [[10], [0]]),
            _table("w3", "grad.dot.2", [[12], [6]]),
            _table("w2", "grad.dot.1", [[12], [6]]),
        ),
        mesh=(8,),
    )


FIGURE_1_BYTES = 15 * MB
"""Memory of a device in Figure 1."""


def six_stages() -> ShardedGraph:
    """Return Figure 2: six operators, of which stage 6 computes two.

    v2 is halved: v1 is resharded for it, for .5 ms, and v2 is gathered for v3, for .7 ms, and for
    v6, for .9 ms.
    """
    return ShardedGraph(
        "figure-2",
        (
            _operator("v1", Role.FORWARD, 10, (2,)),
            _operator("v2", Role.FORWARD, 20, (4, 2), ("v1",), names=("whole", "halved")),
            _operator("v3", Role.FORWARD, 30, (2,), ("v2",)),
            _operator("v4", Role.FORWARD, 10, (2,), ("v3",)),
            _operator("v5", Role.BACKWARD, 20, (2,), ("v4",)),
            _operator("v6", Role.BACKWARD, 40, (2,), ("v1", "v2", "v5")),
        ),
        (
            _table("v1", "v2", [[0, 5]]),
            _table("v2", "v3", [[0], [7]]),
            _table("v2", "v6", [[0], [9]]),
        ),
    )


FIGURE_2_COMPUTATIONS = (0, 1, 2, 3, 4, 1, 5)
"""Stage 6 computes v2 again, and then v6."""


def forward_and_backward() -> ShardedGraph:
    """Return Figures 3 and 4: four forward operators and three backward ones behind a batch.

    Operators 1 and 2 are both read by 3 for the last time in the forward pass, and 1 by 6 as well.
    """
    return ShardedGraph(
        "figures-3-and-4",
        (
            _operator("x", Role.INPUT, 0, (1,)),
            _operator("1", Role.FORWARD, 10, (4,), ("x",)),
            _operator("2", Role.FORWARD, 10, (3,), ("1",)),
            _operator("3", Role.FORWARD, 10, (2,), ("1", "2")),
            _operator("4", Role.FORWARD, 10, (5,), ("3",)),
            _operator("5", Role.BACKWARD, 10, (2,), ("4", "3")),
            _operator("6", Role.BACKWARD, 10, (3,), ("5", "1")),
            _operator("7", Role.BACKWARD, 10, (2,), ("6", "1")),
        ),
    )


FIGURE_3_COMPUTATIONS = (0, 1, 2, 3, 4, 5, 1, 6, 7)
"""Operator 1 is not checkpointed, and computed again before 6."""


def _operator(
    name: str,
    role: Role,
    tenths: int,
    sizes: tuple[int, ...],
    inputs: tuple[str, ...] = (),
    *,
    names: tuple[str, ...] = ("s",),
    operation: str = "",
    keep: bool = False,
) -> Operator:
    """Build an operator whose strategies take the same tenths of a millisecond."""
    strategies = tuple(
        Strategy(name=label, compute_ns=tenths * TENTH_MS, memory_bytes=size * MB)
        for label, size in zip(names, sizes, strict=False)
    )
    return Operator(
        name=name,
        role=role,
        strategies=strategies,
        inputs=inputs,
        operation=operation,
        keep=keep,
    )


def _table(
    source: str, target: str, tenths: list[list[int]] | list[list[int | None]]
) -> Resharding:
    costs = tuple(
        tuple(None if cost is None else cost * TENTH_MS for cost in row) for row in tenths
    )
    return Resharding(source, target, costs)
