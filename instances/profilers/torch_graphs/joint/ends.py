"""Ends of a joint graph: its inputs and outputs, and what it may hold between them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, fx

from jettison.instances.core.errors import InputError

_COPY = torch.ops.aten.copy_.default
_IN_BACKWARD = "must_be_in_backward"


@dataclass(frozen=True)
class JointEnds:
    """Inputs and outputs of a joint graph.

    Attributes
    ----------
    primals, tangents
        Placeholders.
    forward, backward
        Outputs, in order: nodes, or None where there is nothing.
    forward_descriptions, backward_descriptions
        Their descriptions by ahead-of-time autograd; None where it gives none.
    forward_writes, backward_writes
        Writes to primals (``copy_``), which end the pass.
    """

    primals: tuple[fx.Node, ...]
    tangents: tuple[fx.Node, ...]
    forward: tuple[Any, ...]
    backward: tuple[Any, ...]
    forward_descriptions: tuple[Any, ...]
    backward_descriptions: tuple[Any, ...]
    forward_writes: tuple[fx.Node, ...]
    backward_writes: tuple[fx.Node, ...]

    @cached_property
    def written(self) -> frozenset[fx.Node]:
        """Primals whose contents are others after the forward pass."""
        found = {node.args[0] for node in self.forward_writes}
        places = {node.meta.get("desc"): node for node in self.primals}
        for description in self.forward_descriptions:
            # Where the graph does not write itself, its caller copies these outputs.
            changed = getattr(description, "mutated_input", None)
            if changed is not None and changed in places:
                found.add(places[changed])
        return frozenset(found)


def joint_ends(module: fx.GraphModule, nodes: Sequence[fx.Node], count: int) -> JointEnds:
    """Return the inputs and outputs of a joint graph with `count` outputs of the forward pass."""
    output = next(node for node in module.graph.nodes if node.op == "output")
    outputs = list(output.args[0])
    descriptions = list(output.meta.get("desc", [None] * len(outputs)))
    writes = [node for node in nodes if node.target is _COPY]
    late = [node for node in writes if node.meta.get("partitioner_tag") == _IN_BACKWARD]
    places = [node for node in nodes if node.op == "placeholder"]
    return JointEnds(
        primals=tuple(node for node in places if "tangents" not in str(node.target)),
        tangents=tuple(node for node in places if "tangents" in str(node.target)),
        forward=tuple(outputs[:count]),
        backward=tuple(outputs[count:]),
        forward_descriptions=tuple(descriptions[:count]),
        backward_descriptions=tuple(descriptions[count:]),
        forward_writes=tuple(node for node in writes if node not in late),
        backward_writes=tuple(late),
    )


def check_nodes(nodes: Iterable[fx.Node], ends: JointEnds) -> None:
    """Check that all sizes are numbers, and that each operator can be computed again.

    Raises
    ------
    InputError
        If not; the message names the node.
    """
    for node in nodes:
        if node.op == "placeholder" and not isinstance(node.meta.get("val"), Tensor):
            raise InputError(
                f"the input {node.name} is not a tensor but {type(node.meta.get('val')).__name__}",
                field="model",
                expected="compile with dynamic=False, and without functionalize_rng_ops",
            )
        for value in values_of(node):
            if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) or (
                isinstance(value, Tensor)
                and any(isinstance(size, torch.SymInt) for size in value.shape)
            ):
                raise InputError(
                    f"{node.name} has a size that is not known ({node.target})",
                    field="model",
                    expected="compile with dynamic=False, and give the model no shapes that depend"
                    " on values: a plan is made for one shape",
                )
        if node.op == "call_function":
            _check_operator(node, ends)


def _check_operator(node: fx.Node, ends: JointEnds) -> None:
    target = node.target
    if target is operator.getitem:
        return
    reason = None
    if target is _COPY:
        if node.args[0] not in ends.primals:
            reason = "writes to a value that is not an input of the graph"
    elif isinstance(target, torch._ops.HigherOrderOperator):
        reason = "calls other graphs, whose operators are not seen"
    elif not isinstance(target, torch._ops.OpOverload):
        reason = "is not an operator of PyTorch"
    elif target._schema.is_mutable:
        reason = "writes to its arguments"
    elif target.namespace in {"_c10d_functional", "c10d_functional"}:
        reason = "talks to other processes, and would do so again"
    elif not any(isinstance(value, Tensor) for value in values_of(node)):
        reason = "makes no tensor"
    if reason is not None:
        raise InputError(
            f"{node.name} cannot be computed again: {target} {reason}",
            field="model",
            expected="leave it outside of the compiled model",
        )


def values_of(node: fx.Node) -> tuple[Any, ...]:
    """Return the fake values of a node: one, or those of an operator with several results."""
    value = node.meta.get("val")
    return tuple(value) if isinstance(value, tuple | list) else (value,)
