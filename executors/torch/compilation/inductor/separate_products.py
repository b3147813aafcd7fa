"""Products that stay where a plan has them, instead of being joined with a later addition.

Inductor writes the sum of a product and something else as one call, ``addmm``, at the place of the
sum. Where the two gradients of a tied weight are added that is at the end of the backward pass, and
both factors of the first product stay in memory until then. Here a product is taken out of such a
call again, and put back to its place, if another product runs between that and the sum.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

_aten = torch.ops.aten
_PRODUCTS = (_aten.mm.default, _aten.addmm.default, _aten.bmm.default, _aten.baddbmm.default)
_PLACE = "place_of_plan"


class SeparateProducts:
    """Passes before and after those of Inductor: the first one notes where products are."""

    def __init__(self) -> None:
        self._places: dict[tuple[Any, ...], int] = {}

    def note(self, graph: fx.Graph) -> None:
        """Note the places of all nodes; for `post_grad_custom_pre_pass`."""
        self._places = {}
        for place, node in enumerate(graph.nodes):
            node.meta[_PLACE] = place
            if node.target is _aten.mm.default:
                self._places[node.args] = place

    def separate(self, graph: fx.Graph) -> None:
        """Take products out of sums that come later; for `post_grad_custom_post_pass`."""
        for node in graph.find_nodes(op="call_function", target=_aten.addmm.default):
            # A pattern that scales or that was an addmm before has no noted place.
            place = None if node.kwargs else self._places.get(tuple(node.args[1:]))
            if place is not None:
                self._separate(graph, node, place)

    def _separate(self, graph: fx.Graph, node: fx.Node, place: int) -> None:
        added, left, right = node.args
        between = []
        factors = {left, right}
        before = node.prev
        while before.op != "root" and before not in factors and before.op != "placeholder":
            # Nodes that passes have added have no place.
            if before.meta.get(_PLACE, place + 1) <= place:
                break
            between.append(before)
            before = before.prev
        if not any(item.target in _PRODUCTS for item in between):
            return
        with (
            graph.inserting_after(before)
            if before.op != "placeholder"
            else (graph.inserting_before(between[-1]))
        ):
            product = graph.call_function(_aten.mm.default, (left, right))
        product.meta.update(node.meta)
        with graph.inserting_before(node):
            total = graph.call_function(_aten.add.Tensor, (product, added))
        total.meta.update(node.meta)
        node.replace_all_uses_with(total)
        graph.erase_node(node)
