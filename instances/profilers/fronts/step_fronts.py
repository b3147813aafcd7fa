"""Fronts of a trace: ways from a step that is written in Python to one that can be traced.

They are tried in this order, from the one that changes least:

1. **As it runs.** The step itself is traced, as eager PyTorch runs it: its Python code takes the
   branches that it takes there, so that operators and random draws are those of the plain step.
2. **As it is exported** (``torch.export``, not strict). The Python code runs once more, and is told
   that a compiler is at work: a model that asks (``torch.compiler.is_compiling()``, or a function
   like ``is_tracing`` of transformers) takes the branches that its authors wrote for compilers,
   which read no values of tensors.
3. **As Dynamo reads it** (``torch.export``, strict). The byte code of the model is interpreted, for
   models that cannot run on fake tensors.

The second and the third may compute something else than the plain step, if the model's branches
do. So the loss of the exported step is compared with that of the plain one, on the sample and with
the same random numbers, without gradients; a step that differs is refused. Samples that hold no
numbers (fake tensors) are not compared.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.model_state import left_as_found

# Order of additions apart, branches of one model give one loss.
_TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4}
_HALF_TOLERANCE = 3e-2


def as_it_runs(step: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Return the step itself."""
    return step


def exported(step: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Return the step as ``torch.export`` records it, in the branches for compilers."""
    return _agreeing(_export(step, inputs, strict=False), step, inputs)


def interpreted(step: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Return the step as Dynamo reads it from its byte code."""
    return _agreeing(_export(step, inputs, strict=True), step, inputs)


FRONTS = (as_it_runs, exported, interpreted)


def _export(step: nn.Module, inputs: tuple[Tensor, ...], *, strict: bool) -> nn.Module:
    with warnings.catch_warnings(), left_as_found([step], inputs[0].device):
        # Side effects of a model (a counter, say) happen once in a trace, as they do in the others.
        warnings.simplefilter("ignore")
        program = torch.export.export(step, inputs, strict=strict)
        module: nn.Module = program.module(check_guards=False)
    return module


def _agreeing(module: nn.Module, step: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Return the exported step if its loss is that of the plain one."""
    if any(isinstance(item, FakeTensor) for item in (*inputs, *step.parameters())):
        return module
    plain, found = (_loss(item, step, inputs) for item in (step, module))
    tolerance = _TOLERANCES.get(plain.dtype, _HALF_TOLERANCE)
    if not torch.allclose(plain, found, rtol=tolerance, atol=tolerance, equal_nan=True):
        raise InputError(
            f"its loss is {float(plain):.9g} where it runs, and {float(found):.9g} where it is"
            " exported for compilers",
            field="model",
            expected="let what the model does for compilers (torch.compiler.is_compiling()) compute"
            " what it does otherwise",
        )
    return module


def _loss(module: nn.Module, step: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    with left_as_found([step], inputs[0].device), torch.no_grad():
        found: Tensor = module(*inputs)
    return found.detach()
