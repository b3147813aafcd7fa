"""Error of a step that cannot be traced: the reason, and the line of the model that it is in."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path

from jettison.instances.core.errors import InputError

# Their lines say nothing about the model.
_OURS = frozenset({"torch", "jettison"})
_VALUE_READS = ("_local_scalar_dense", "data-dependent", "DataDependent", "is_nonzero")


def untraceable(error: Exception) -> InputError:
    """Return the error of a step whose trace ended with `error`."""
    text = (str(error) or type(error).__name__).strip().splitlines()[0]
    reads = any(word in f"{type(error).__name__} {text}" for word in _VALUE_READS)
    reason = f"it needs the value of a tensor ({text})" if reads else text
    line = line_of(error)
    expected = (
        "choose with torch.where() or a mask, or outside of the model, instead of by a value"
        if reads
        else "give a scalar loss, trained parameters, no control flow on values, and no"
        " tensors that are neither parameters, buffers nor inputs"
    )
    return InputError(
        f"the step cannot be traced: {reason}{f', in {line}' if line else ''}",
        field="model",
        expected=expected,
    )


def line_of(error: Exception) -> str | None:
    """Return the innermost line of the user's code that an error went through."""
    found: str | None = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        file = frame.f_code.co_filename
        # What has been made at run time has no line that anybody could look up.
        if package in _OURS or not Path(file).is_file():
            continue
        source = linecache.getline(file, number).strip()
        found = f"{file}:{number}, {frame.f_code.co_name}: {source}"
    return found
