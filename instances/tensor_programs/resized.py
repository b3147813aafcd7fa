"""Tensor programs of transformers with other sizes, made from one that was traced.

A dimension of a transformer is its batch, its tokens, its hidden units, four times as many, its
heads, the units of one head, or 1. Where these numbers differ, a size says what it counts, so
every shape follows from the new sizes, and arithmetic operations grow with the axes that an
operation runs over. What comes out is what JAX traces for the new sizes.
"""

from __future__ import annotations

import math
from dataclasses import replace

from jettison.instances.core.errors import InputError
from jettison.instances.tensor_programs.tensor_program import TensorProgram

LARGEST_TOKENS = 2**17
LARGEST_HIDDEN = 2**16


def resized(
    program: TensorProgram, *, tokens: int | None = None, hidden: int | None = None
) -> TensorProgram:
    """Return the program for sequences and layers of other sizes; linear in its size.

    Parameters
    ----------
    program
        A traced transformer, with its sizes in `provenance`.
    tokens
        Tokens of a sequence; as many as before if it is not given.
    hidden
        Hidden units, a multiple of the units of a head, which stay as many; heads follow.

    Raises
    ------
    InputError
        If the program does not say its sizes, two of them are equal, or a new one is out of range.
    """
    known = program.provenance.model_arguments
    found = [known.get(key) for key in ("tokens", "hidden", "heads")]
    old_tokens, old_hidden, heads = (item if isinstance(item, int) else 0 for item in found)
    batch = program.provenance.batch or 0
    if not min(old_tokens, old_hidden, heads, batch):
        raise InputError(
            f"{program.name!r} does not say its batch, tokens, hidden units and heads",
            field="program",
            expected="give a traced transformer, encoder-4l say",
        )
    of_head = old_hidden // heads
    kinds = (batch, old_tokens, old_hidden, 4 * old_hidden, heads, of_head, 1)
    if len(set(kinds)) < len(kinds):
        raise InputError(
            f"sizes {kinds}", field="program", expected="give one whose sizes are all different"
        )
    tokens = old_tokens if tokens is None else tokens
    hidden = old_hidden if hidden is None else hidden
    if not 1 <= tokens <= LARGEST_TOKENS:
        raise InputError(f"{tokens}", field="tokens", expected=f"write 1 to {LARGEST_TOKENS}")
    if not of_head <= hidden <= LARGEST_HIDDEN or hidden % of_head:
        raise InputError(
            f"{hidden}",
            field="hidden",
            expected=f"write a multiple of {of_head}, up to {LARGEST_HIDDEN}",
        )
    sizes = {old_tokens: tokens, old_hidden: hidden, 4 * old_hidden: 4 * hidden}
    sizes[heads] = hidden // of_head
    shaped = TensorProgram(
        program.name,
        tuple(
            replace(operation, shape=tuple(sizes.get(size, size) for size in operation.shape))
            for operation in program.operations
        ),
    )
    operations = tuple(
        replace(
            after,
            flops=before.flops
            * math.prod(shaped.axes(after).values())
            // math.prod(program.axes(before).values()),
        )
        for before, after in zip(program.operations, shaped.operations, strict=True)
    )
    provenance = replace(
        program.provenance,
        input_shape=tuple(sizes.get(size, size) for size in program.provenance.input_shape or ()),
        model_arguments={
            **known,
            "tokens": tokens,
            "hidden": hidden,
            "heads": hidden // of_head,
        },
    )
    name = f"{program.name}-t{tokens}-h{hidden}"
    return TensorProgram(name, operations, provenance)
