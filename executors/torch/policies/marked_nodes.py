"""Marks on the operators of a joint graph that say which of them run again.

A policy file begins with this module, so it needs PyTorch and nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

_UNSAFE_VIEW = torch.ops.aten._unsafe_view.default


class NodeMismatchError(ValueError):
    """Error of a joint graph that is not the one that its policy was made for."""


def mark_nodes(graph: fx.Graph, decisions: Mapping[str, bool], *, by_phase: bool = False) -> None:
    """Mark operators (``node.meta["recompute"]``) as saved, or as to run again.

    Parameters
    ----------
    graph
        A joint graph: forward and backward operators.
    decisions
        For each operator that needs no gradient, by the name of its node, whether it runs again.
    by_phase
        Whether the graph says itself which nodes are of the backward pass
        (``node.meta["autograd_backward"]``), as that of a step with its loss does. These get no
        mark then, and views and single results get that of their operator.

    Raises
    ------
    NodeMismatchError
        If the graph and the decisions do not name the same operators.
    """
    calls = {node.name: node for node in graph.nodes if _is_call(node)}
    behind = _behind_tangents(graph)
    for name in decisions:
        if name not in calls:
            raise NodeMismatchError(
                f"the joint graph has no operator {name}, which the policy names; make the policy "
                "for this model, these inputs and this version of PyTorch"
            )
    for name, node in calls.items():
        if by_phase and node.meta.get("autograd_backward", False):
            continue
        if name in decisions:
            node.meta["recompute"] = _policy(again=decisions[name])
        elif node not in behind:
            raise NodeMismatchError(
                f"the joint graph has the operator {name}, which the policy does not name; make "
                "the policy for this model, these inputs and this version of PyTorch"
            )
    if by_phase:
        for node in graph.nodes:
            is_inner = node.op == "call_function" and node.name not in calls
            if is_inner and not node.meta.get("autograd_backward", False):
                before = node.all_input_nodes[0].meta if node.all_input_nodes else {}
                if before.get("recompute") is CheckpointPolicy.MUST_RECOMPUTE:
                    node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE


def _policy(*, again: bool) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_RECOMPUTE if again else CheckpointPolicy.MUST_SAVE


def _is_call(node: fx.Node) -> bool:
    """Tell whether a node runs an operator: it is no view and picks no result."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    schema: Any = getattr(node.target, "_schema", None)
    if node.target is _UNSAFE_VIEW or schema is None:
        return node.target is not _UNSAFE_VIEW
    return not any(result.alias_info is not None for result in schema.returns)


def _behind_tangents(graph: fx.Graph) -> set[fx.Node]:
    found: set[fx.Node] = set()
    for node in graph.nodes:
        is_tangent = node.op == "placeholder" and "tangents" in str(node.target)
        is_late = node.meta.get("autograd_backward", False)
        if is_tangent or is_late or not found.isdisjoint(node.all_input_nodes):
            found.add(node)
    return found
