"""The smallest training steps: a forward chain, and backwards that read it."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node


def training_step(layers: int) -> Graph:
    """Forwards of 1 ns, backwards of 2 ns that read them, all values of one byte."""
    forward = [
        Node(
            name=f"f{layer}",
            duration_ns=1,
            output_bytes=1,
            inputs=(f"f{layer - 1}",) if layer else (),
        )
        for layer in range(layers)
    ]
    backward = [
        Node(
            name=f"b{layer}",
            duration_ns=2,
            output_bytes=1,
            inputs=(f"f{layer}",) + ((f"b{layer + 1}",) if layer < layers - 1 else ()),
            backward=True,
        )
        for layer in reversed(range(layers))
    ]
    return Graph(f"{layers} layers", (*forward, *backward))
