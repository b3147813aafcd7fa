"""Random steps whose regions run again in the backward pass, of a seed."""

from __future__ import annotations

import random

from jettison.instances.remat_graph.checkpoint_regions import (
    CheckpointRegion,
    CheckpointRegions,
    OperatorCall,
)
from jettison.instances.remat_graph.graph import Graph, Node

Step = tuple[bool, int]


def region_step(seed: int, *, regions: int = 2, calls: int = 3) -> CheckpointRegions:
    """Return a step: in each region calls with one result or two, views, draws, gaps of life."""
    draw = random.Random(seed)
    nodes: list[Node] = []
    forward: list[Step] = []
    found: list[CheckpointRegion] = []
    boundary: int | None = None
    boundaries: list[int | None] = []
    bodies: list[list[tuple[int, ...]]] = []

    def add(name: str, *, reads: tuple[int, ...], **facts: object) -> int:
        nodes.append(
            Node(
                name=name, inputs=tuple(nodes[each].name for each in dict.fromkeys(reads)), **facts
            )  # type: ignore[arg-type]
        )
        return len(nodes) - 1

    for place in range(regions):
        made: list[OperatorCall] = []
        body: list[tuple[int, ...]] = []
        readable = [] if boundary is None else [boundary]
        for number in range(calls):
            reads = tuple(draw.sample(readable, min(len(readable), draw.randint(1, 2))))
            name = f"f{place}_{number}"
            duration = draw.randint(0, 9)
            if draw.random() < 0.25:
                sizes = [draw.randint(1, 4) for _ in range(2)]
                operator = add(
                    name,
                    reads=reads,
                    duration_ns=duration,
                    output_bytes=0,
                    workspace_bytes=sum(sizes) + draw.randint(0, 3),
                    has_value=False,
                )
                results = []
                for result, size in enumerate(sizes):
                    results.append(len(nodes))
                    nodes.append(
                        Node(
                            name=f"{name}.{result}",
                            duration_ns=0,
                            output_bytes=size,
                            inputs=(name,),
                            result_of=name,
                        )
                    )
                call = (operator, *results)
                readable += results
            else:
                call = (
                    add(
                        name,
                        reads=reads,
                        duration_ns=duration,
                        output_bytes=draw.randint(1, 6),
                        workspace_bytes=draw.choice((0, 0, 3)),
                    ),
                )
                readable.append(call[0])
            forward += [(True, node) for node in call]
            made.append(
                OperatorCall(
                    operator=f"aten.op{number}.default",
                    nodes=call,
                    may_be_saved=draw.random() < 0.9,
                    is_random=draw.random() < 0.3,
                )
            )
            if draw.random() < 0.3:
                made.append(OperatorCall(operator="aten.view.default"))
            body.append(call)
        boundaries.append(boundary)
        boundary = body[-1][-1]
        alive = {node for call in body for node in call} - {boundary}
        forward += [(False, node) for node in sorted(alive, key=lambda node: draw.random())]
        found.append(CheckpointRegion(f"block{place}", tuple(made)))
        bodies.append(body)
    steps = forward
    gradient: int | None = None
    assert boundary is not None
    for place in reversed(range(regions)):
        body = bodies[place]
        # The last call runs again only now and then: early stopping.
        again = body if place < regions - 1 and draw.random() < 0.4 else body[:-1]
        if again is body:
            steps = [*steps, (False, body[-1][-1])]
        for call in again:
            steps += [(True, node) for node in call]
        live = [node for call in again for node in call if nodes[node].has_value]
        steps += [(False, call[0]) for call in again if not nodes[call[0]].has_value]
        draw.shuffle(live)
        while live:
            read = [live.pop() for _ in range(min(len(live), 2))]
            before = () if gradient is None else (gradient,)
            after = add(
                f"b{place}_{len(nodes)}",
                reads=(*read, *before),
                duration_ns=draw.randint(0, 9),
                output_bytes=draw.randint(1, 5),
                backward=True,
            )
            steps.append((True, after))
            steps += [(False, node) for node in (*read, *before)]
            gradient = after
        inner = boundaries[place]
        if again is not body:
            steps.append((False, body[-1][-1]))
        del inner
    assert gradient is not None
    nodes[gradient] = Node(**{**_fields(nodes[gradient]), "keep": True})
    return CheckpointRegions(Graph(f"regions-{seed}", tuple(nodes)), tuple(found), tuple(steps))


def _fields(node: Node) -> dict[str, object]:
    return {name: getattr(node, name) for name in Node.__slots__}
