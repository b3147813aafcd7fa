"""Copies that a product needs of its operands, because their elements are in another order.

XLA turns a product into one of matrices: the left operand in the order batch, rows, contracted, the
right one in the order batch, contracted, columns, each group as one dimension. A change of shape or
of order that leaves the elements where they are costs nothing, and the two dimensions of a matrix
may be exchanged for free, in each batch too. Everything else is a copy: of a sum of layers of 3
dimensions, say, in the gradient of a weight, which contracts two of them. Read in XLA's own
buffers for CPUs (JAX 0.10.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jettison.jax.flat_program import Equation, FlatProgram


class OperandCopies:
    """Orders of the elements of values, as changes of shape leave them.

    Parameters
    ----------
    flat
        The equations.
    views
        Primitives that change the shape or nothing.
    """

    def __init__(self, flat: FlatProgram, views: frozenset[str]) -> None:
        self._avals = flat.avals
        # An array that nobody reads, of which numpy knows the strides; None if it has no such.
        self._order: dict[int, Any] = {}
        for equation in flat.equations:
            if equation.primitive not in views:
                continue
            for operand, result in zip(equation.inputs, equation.outputs, strict=False):
                if isinstance(operand, int):
                    self._order[result] = self._viewed(equation, operand, result)

    def of(self, equation: Equation) -> tuple[int, ...]:
        """Return the operands that a product or a convolution has to copy; none of others."""
        if equation.primitive == "conv_general_dilated":
            return self._of_convolution(equation)
        if equation.primitive != "dot_general":
            return ()
        (contracted, batch) = equation.source.params["dimension_numbers"]
        found = []
        for place, operand in enumerate(equation.inputs[:2]):
            if isinstance(operand, int) and self._is_copied(
                operand, batch[place], contracted[place], is_left=place == 0
            ):
                found.append(operand)
        return tuple(found)

    def _of_convolution(self, equation: Equation) -> tuple[int, ...]:
        numbers = equation.source.params["dimension_numbers"]
        batch, feature, *places = numbers.lhs_spec
        result, read, *extent = numbers.rhs_spec
        orders = ([batch, *places, feature], [*extent, read, result])
        found = []
        for operand, order in zip(equation.inputs[:2], orders, strict=True):
            if isinstance(operand, int):
                array = self._array(operand)
                if array is None or not _is_in_order(array, order):
                    found.append(operand)
        return tuple(found)

    def _viewed(self, equation: Equation, operand: int, result: int) -> Any:
        source = self._array(operand)
        if source is None:
            return None
        if equation.primitive == "transpose":
            return source.transpose(equation.source.params["permutation"])
        view = source.view()
        try:
            view.shape = self._avals[result].shape
        except AttributeError:
            # The elements would have to move.
            return None
        return view

    def _array(self, value: int) -> Any:
        if value not in self._order:
            shape = self._avals[value].shape
            strides = [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
            self._order[value] = as_strided(np.zeros(1, np.int8), shape, strides)
        return self._order[value]

    def _is_copied(
        self, value: int, batch: Sequence[int], contracted: Sequence[int], *, is_left: bool
    ) -> bool:
        array = self._array(value)
        if array is None:
            return True
        others = [
            place for place in range(array.ndim) if place not in batch and place not in contracted
        ]
        groups = (others, contracted) if is_left else (contracted, others)
        if _is_in_order(array, [*batch, *groups[0], *groups[1]]):
            return False
        is_matrix = all(sum(array.shape[place] > 1 for place in group) < 2 for group in groups)
        return not (is_matrix and _is_in_order(array, [*batch, *groups[1], *groups[0]]))


def _is_in_order(array: Any, places: Sequence[int]) -> bool:
    return bool(array.transpose(places).flags.c_contiguous)
