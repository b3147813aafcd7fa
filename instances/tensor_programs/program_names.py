"""Tensor programs by name: those that are bundled, and perceptrons."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.generators.perceptron_program import (
    perceptron,
    perceptron_without_parameters,
)
from jettison.instances.tensor_programs.program_file import load_program
from jettison.instances.tensor_programs.repeated_layers import with_layers
from jettison.instances.tensor_programs.tensor_program import TensorProgram

TRANSFORMERS = ("encoder", "decoder", "gpt")
BUNDLED_DEPTHS = (1, 4)
NAMES = (
    "mlp-26, mlp-26-no-parameters, encoder-4l, decoder-4l, gpt-4l, or those of any number of layers"
)
_TRANSFORMER = re.compile(rf"({'|'.join(TRANSFORMERS)})-([1-9][0-9]{{0,3}})l")


def program_of(name_or_path: str) -> TensorProgram:
    """Return a program by its name, or the one in a file whose name ends in ``.json``.

    Raises
    ------
    InputError
        If there is no such program, or the file is not valid.
    """
    if name_or_path.endswith(".json"):
        return load_program(name_or_path)
    return named_program(name_or_path)


@cache
def named_program(name: str) -> TensorProgram:
    """Return a program by its name; ``encoder-20l`` has 20 layers. JAX is not needed.

    Raises
    ------
    InputError
        If there is no such program.
    """
    if name == "mlp-26":
        return perceptron()
    if name == "mlp-26-no-parameters":
        return perceptron_without_parameters()
    match = _TRANSFORMER.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name!r}", field="program", expected=f"name {NAMES}; or give a .json file"
        )
    model, layers = match[1], int(match[2])
    if layers == 1:
        return load_program(bundled_program(f"{model}-1l"))
    return with_layers(load_program(bundled_program(f"{model}-4l")), layers, name)


def bundled_program(name: str) -> Path:
    """Return the file of a bundled program."""
    # The package is always unpacked on disk: it holds a native extension.
    return Path(str(resources.files("jettison.instances") / "data" / "programs" / f"{name}.json"))
