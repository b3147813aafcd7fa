"""Schemas of PyTorch's operators: the arguments that an operator writes."""

from __future__ import annotations

import re

# Of what these write, only shape, strides or owner change, never the elements.
_CHANGES_NO_ELEMENT = frozenset(
    f"aten::{name}"
    for name in (
        *("as_strided_", "detach_", "record_stream", "rename_", "requires_grad_", "resize_"),
        *("set_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"),
    )
)
_WRITTEN = re.compile(r"\([a-z0-9|]*!")


def written_arguments(name: str, schema: str) -> frozenset[int]:
    """Return the positions of the arguments that an operator writes.

    A schema marks them with an exclamation mark, ``Tensor(a!) self``. Operators of other libraries,
    the collectives among them, may leave the mark out; what their name ends with an underscore, by
    PyTorch's custom, write their first argument.

    Parameters
    ----------
    name
        Name of the operator, ``aten::add_``.
    schema
        Its schema, empty for what is no operator.
    """
    if not schema or name in _CHANGES_NO_ELEMENT:
        return frozenset()
    marked = frozenset(
        place for place, text in enumerate(_arguments(schema)) if _WRITTEN.search(text)
    )
    if not marked and name.endswith("_") and not name.startswith("aten::"):
        return frozenset([0])
    return marked


def _arguments(schema: str) -> list[str]:
    """Return the texts of the arguments; ``Tensor(a!)[] self, int dim=0`` has two."""
    found: list[str] = []
    depth = 0
    start = schema.find("(") + 1
    for place, letter in enumerate(schema):
        depth += (letter in "([") - (letter in ")]")
        if (depth == 1 and letter == ",") or (depth == 0 and letter == ")"):
            found.append(schema[start:place].strip())
            start = place + 1
        if depth == 0 and letter == ")":
            break
    # The star only says that what follows is given by name.
    return [text for text in found if text and text != "*"]
