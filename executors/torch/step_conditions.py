"""Conditions between the forward and backward part of a step: tensors and modes unchanged."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from jettison.torch.errors import ExecutionError
from jettison.torch.stage_modules import parameters_of, parts_of


class UnchangedTensors:
    """Tensors that a step reads again in its backward part, with their versions."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._tensors = tuple(tensors)
        self._versions = [tensor._version for tensor in self._tensors]

    def check(self, now: Sequence[Tensor]) -> None:
        """Check that the tensors are the same, and have not been written to.

        Raises
        ------
        ExecutionError
            If one is another tensor, or has been written to.
        """
        are_same = len(now) == len(self._tensors) and all(map(operator.is_, now, self._tensors))
        if not are_same or [tensor._version for tensor in now] != self._versions:
            raise ExecutionError(
                "a parameter, an input or a buffer was modified in place or replaced between the "
                "forward and the backward part of the step, which reads it again; modify it "
                "afterwards"
            )


class StepConditions:
    """State of modules, parameters and arguments when the forward part of a step ends.

    Its backward part runs operations again: with other parameters, or in another mode, they would
    compute something else. Plain autograd refuses some of this, and does not need the rest.

    Parameters
    ----------
    modules
        All that run; they are looked through again by `check`.
    arguments
        Tensors that are read, and that the step does not write to.
    """

    def __init__(self, modules: Iterable[nn.Module], arguments: Iterable[Tensor]) -> None:
        self._modules = tuple(modules)
        self._arguments = tuple(arguments)
        parameters, self._flags = _found(self._modules)
        self._tensors = UnchangedTensors((*self._arguments, *parameters))

    def check(self) -> None:
        """Check that modules, parameters and arguments have not changed.

        Raises
        ------
        ExecutionError
            If a module has changed between training and evaluation mode, or a parameter or an
            argument is another one, has been written to, or has changed its `requires_grad`.
        """
        parameters, flags = _found(self._modules)
        self._tensors.check((*self._arguments, *parameters))
        if flags != self._flags:
            raise ExecutionError(
                "a module has changed between training and evaluation mode, or a parameter's "
                "requires_grad has changed, between the forward and the backward part of the step, "
                "which runs operations again; change it afterwards"
            )


def _found(modules: Sequence[nn.Module]) -> tuple[list[Tensor], list[bool]]:
    """Return the parameters, the training modes of modules, and which parameters are trained."""
    parts = parts_of(modules)
    parameters = parameters_of(parts)
    flags = [part.training for part in parts]
    flags += [parameter.requires_grad for parameter in parameters]
    return parameters, flags
