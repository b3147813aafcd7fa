"""Tensor programs with any number of layers, made from one with four layers.

The names of a layer's operations begin with ``layer0/``, ``layer1/``, and so on. The first layer
differs, because no gradient goes into the input of the network, and so may the last, which the loss
reads; the layers between them are alike, and name the operations before and after them alike. So
the second layer from the end is repeated, or left out with others between.
"""

from __future__ import annotations

import re
from dataclasses import replace

from jettison.instances.core.errors import InputError
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram

LARGEST_DEPTH = 1000
_TRACED = 4
_LAYER = re.compile(r"layer(\d+)(?=/|$)")


def with_layers(program: TensorProgram, layers: int, name: str) -> TensorProgram:
    """Return the program with another number of layers; linear in its size.

    Parameters
    ----------
    program
        A program with four layers.
    layers
        At least 2.
    name
        Name of the new program.

    Raises
    ------
    InputError
        If the number is out of range, or the program has not four layers that are named as above.
    """
    if not 2 <= layers <= LARGEST_DEPTH:
        raise InputError(f"{layers}", field="layers", expected=f"write 2 to {LARGEST_DEPTH}")
    found = {_layer(operation.name) for operation in program.operations} - {None}
    if found != set(range(_TRACED)):
        raise InputError(
            f"layers {sorted(item for item in found if item is not None)}",
            field="program",
            expected="give a program whose layers are layer0 to layer3",
        )
    # The layer of the four that stands for each layer: the first, the one to repeat, the last.
    models = [0, *([1] if layers > 2 else []), *[2] * (layers - 3), _TRACED - 1]
    operations: list[TensorOperation] = []
    for role in Role:
        own = [operation for operation in program.operations if operation.role is role]
        blocks = [
            [
                _moved(operation, model, layer)
                for operation in own
                if _layer(operation.name) == model
            ]
            for layer, model in enumerate(models)
        ]
        rest = [operation for operation in own if _layer(operation.name) is None]
        if role is Role.BACKWARD:
            blocks = [rest, *reversed(blocks)]
        else:
            blocks.append(rest)
        operations.extend(operation for block in blocks for operation in block)
    last = [
        _moved(operation, _TRACED - 1, layers - 1) if _layer(operation.name) is None else operation
        for operation in operations
    ]
    provenance = replace(
        program.provenance,
        model_arguments={**program.provenance.model_arguments, "layers": layers},
    )
    return TensorProgram(name, tuple(last), provenance)


def _layer(name: str) -> int | None:
    match = _LAYER.match(name)
    return None if match is None else int(match[1])


def _moved(operation: TensorOperation, model: int, layer: int) -> TensorOperation:
    def moved(text: str) -> str:
        return _LAYER.sub(lambda match: f"layer{int(match[1]) + layer - model}", text, count=1)

    return replace(
        operation,
        name=moved(operation.name),
        scope=moved(operation.scope),
        operands=tuple(moved(name) if _LAYER.match(name) else name for name in operation.operands),
    )
