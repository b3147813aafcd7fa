"""Random training steps whose nodes say what they run, for planners with rules for operators."""

from __future__ import annotations

import random

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph

OPERATORS = (
    *("aten.mm.default",) * 3,
    "aten.addmm.default",
    "aten.bmm.default",
    "aten.convolution.default",
    "aten.relu.default",
    "aten.gelu.default",
    "aten.add.Tensor",
    "aten.mul.Tensor",
    "aten.native_dropout.default",
    "aten.mean.dim",
    "aten._softmax.default",
    "aten.cat.default",
    "aten.embedding.default",
)
# Operators of a layer with an attention.
LAYER = (
    "aten.mm.default",
    "aten.bmm.default",
    "aten._softmax.default",
    "aten.bmm.default",
    "aten.mm.default",
    "aten.relu.default",
)
NORM = "aten.native_layer_norm.default"


def named_step(
    chance: random.Random, forward: int, *, with_results: bool = True, breaks: float = 0.0
) -> Graph:
    """Draw a step: forward nodes, each reading the one before, and backward ones in reverse.

    With a chance of `breaks` a forward node does not read the one before, which then the loss may
    not depend on.
    A few forward nodes are normalisations, operators without a value of which two results follow.
    Some backward nodes are gradients of parameters, which are kept.
    """
    nodes: list[Node] = []
    values: list[str] = []
    for number in range(forward):
        name = f"f{number}"
        read = dict.fromkeys(values[-1:] if chance.random() >= breaks else ())
        if len(values) > 1 and chance.random() < 0.35:
            read[chance.choice(values[:-1])] = None
        duration_ns, size = chance.randint(0, 30), chance.randint(1, 60)
        if with_results and chance.random() < 0.15:
            extra = chance.randint(1, 8)
            nodes.append(_node(name, duration_ns, 0, read, NORM, size + extra, has_value=False))
            for place, held in enumerate((size, extra)):
                nodes.append(
                    _node(f"{name}.{place}", 0, held, {name: None}, "operator.getitem", of=name)
                )
            values.append(f"{name}.0")
            continue
        workspace = chance.choice((0, 0, 0, chance.randint(1, 20)))
        nodes.append(_node(name, duration_ns, size, read, chance.choice(OPERATORS), workspace))
        values.append(name)
    nodes.append(_node("loss", 1, 1, {values[-1]: None}, "aten.sum.default", keep=True))
    gradient = "loss"
    saved = [node for node in nodes if node.result_of or node.has_value]
    for node in reversed(saved[:-1]):
        read = dict.fromkeys((gradient, node.name))
        if chance.random() < 0.3:
            read[chance.choice(saved[:-1]).name] = None
        gradient = f"d{node.name}"
        size = chance.randint(1, 60)
        nodes.append(
            _node(gradient, chance.randint(0, 30), size, read, "aten.mul.Tensor", backward=True)
        )
        if chance.random() < 0.3:
            read = dict.fromkeys((gradient, chance.choice(saved[:-1]).name))
            nodes.append(
                _node(f"w{node.name}", 9, 5, read, "aten.mm.default", backward=True, keep=True)
            )
    return Graph("named", tuple(nodes))


def layered_step(chance: random.Random, layers: int) -> Graph:
    """Draw a step of equal layers with an attention each, whose backward pass mirrors them."""
    sizes = [chance.randint(1, 60) for _ in LAYER]
    times = [chance.randint(1, 30) for _ in LAYER]
    nodes: list[Node] = []
    for place in range(layers * len(LAYER)):
        read = {nodes[-1].name: None} if nodes else {}
        if place % len(LAYER) == 3:
            read[nodes[-3].name] = None
        of = place % len(LAYER)
        nodes.append(_node(f"f{place}", times[of], sizes[of], read, LAYER[of]))
    nodes.append(_node("loss", 1, 1, {nodes[-1].name: None}, "aten.sum.default", keep=True))
    gradient = "loss"
    for place in range(layers * len(LAYER) - 1, -1, -1):
        read = dict.fromkeys((gradient, f"f{place}", *nodes[place].inputs))
        gradient = f"d{place}"
        of = place % len(LAYER)
        nodes.append(_node(gradient, times[of], sizes[of], read, "aten.mul.Tensor", backward=True))
    return Graph("layered", tuple(nodes))


def tight_named_step(
    chance: random.Random, forward: int, *, with_results: bool = True, breaks: float = 0.0
) -> RematGraph:
    """Draw a step, and a memory between what one operation needs and what the whole step does."""
    graph = named_step(chance, forward, with_results=with_results, breaks=breaks)
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    return RematGraph(graph, chance.randint(min(least, most), most))


def _node(
    name: str,
    duration_ns: int,
    size: int,
    read: dict[str, None],
    operator: str,
    workspace: int = 0,
    *,
    backward: bool = False,
    keep: bool = False,
    of: str | None = None,
    has_value: bool = True,
) -> Node:
    return Node(
        name=name,
        duration_ns=duration_ns,
        output_bytes=size,
        inputs=tuple(read),
        workspace_bytes=workspace,
        backward=backward,
        keep=keep,
        result_of=of,
        has_value=has_value,
        operator_name=operator,
    )
