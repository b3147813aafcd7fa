"""Look of a model: what models of one architecture have in common, and may not change later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import TypeAlias

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError

_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_PLAIN = (bool, int, float, complex, str, type(None), torch.dtype, BuiltinFunctionType)

# By kind and name: what is compared, and how it is written.
Look: TypeAlias = Mapping[tuple[str, str], tuple[object, str]]


def look_of(model: nn.Module) -> Look:
    """Return the look of a model: modules, their plain attributes, parameters and buffers.

    The fused step runs the code of the first model on the tensors of all. So a number, a text or a
    function that a module holds has to be the same in all of them.
    """
    found: dict[tuple[str, str], tuple[object, str]] = {}
    for name, module in model.named_modules():
        written = f"{type(module).__name__}({module.extra_repr()})"
        code = getattr(type(module).forward, "__code__", None)
        found["module", name] = (written, code), written
        for key, value in vars(module).items():
            if key in _OF_EVERY_MODULE:
                continue
            place = "attribute", f"{name}.{key}" if name else key
            if isinstance(value, FunctionType):
                found[place] = value.__code__, f"the function {value.__qualname__}"
            elif _is_plain(value):
                found[place] = repr(value), repr(value)[:60]
    for name, item in (*model.named_parameters(), *model.named_buffers()):
        written = described(item) + ("" if item.requires_grad else ", not trained")
        found["parameter or buffer", name] = written, written
    return found


def described(tensor: Tensor) -> str:
    """Return type, size and device of a tensor as text."""
    kind = str(tensor.dtype).removeprefix("torch.")
    return f"{kind} of size {tuple(tensor.size())} on {tensor.device}"


def check_look(model: nn.Module, place: int, look: Look, of: str) -> None:
    """Check that a model is in training mode and looks like another one, which `of` names.

    Raises
    ------
    InputError
        If it does not.
    """
    if not all(module.training for module in model.modules()):
        raise InputError(
            "a module is in evaluation mode",
            field=f"models[{place}]",
            expected="call model.train() first",
        )
    mine = look_of(model)
    absent = None, "absent"
    for key in dict.fromkeys((*look, *mine)):
        here, there = mine.get(key, absent), look.get(key, absent)
        if here[0] != there[0]:
            what, name = key
            raise InputError(
                f"the {what} {name or 'at the top'} is {here[1]}, and {there[1]} {of}",
                field=f"models[{place}]",
                expected="give models that differ in nothing but the contents of their tensors: "
                "only they can be fused",
            )


def check_own_parameters(steps: Sequence[nn.Module]) -> None:
    """Check that no trained parameter is one of two models, or of a loss that they share.

    Raises
    ------
    InputError
        If one is: each model would train it by itself.
    """
    owners: dict[int, tuple[int, str]] = {}
    for place, step in enumerate(steps):
        for name, item in step.named_parameters():
            if not item.requires_grad or not item.numel():
                continue
            owner, first = owners.setdefault(item.data_ptr(), (place, name))
            if owner != place:
                raise InputError(
                    f"the parameter {name} is also {first} of model {owner}",
                    field=f"models[{place}]",
                    expected="give each model trained parameters of its own, and a loss that has "
                    "none",
                )


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)
