"""Kernels that look whether gradients are enabled before they keep what their backward needs.

The operators of a trace run where gradients are disabled, for the trace has its own backward
operations. oneDNN's layer of a recurrent network takes that for inference, whatever its argument
`train` says, and returns no workspace, without which its backward operator cannot run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

_ASKING = frozenset(
    packet.default
    for name in ("mkldnn_rnn_layer",)
    if (packet := getattr(torch.ops.aten, name, None)) is not None
)


def in_training(target: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operator as it runs in training, where it asks; else the operator itself."""
    if target not in _ASKING:
        return target

    def run(*arguments: Any, **options: Any) -> Any:
        detached, named = pytree.tree_map_only(Tensor, Tensor.detach, (arguments, options))
        # Nothing is recorded: no argument needs a gradient.
        with torch.enable_grad():
            return target(*detached, **named)

    return run
