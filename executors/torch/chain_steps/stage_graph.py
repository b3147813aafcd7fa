r"""Autograd graph of one stage: :math:`\bar a^\ell`, from ``F_all`` to ``B``.

The graph of a stage begins and ends at two nodes of its own. The first takes the gradient of the
input without accumulating it, which could copy it; the second hands in the gradient of the output,
so that the output itself need not stay in memory for the sake of its node.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor

from jettison.instances.profilers.torch_chains.taken_gradient import (
    TakenGradient,
    entering,
    leaving,
)
from jettison.torch.errors import ExecutionError
from jettison.torch.saved_storages import Packed, SavedStorages


class StageGraph:
    """Output of a stage with all that its backward operation needs.

    Parameters
    ----------
    run
        Computes the output; called once, with gradients enabled.
    stage_input
        Detached, with a version counter of its own.
    needs_gradient
        Whether the gradient of the input is wanted.
    saved
        None to leave what is saved to the graph; else where to put it, so that it can move.
    """

    def __init__(
        self,
        run: Callable[[Tensor], Tensor],
        stage_input: Tensor,
        *,
        needs_gradient: bool,
        saved: SavedStorages | None,
    ) -> None:
        self._of_output = TakenGradient()
        self._of_input = TakenGradient()
        self._saved = saved
        hooks = (
            nullcontext()
            if saved is None
            else torch.autograd.graph.saved_tensors_hooks(saved.pack, saved.unpack)
        )
        with torch.enable_grad():
            if needs_gradient:
                stage_input = entering(stage_input, self._of_input)
            with hooks:
                output = run(stage_input)
            if saved is not None:
                saved.check_versions()
            # Nothing goes back where the output does not depend on anything that is trained.
            self._root = leaving(output, self._of_output) if output.requires_grad else None
        # A detached tensor shares the version counter: a caller who changes it in place is told.
        self._output: Tensor | None = output.detach()
        self._place: Packed | None = None
        if saved is not None and saved.moves:
            self._place = saved.add_output(self._output)

    @property
    def output(self) -> Tensor:
        """The output, which must be in memory."""
        if self._output is None:
            raise ExecutionError("a stage's output is not in memory; replay the schedule first")
        return self._output

    @property
    def has_backward(self) -> bool:
        """Whether anything goes back through the stage."""
        return self._root is not None

    def storages(self) -> list[torch.UntypedStorage]:
        """Return the saved storages that can leave memory."""
        return self._movable().look()

    def leave(self) -> None:
        """Release the storages that can leave memory."""
        self._movable().release()
        self._output = None

    def arrive(self, storages: list[torch.UntypedStorage]) -> None:
        """Take back copies of the storages that have left."""
        saved = self._movable()
        saved.restore(storages)
        if self._place is not None:
            self._output = saved.unpack(self._place)

    def backward(self, gradient: list[Tensor | None], stage_input: Tensor) -> Tensor | None:
        """Run the backward operation; accumulate into parameters, return the input's gradient.

        `gradient` is a list of one, which is emptied: the gradient is freed as soon as autograd no
        longer needs it. Without a gradient, nothing runs.
        """
        self._of_output.value = gradient.pop()
        self._output = self._place = None
        if self._root is None or self._of_output.value is None:
            return None
        root, self._root = self._root, None
        if self._saved is not None:
            self._saved.use_input(stage_input)
        torch.autograd.backward(root, root.new_empty(0))
        if self._saved is not None:
            self._saved.use_input(None)
        return self._of_input.take()

    def _movable(self) -> SavedStorages:
        if self._saved is None or not self._saved.moves:
            raise ExecutionError("a stage was recorded as one that stays in memory")
        return self._saved
