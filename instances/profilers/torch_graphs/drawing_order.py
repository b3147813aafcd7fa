"""Order of random draws in a traced step: the model's, which is that of memory.

A dropout writes its mask in place, into a tensor of its input's strides, from the first address to
the last. The trace has an operator in its stead that draws a contiguous result, index by index.
Where the strides are others, the dimensions are put into the order of memory before it draws, and
back into their own order afterwards: two views, which cost nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, fx

from jettison.instances.core.errors import InputError


def draw_in_memory_order(graph: fx.Graph) -> None:
    """Make every random mask of a trace fill memory from the first address to the last.

    Raises
    ------
    InputError
        If the step fills a part of a tensor with normal numbers: the operator of the trace draws
        others than a tensor with gaps gets.
    """
    aten = torch.ops.aten
    for node in list(graph.nodes):
        if node.target not in {aten.bernoulli.p, aten.normal_functional.default}:
            continue
        value: Tensor = node.args[0].meta["val"]
        order = sorted(range(value.dim()), key=lambda axis: -value.stride(axis))
        is_dense = value.permute(order).is_contiguous()
        if node.target is aten.normal_functional.default and not is_dense:
            raise InputError(
                f"{node.name} fills a part of a tensor with normal numbers",
                field="model",
                expected="draw them with torch.randn(), and copy them into the tensor",
            )
        if node.target is aten.bernoulli.p and is_dense and not value.is_contiguous():
            _permute(graph, node, order)


def _permute(graph: fx.Graph, node: fx.Node, order: list[int]) -> None:
    back = [order.index(axis) for axis in range(len(order))]
    permute = torch.ops.aten.permute.default
    with graph.inserting_before(node):
        before = graph.call_function(permute, (node.args[0], order))
    before.meta["val"] = node.args[0].meta["val"].permute(order)
    with graph.inserting_after(node):
        after = graph.call_function(permute, (node, back))
    node.meta["val"] = torch.empty_like(before.meta["val"])
    after.meta["val"] = node.meta["val"].permute(back)
    node.replace_all_uses_with(after, delete_user_cb=lambda user: user is not after)
    node.args = (before, *node.args[1:])
