"""Random training steps with a forward and a backward pass, of a seed."""

from __future__ import annotations

import random

from jettison.instances.remat_graph.graph import Graph, Node


def joint_step(seed: int, *, forward: int = 5) -> Graph:
    """Return a step: some operators have two results, and some backward ones need no gradient."""
    draw = random.Random(seed)
    nodes: list[Node] = []
    readable: list[str] = []
    for number in range(forward):
        name = f"f{number}"
        reads = tuple(draw.sample(readable, min(len(readable), draw.randint(1, 2))))
        duration = draw.randint(0, 9)
        if draw.random() < 0.25 and number < forward - 1:
            sizes = [draw.randint(1, 4), draw.randint(1, 4)]
            nodes.append(
                Node(
                    name=name,
                    duration_ns=duration,
                    output_bytes=0,
                    inputs=reads,
                    workspace_bytes=sum(sizes) + draw.randint(0, 2),
                    has_value=False,
                )
            )
            for place, size in enumerate(sizes):
                nodes.append(
                    Node(
                        name=f"{name}.{place}",
                        duration_ns=0,
                        output_bytes=size,
                        inputs=(name,),
                        result_of=name,
                    )
                )
                readable.append(f"{name}.{place}")
        else:
            nodes.append(
                Node(
                    name=name,
                    duration_ns=duration,
                    output_bytes=draw.randint(1, 6),
                    inputs=reads,
                    workspace_bytes=draw.choice((0, 0, 2)),
                    keep=number == forward - 1,
                )
            )
            readable.append(name)
    last = readable[-1]
    for number in range(forward):
        mirrored = readable[max(0, len(readable) - 1 - number)]
        reads = (mirrored, *draw.sample(readable, draw.randint(0, 1)))
        nodes.append(
            Node(
                name=f"b{number}",
                duration_ns=draw.randint(0, 9),
                output_bytes=draw.randint(1, 4),
                inputs=tuple(dict.fromkeys((last, *reads))),
                backward=True,
                keep=number == forward - 1,
            )
        )
        last = f"b{number}"
    return Graph(f"joint-{seed}", tuple(nodes))
