r"""Message format between a process and the child in which it runs HiGHS.

A message is one line of JSON followed by the raw bytes of its arrays, in the order of the
``arrays`` entry of that line, which holds for each its name, NumPy type and length::

    {"kind": "incumbent", "arrays": [["values", "<f8", 3]]}\n  (24 bytes)

The parent sends one ``solve`` on the child's standard input, and closes it when the child is to
stop. The child answers on its standard output with ``progress`` and ``incumbent``, and ends with
``solution`` or ``refused``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.milp.array_model import ARRAY_TYPES, ArrayModel
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution, RunRecord

Message = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]

_MODEL_SCALARS = ("name", "offset", "row_names", "column_names")
_SOLUTION_SCALARS = ("termination", "answer", "objective", "dual_bound", "nodes", "work")
_SOLUTION_ARRAYS = ("values", "row_duals", "reduced_costs")


def encode_request(model: ArrayModel, options: HighsOptions) -> tuple[Message, Arrays]:
    """Return the message that asks for `model` to be solved."""
    arrays = {field: getattr(model, field) for field in ARRAY_TYPES}
    start = options.start_for(model)
    if start is not None:
        arrays["start"] = start
    return {
        "kind": "solve",
        "model": {field: getattr(model, field) for field in _MODEL_SCALARS},
        "options": {
            item.name: getattr(options, item.name)
            for item in fields(options)
            if item.name != "start"
        },
    }, arrays


def decode_request(header: Message, arrays: Arrays) -> tuple[ArrayModel, HighsOptions]:
    """Return the model and the options of a message made by `encode_request`."""
    model: Message = {**header["model"], **{field: arrays[field] for field in ARRAY_TYPES}}
    return ArrayModel(**model), HighsOptions(**header["options"], start=arrays.get("start"))


def encode_solution(solution: ModelSolution) -> tuple[Message, Arrays]:
    """Return the message that ends a run; the trace has gone ahead as progress messages."""
    arrays = {field: getattr(solution, field) for field in _SOLUTION_ARRAYS}
    header = {field: getattr(solution, field) for field in _SOLUTION_SCALARS}
    return {"kind": "solution", **header}, {
        field: array for field, array in arrays.items() if array is not None
    }


def decode_solution(
    header: Message, arrays: Arrays, record: RunRecord, seconds: float
) -> ModelSolution:
    """Return the solution, with the trace that `record` holds and the parent's time."""
    return ModelSolution(
        termination=Termination(header["termination"]),
        answer=Answer(header["answer"]),
        objective=header["objective"],
        dual_bound=header["dual_bound"],
        nodes=header["nodes"],
        work=header["work"],
        seconds=seconds,
        trace=tuple(record.trace),
        **arrays,
    )


def write_message(stream: IO[bytes], header: Message, arrays: Arrays) -> None:
    """Write one message and flush it."""
    layout = [(name, array.dtype.str, len(array)) for name, array in arrays.items()]
    stream.write(json.dumps({**header, "arrays": layout}).encode() + b"\n")
    for array in arrays.values():
        stream.write(array.tobytes())
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[Message, Arrays] | None:
    """Return the next message, or None at the end or where a message breaks off."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    header = json.loads(line)
    arrays = {}
    for name, kind, length in header.pop("arrays"):
        dtype = np.dtype(kind)
        content = stream.read(length * dtype.itemsize)
        if len(content) < length * dtype.itemsize:
            return None
        arrays[name] = np.frombuffer(content, dtype).copy()
    return header, arrays
