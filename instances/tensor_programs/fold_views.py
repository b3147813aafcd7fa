r"""Folding of views (transpositions, reshapes, broadcasts) into the operations that read them.

A transposition, a change of shape or a broadcast is folded into the operations that read it: they
read its operand instead, with the axes renamed. Compilers do the same: a product takes any layout,
an elementwise operation broadcasts as it reads. What is folded takes no time and no memory, so that
the folded program is another instance than the program itself, in which each of them is a copy.

For a reader with axes :math:`L` of a view ``I->O``, the dimension of the view's operand with axis
:math:`I_j = O_p` gets the axis :math:`L_p`. A dimension of the view that is not split (a dot in
:math:`O`) takes the reader's axis with it: the reader can no longer be split along it. A view stays
where an axis of the reader would be lost, or could be divided where it could not be before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jettison.instances.tensor_programs.tensor_program import (
    UNSPLIT,
    TensorOperation,
    TensorProgram,
)

VIEWS = frozenset(
    {
        "broadcast_in_dim",
        "copy",
        "expand_dims",
        "name",
        "reshape",
        "squeeze",
        "stop_gradient",
        "transpose",
    }
)
"""Primitives that only change how a tensor is seen."""


def fold_views(program: TensorProgram) -> TensorProgram:
    """Return the program with views folded into their readers; a kept one keeps its operand.

    Complexity: linear in the number of operands, for each length of a chain of views.
    """
    before = {operation.name: operation for operation in program.operations}
    found: dict[str, TensorOperation] = {}
    for operation in program.operations:
        folded = operation
        place = 0
        while place < len(folded.operands):
            view = found[folded.operands[place]]
            shorter = _without(folded, place, view, before) if _is_view(view, before) else None
            if shorter is None:
                place += 1
            else:
                folded = shorter
        if folded.keep and _is_view(folded, before):
            source = found[folded.operands[0]]
            if source.operands and source.size_bytes == folded.size_bytes:
                found[source.name] = replace(source, keep=True)
                folded = replace(folded, keep=False)
        found[folded.name] = folded
    needed: set[str] = set()
    for operation in reversed(found.values()):
        if operation.keep or operation.role.is_computed_once or operation.name in needed:
            needed.update((operation.name, *operation.operands))
    return TensorProgram(
        program.name,
        tuple(operation for operation in found.values() if operation.name in needed),
        program.provenance,
    )


def _is_view(operation: TensorOperation, before: Mapping[str, TensorOperation]) -> bool:
    return (
        operation.primitive in VIEWS
        and len(operation.operands) == 1
        and before[operation.operands[0]].element_bytes == operation.element_bytes
    )


def _without(
    reader: TensorOperation,
    place: int,
    view: TensorOperation,
    before: Mapping[str, TensorOperation],
) -> TensorOperation | None:
    """Return the reader with the operand of a view in the place of the view; None if it stays."""
    seen, shown = view.operand_axes[0], view.result_axes
    axes = reader.operand_axes[place]
    stuck = {axis for axis, mark in zip(axes, shown, strict=True) if mark == UNSPLIT}
    renamed = "".join(
        axes[shown.index(axis)] if axis != UNSPLIT and axis in shown else UNSPLIT for axis in seen
    )
    operand_axes = [*reader.operand_axes]
    operand_axes[place] = renamed
    texts = [*operand_axes, reader.result_axes]
    for axis in stuck - {UNSPLIT}:
        texts = [text.replace(axis, UNSPLIT) for text in texts]
    operands = [*reader.operands]
    operands[place] = view.operands[0]
    shorter = replace(
        reader, operands=tuple(operands), subscripts=f"{','.join(texts[:-1])}->{texts[-1]}"
    )
    old, new = _axes(reader, before), _axes(shorter, before)
    same = all(new.get(axis, 1) == size for axis, size in old.items() if axis not in stuck)
    return shorter if same else None


def _axes(operation: TensorOperation, before: Mapping[str, TensorOperation]) -> dict[str, int]:
    return operation.axes([before[name].shape for name in operation.operands])
