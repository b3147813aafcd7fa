"""What has to stay as it is between the forward and the backward part of a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from jettison.torch.errors import ExecutionError


class StepConditions:
    """Modules, parameters and arguments of a step as its forward part leaves them.

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
        self._parameters, self._flags = _found(self._modules)
        self._versions = _versions((*self._arguments, *self._parameters))

    def check(self) -> None:
        """Compare with what is there now.

        Raises
        ------
        ExecutionError
            If a module has changed between training and evaluation mode, or a parameter or an
            argument is another one, has been written to, or has changed its `requires_grad`.
        """
        parameters, flags = _found(self._modules)
        same = len(parameters) == len(self._parameters) and all(
            now is before for now, before in zip(parameters, self._parameters, strict=True)
        )
        if not same or _versions((*self._arguments, *parameters)) != self._versions:
            raise ExecutionError(
                "a parameter or an input was modified in place or replaced between the forward and "
                "the backward part of the step, which reads it again; modify it afterwards"
            )
        if flags != self._flags:
            raise ExecutionError(
                "a module has changed between training and evaluation mode, or a parameter's "
                "requires_grad has changed, between the forward and the backward part of the step, "
                "which runs operations again; change it afterwards"
            )


def _found(modules: Sequence[nn.Module]) -> tuple[list[Tensor], list[bool]]:
    """Return the parameters, and the training modes and whether each parameter is trained."""
    parameters: list[Tensor] = []
    flags: list[bool] = []
    for module in modules:
        for part in module.modules():
            flags.append(part.training)
            for parameter in part._parameters.values():
                if parameter is not None:
                    parameters.append(parameter)
                    flags.append(bool(parameter.requires_grad))
    return parameters, flags


def _versions(tensors: Iterable[Tensor]) -> list[int]:
    return [int(tensor._version) for tensor in tensors]
