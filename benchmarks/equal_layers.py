"""Step of equal transformer layers as a tracer writes it, of any length, for benchmarks."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node

# Operator, what it reads by the distance back, its microseconds, its size in units of 64 KiB.
LAYER = (
    ("aten.native_layer_norm.default", (1,), 9, 8),
    ("aten.mm.default", (1,), 60, 8),
    ("aten.mm.default", (2,), 60, 8),
    ("aten.mm.default", (3,), 60, 8),
    ("aten.bmm.default", (2, 3), 40, 32),
    ("aten._softmax.default", (1,), 35, 32),
    ("aten.bmm.default", (1, 3), 40, 8),
    ("aten.mm.default", (1,), 60, 8),
    ("aten.add.Tensor", (1, 9), 9, 8),
    ("aten.native_layer_norm.default", (1,), 9, 8),
    ("aten.mm.default", (1,), 240, 32),
    ("aten.gelu.default", (1,), 35, 32),
    ("aten.mm.default", (1,), 240, 8),
    ("aten.add.Tensor", (1, 5), 9, 8),
)
# A product has a gradient of its parameters as well, which the step returns.
NODES_OF_A_LAYER = 2 * len(LAYER) + sum(name == "aten.mm.default" for name, *_ in LAYER)
UNIT_BYTES = 2**16


def layers(nodes: int) -> Graph:
    """Return a step of equal layers, forward and backward pass, of at most so many nodes."""
    made = [
        Node(
            name="input",
            duration_ns=3000,
            output_bytes=8 * UNIT_BYTES,
            operator_name="aten.embedding.default",
        )
    ]
    forward: list[tuple[str, int, int, tuple[str, ...]]] = []
    for _ in range(max(1, (nodes - 3) // NODES_OF_A_LAYER)):
        for name, back, microseconds, units in LAYER:
            inputs = tuple(made[max(0, len(made) - distance)].name for distance in back)
            made.append(
                Node(
                    name=f"f{len(made)}",
                    duration_ns=1000 * microseconds,
                    output_bytes=units * UNIT_BYTES,
                    inputs=tuple(dict.fromkeys(inputs)),
                    operator_name=name,
                )
            )
            forward.append((name, microseconds, units, made[-1].inputs))
    made.append(
        Node(
            name="loss",
            duration_ns=3000,
            output_bytes=4,
            inputs=(made[-1].name,),
            operator_name="aten.sum.default",
            keep=True,
        )
    )
    gradient = "loss"
    for place, (name, microseconds, units, inputs) in reversed(list(enumerate(forward, 1))):
        if name == "aten.mm.default":
            made.append(
                Node(
                    name=f"w{place}",
                    duration_ns=1000 * microseconds,
                    output_bytes=16 * UNIT_BYTES,
                    inputs=(gradient, inputs[0]),
                    operator_name=name,
                    backward=True,
                    keep=True,
                )
            )
        needs_values = name != "aten.add.Tensor"
        made.append(
            Node(
                name=f"d{place}",
                duration_ns=1000 * microseconds,
                output_bytes=units * UNIT_BYTES,
                inputs=(gradient, *(inputs if needs_values else ())),
                operator_name=name,
                backward=True,
            )
        )
        gradient = made[-1].name
    return Graph(f"layers-n{len(made)}", tuple(made))
