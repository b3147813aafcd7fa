"""Stage of a model that is being profiled: its module, and the tensors that stay resident."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)

from jettison.instances.core.errors import InputError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.torch_graphs.storages import storage_bytes

# Errors of operators that do not run on fake tensors, which have no contents.
NEEDS_CONTENTS = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStage:
    """Stage of a model that is being profiled, or its loss.

    Attributes
    ----------
    name
        Name of the stage in the chain.
    call
        The module, or the loss function.
    parameters
        Its parameters, each once.
    with_gradient
        Those that have a gradient already when the backward operation begins, which adds to it.
    resident
        Addresses of the storages of all parameters and buffers: they are in memory anyway.
    is_loss
        True for the last stage, whose scalar output is not counted.
    """

    name: str
    call: Callable[[Tensor], Tensor]
    parameters: tuple[Tensor, ...]
    with_gradient: tuple[Tensor, ...]
    resident: frozenset[int]
    is_loss: bool = False

    def first_forward(self, stage_input: Tensor) -> None:
        """Run the stage once, and check that a chain can describe it.

        Raises
        ------
        InputError
            If it cannot compute with an input of this shape and type, does not return one dense
            tensor, writes into its input, or is the loss of a model that trains no parameter.
        """
        version = stage_input._version
        try:
            with torch.no_grad():
                output = self.call(stage_input)
        except (torch.OutOfMemoryError, *NEEDS_CONTENTS):
            raise
        except (IndexError, RuntimeError, ValueError) as error:
            # Shapes that do not match raise any of the three, mostly a RuntimeError.
            shape = "x".join(str(extent) for extent in stage_input.shape)
            raise InputError(
                f"{str(error).strip().splitlines()[0]}",
                field=self.name,
                expected=f"give an input that fits; this one is {shape}, {stage_input.dtype}",
            ) from error
        if not isinstance(output, Tensor):
            raise InputError(
                f"the stage returns a {type(output).__name__}, not a tensor",
                field=self.name,
                expected="wrap it in a module that returns one tensor",
            )
        if output.layout != torch.strided:
            raise InputError(
                f"the stage returns a tensor of layout {output.layout}",
                field=self.name,
                expected="return a dense tensor",
            )
        if stage_input._version != version:
            raise InputError(
                "the stage modifies its input in place, so that its input cannot be a checkpoint",
                field=self.name,
                expected="set inplace=False, or merge the stage with the one before it",
            )
        if self.is_loss and output.numel() != 1:
            raise InputError(
                f"the loss has shape {tuple(output.shape)}",
                field=self.name,
                expected="return a scalar, for example the mean",
            )
        if self.is_loss and not stage_input.requires_grad:
            raise InputError(
                "no gradient reaches the model's output",
                field="model",
                expected="train at least one parameter (requires_grad=True)",
            )

    def forward(self, stage_input: Tensor) -> Tensor:
        """Run the stage with a graph recorded, so that its backward operation can follow.

        Raises
        ------
        InputError
            If the gradient that the stage before it needs does not pass.
        """
        output = self.call(stage_input)
        if stage_input.requires_grad and not output.requires_grad:
            raise InputError(
                f"no gradient passes from the output ({output.dtype}) to the input",
                field=self.name,
                expected="use differentiable operations, without detach() or no_grad()",
            )
        return output


def check_sequential(model: nn.Module) -> None:
    """Check that calling the model only runs its stages one after the other.

    Raises
    ------
    InputError
        If it is not an ``nn.Sequential``, has a forward method of its own, or hooks.
    """
    if not isinstance(model, nn.Sequential):
        raise InputError(
            f"a {type(model).__name__} is not an nn.Sequential",
            field="model",
            expected="write the model as nn.Sequential(stage, stage, ...), or take its graph, which"
            " may have skips (checkpoint_step_optimal, --kind graph)",
        )
    if type(model).forward is not nn.Sequential.forward or "forward" in vars(model):
        raise InputError(
            f"{type(model).__name__} has a forward method of its own, which is not that of an"
            " nn.Sequential",
            field="model",
            expected="make it a stage of another nn.Sequential, or take its graph"
            " (checkpoint_step_optimal, --kind graph)",
        )
    if (
        model._forward_pre_hooks
        or model._forward_hooks
        or model._backward_pre_hooks
        or model._backward_hooks
    ):
        raise InputError(
            "the nn.Sequential has hooks, which do not run where its stages run one by one",
            field="model",
            expected="register them on the stages, where they run",
        )


def chain_stages(
    model: nn.Sequential, loss: Callable[[Tensor], Tensor], gradients: ParameterGradients
) -> tuple[ChainStage, ...]:
    """Return the stages of `model` in the order in which they run, and the loss.

    A parameter of several stages has its gradient from the last of them, whose backward operation
    comes first; the others add to it.

    A stage without a name of its own (``nn.Sequential(a, b)`` numbers them) is called by its
    number and its class.
    """
    modules: list[nn.Module] = [model]
    if isinstance(loss, nn.Module):
        modules.append(loss)
    resident = frozenset(
        storage_bytes(
            tensor for module in modules for tensor in (*module.parameters(), *module.buffers())
        )
    )
    # Unlike named_children, this keeps a module that the model holds twice.
    children = [
        (name, module)
        for name, module in model.named_modules(remove_duplicate=False)
        if name and "." not in name
    ]
    calls: list[tuple[str, Callable[[Tensor], Tensor]]] = [
        (f"{name}-{type(module).__name__}" if name.isdigit() else name, module)
        for name, module in children
    ]
    calls.append(("loss", loss))
    stages: list[ChainStage] = []
    later: set[int] = set()
    for name, call in reversed(calls):
        parameters = tuple(call.parameters()) if isinstance(call, nn.Module) else ()
        accumulates = gradients is ParameterGradients.ACCUMULATED
        stages.append(
            ChainStage(
                name=name,
                call=call,
                parameters=parameters,
                with_gradient=tuple(p for p in parameters if accumulates or id(p) in later),
                resident=resident,
                is_loss=not stages,
            )
        )
        later.update(map(id, parameters))
    return tuple(reversed(stages))


def with_inputs(
    stages: Sequence[ChainStage], sample_input: Tensor
) -> Iterator[tuple[ChainStage, Tensor]]:
    """Yield each stage with its input, a leaf of the graph; run it again for the next one.

    Only one input is held at a time. An input asks for a gradient where it does in a training
    step: not as long as nothing before it has a parameter to train.
    """
    stage_input = sample_input
    for stage in stages:
        yield stage, stage_input
        if stage.is_loss:
            return
        output = stage.forward(stage_input)
        stage_input = output.detach().requires_grad_(output.requires_grad)
        del output
