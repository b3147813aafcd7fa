"""Check of the kind of backward pass: a schedule supports plain ones only."""

from __future__ import annotations

import torch

from jettison.torch.errors import ExecutionError


def check_plain_backward() -> None:
    """Check, inside a backward pass, that it accumulates all gradients and records no graph.

    Raises
    ------
    ExecutionError
        If gradients of gradients are asked for, or some gradients only.
    """
    if torch.is_grad_enabled():
        raise ExecutionError(
            "create_graph=True asks for gradients of gradients, which a schedule does not "
            "record; call the plain model for them"
        )
    if not torch.autograd._is_checkpoint_valid():
        raise ExecutionError(
            "torch.autograd.grad() and backward(inputs=...) ask for some gradients only, but "
            "a schedule accumulates all of them into .grad; call backward() without inputs"
        )
