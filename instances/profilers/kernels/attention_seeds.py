"""Seeds of an attention's dropout, which its backward kernels read on the host.

While a step is traced, nobody knows whether it will run in a CUDA graph, and the seed and the
offset that the forward kernel returns are taken for tensors of the GPU. Where no graph is recorded
they are on the host, and a kernel that is given others reads memory that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

_NAMES = frozenset({"philox_seed", "philox_offset"})


def with_seeds_on_host(
    target: Any, arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments and options of a call, seeds and offsets on the host.

    The flash kernel keeps the whole state of the generator on the GPU, in unsigned numbers: these
    stay. So do the arguments of all other operators.
    """
    if not isinstance(target, torch._ops.OpOverload):
        return tuple(arguments), dict(options)
    schema = target._schema.arguments
    return (
        tuple(
            _placed(schema[place].name, item) if place < len(schema) else item
            for place, item in enumerate(arguments)
        ),
        {name: _placed(name, item) for name, item in options.items()},
    )


def _placed(name: str, item: Any) -> Any:
    seeds = name in _NAMES and isinstance(item, Tensor) and item.dtype == torch.int64
    return item.cpu() if seeds else item
