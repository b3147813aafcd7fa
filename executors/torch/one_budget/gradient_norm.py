"""Norm of the gradient of a whole model, for clipping, where a schedule has all of it in time.

The norm of each gradient is made when its backward operation has made the gradient, which may leave
the device afterwards; the norm of the whole is known when the last of them is, that of the first
stage. Gradients are scaled when they are used, in the updates.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import TrainingEvent, TrainingEventKind
from jettison.torch.one_budget.stage_weights import StageWeights

# As in `torch.nn.utils.clip_grad_norm_`.
_EPSILON = 1e-6


class GradientNorm:
    """Norm of the gradients of a step, and the factor that brings it down to a limit.

    Parameters
    ----------
    most
        The limit; None for a norm that nobody asks for.
    stages
        Weights of all stages.

    Attributes
    ----------
    total
        Norm of the last step, before it was limited; None where none has been made.
    factor
        What gradients of that step are multiplied by; None where they stay as they are.
    """

    def __init__(self, most: float | None, stages: Sequence[StageWeights]) -> None:
        self._most = most
        self._stages = stages
        self._norms: dict[int, list[Tensor]] = {}
        self.total: Tensor | None = None
        self.factor: Tensor | None = None

    def note(self, number: int) -> None:
        """Note the gradients of a stage, which its backward operation has just made."""
        if self._most is None:
            return
        self._norms[number] = [
            torch.linalg.vector_norm(parameter.grad)
            for parameter in self._stages[number - 1].trained
            if parameter.grad is not None
        ]
        if number > 1:
            return
        # In the order of the model's parameters, as in plain training.
        norms = [norm for stage in sorted(self._norms) for norm in self._norms[stage]]
        self._norms = {}
        if norms:
            self.total = torch.linalg.vector_norm(torch.stack(norms))
            self.factor = torch.clamp(self._most / (self.total + _EPSILON), max=1.0)


def check_updates_are_late(
    most: float | None, order: Sequence[TrainingEvent], chain: Chain
) -> None:
    """Check that no update of a step comes before all gradients of the step exist.

    Raises
    ------
    InputError
        If the limit is no positive number, or a stage is updated within the backward phase.
    """
    if most is None:
        return
    if not most > 0:
        raise InputError(
            f"{most}", field="max_gradient_norm", expected="write a positive number, or None"
        )
    kinds = [(event.kind, event.stage) for event in order]
    last = kinds.index((TrainingEventKind.BACKWARD, 1))
    for place, (kind, number) in enumerate(kinds[:last]):
        if kind.is_update and (TrainingEventKind.BACKWARD, number) in kinds[:place]:
            raise InputError(
                f"stage {chain.stage(number).name} is updated before the gradient of stage "
                f"{chain.stage(1).name} exists, so that the norm of all is not known",
                field="max_gradient_norm",
                expected="give a schedule whose updates all come after the backward phase, limit "
                "each gradient by itself in the optimizer, or use "
                "`jettison.torch.checkpoint_sequential` with a plain optimizer and "
                "`torch.nn.utils.clip_grad_norm_`: there all gradients exist at once",
            )
