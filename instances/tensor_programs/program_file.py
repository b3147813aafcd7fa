"""Tensor programs as JSON files, one operation on a line."""

from __future__ import annotations

import json
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import check_header, check_schema, read_json, write_text
from jettison.instances.tensor_programs.tensor_program import TensorProgram

_VERSIONS = {TensorProgram.kind: 1}


def load_program(path: str | Path) -> TensorProgram:
    """Return the program in a file.

    Raises
    ------
    InputError
        If the file is not a valid program; the message names the file and the field.
    """
    source = str(path)
    document = read_json(Path(path))
    kind = check_header(document, _VERSIONS, source)
    check_schema(document, "jettison.instances", f"{kind}.schema.json", source)
    try:
        return TensorProgram.from_json(document)
    except InputError as error:
        raise error.within(source=source) from None


def save_program(program: TensorProgram, path: str | Path) -> None:
    """Write a program as JSON; the file appears complete or not at all.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    document = program.to_json()
    lines = [json.dumps(operation.to_json(), sort_keys=True) for operation in program.operations]
    del document["operations"]
    head = json.dumps(document, sort_keys=True)
    write_text(f'{head[:-1]}, "operations": [\n' + ",\n".join(lines) + "\n]}\n", Path(path))
