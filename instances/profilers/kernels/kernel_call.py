"""Kernel call: one call of an operator as plain data, which another process can repeat.

Tensors are described by size, stride, type and device, and have made-up contents where the call is
repeated; all else is written as it is. Nothing is pickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from jettison.instances.profilers.kernels.attention_seeds import with_seeds_on_host
from jettison.instances.profilers.kernels.filled_tensor import filled_tensor
from jettison.instances.profilers.kernels.group_ends import spread_groups
from jettison.instances.profilers.kernels.training_mode import in_training

_NAMED = (torch.dtype, torch.layout, torch.memory_format)


class NoPlainDataError(Exception):
    """Error of a call that no plain data describes, or of an operator that is not known here."""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """Call of an operator on real tensors, ready to run."""

    target: Any
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    @classmethod
    def filled(
        cls,
        target: Any,
        arguments: tuple[Any, ...],
        options: Mapping[str, Any],
        device: torch.device,
    ) -> PreparedCall:
        """Return a call on made-up contents in the place of fake tensors."""

        def real(fake: Tensor) -> Tensor:
            return filled_tensor(fake.shape, fake.stride(), fake.dtype, device)

        given = pytree.tree_map_only(Tensor, real, (arguments, dict(options)))
        spread_groups(target, *given)
        return cls(target, *with_seeds_on_host(target, *given))

    def run(self) -> Any:
        """Call the operator."""
        return in_training(self.target)(*self.arguments, **self.options)

    def copied(self) -> PreparedCall:
        """Return the same call on copies of its tensors."""

        def copy(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage().clone()
            place = (tensor.storage_offset(), tensor.size(), tensor.stride())
            return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage, *place)

        given = (self.arguments, dict(self.options))
        return PreparedCall(self.target, *pytree.tree_map_only(Tensor, copy, given))

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors that it takes."""
        leaves = pytree.tree_leaves((self.arguments, dict(self.options)))
        return [item for item in leaves if isinstance(item, Tensor)]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """Kernel call as plain data.

    Attributes
    ----------
    text
        The operator and its arguments in JSON: equal texts are equal calls.
    """

    text: str

    @classmethod
    def of(
        cls, target: Any, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> KernelCall | None:
        """Return the description of a call; None if it takes what plain data cannot describe.

        Operators of PyTorch and of libraries that register theirs have a name. Functions that take
        other functions have none.
        """
        if not isinstance(target, torch._ops.OpOverload):
            return None
        try:
            given = {
                "operator": [target.namespace, target._opname, target._overloadname],
                "arguments": [_described(item) for item in arguments],
                "options": {name: _described(options[name]) for name in sorted(options)},
            }
        except NoPlainDataError:
            return None
        return cls(json.dumps(given, separators=(",", ":")))

    @property
    def operator(self) -> str:
        """Name of the operator, ``aten.convolution_backward.default``."""
        return ".".join(json.loads(self.text)["operator"])

    @property
    def layouts(self) -> str:
        """Types, sizes and strides of the tensors that it takes, for messages."""
        given = json.loads(self.text)
        found: list[str] = []
        _collect([*given["arguments"], *given["options"].values()], found)
        return ", ".join(found) or "no tensor"

    def prepared(self) -> PreparedCall:
        """Make the arguments of the call.

        Raises
        ------
        NoPlainDataError
            If no library here has registered the operator.
        """
        given = json.loads(self.text)
        target: Any = torch.ops
        try:
            for name in given["operator"]:
                target = getattr(target, name)
        except AttributeError:
            raise NoPlainDataError(self.operator) from None
        arguments = tuple(_rebuilt(item) for item in given["arguments"])
        options = {name: _rebuilt(item) for name, item in given["options"].items()}
        spread_groups(target, arguments, options)
        return PreparedCall(target, *with_seeds_on_host(target, arguments, options))


def _described(item: Any) -> Any:
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, Tensor):
        if item.layout != torch.strided or item.is_quantized:
            raise NoPlainDataError(str(item.layout))
        return {
            "size": list(map(int, item.shape)),
            "stride": list(map(int, item.stride())),
            "dtype": _name(item.dtype),
            "device": str(item.device),
        }
    if isinstance(item, list | tuple):
        return [_described(part) for part in item]
    if isinstance(item, complex):
        return {"complex": [item.real, item.imag]}
    if isinstance(item, torch.device):
        return {"device": str(item)}
    if isinstance(item, _NAMED):
        return {"torch": _name(item)}
    raise NoPlainDataError(type(item).__name__)


def _rebuilt(item: Any) -> Any:
    if isinstance(item, list):
        return [_rebuilt(part) for part in item]
    if not isinstance(item, dict):
        return item
    if "size" in item:
        return filled_tensor(
            item["size"],
            item["stride"],
            getattr(torch, item["dtype"]),
            torch.device(item["device"]),
        )
    if "complex" in item:
        return complex(*item["complex"])
    if "device" in item:
        return torch.device(item["device"])
    return getattr(torch, item["torch"])


def _name(item: Any) -> str:
    return str(item).removeprefix("torch.")


def _collect(item: Any, found: list[str]) -> None:
    if isinstance(item, list):
        for part in item:
            _collect(part, found)
    elif isinstance(item, dict) and "size" in item:
        size, stride = (tuple(item[name]) for name in ("size", "stride"))
        found.append(f"{item['dtype']} {size} of strides {stride}")
