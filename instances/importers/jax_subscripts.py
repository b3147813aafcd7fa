"""Axes and arithmetic of JAX's primitives, as subscripts of tensor programs.

Nothing here imports JAX: the parameters of a primitive are plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

Shape = tuple[int, ...]
Subscripts = tuple[list[str], str]

ELEMENTWISE = frozenset(
    {
        "abs",
        "acos",
        "acosh",
        "add",
        "add_any",
        "and",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "clamp",
        "clz",
        "convert_element_type",
        "copy",
        "copy_p",
        "copysign",
        "cos",
        "cosh",
        "digamma",
        "div",
        "eq",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "ge",
        "gt",
        "imag",
        "integer_pow",
        "is_finite",
        "le",
        "lgamma",
        "log",
        "log1p",
        "logistic",
        "lt",
        "max",
        "min",
        "mul",
        "name",
        "ne",
        "neg",
        "nextafter",
        "not",
        "or",
        "population_count",
        "pow",
        "real",
        "reduce_precision",
        "rem",
        "round",
        "rsqrt",
        "select_n",
        "sharding_constraint",
        "shift_left",
        "shift_right_arithmetic",
        "shift_right_logical",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "stop_gradient",
        "sub",
        "tan",
        "tanh",
        "xor",
    }
)
REDUCTIONS = frozenset(
    {
        "reduce_sum",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reduce_and",
        "reduce_or",
        "reduce_xor",
    }
)
# Dimensions whose size stays are independent of each other; the others are not split.
WINDOWS = frozenset({"slice", "pad", "concatenate", "dynamic_slice", "dynamic_update_slice"})
# Dependent along one dimension only, which is named by a parameter.
SCANS = frozenset({"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "sort"})


def subscripts_of(
    primitive: str, params: Mapping[str, Any], shapes: Sequence[Shape], result: Shape
) -> Subscripts:
    """Return the axes of each operand, and of the result.

    Parameters
    ----------
    primitive, params
        JAX's name of the operation and its parameters.
    shapes, result
        Shapes of the operands, and of the result.
    """
    letters = map(chr, count(ord("a")))
    if primitive == "dot_general":
        return _product(params["dimension_numbers"], shapes, letters)
    if primitive == "conv_general_dilated":
        return _convolution(params, shapes, len(result), letters)
    if primitive == "broadcast_in_dim":
        return _broadcast(params["broadcast_dimensions"], shapes, result, letters)
    if primitive == "transpose":
        axes = [next(letters) for _ in result]
        operand = ["."] * len(result)
        for place, source in enumerate(params["permutation"]):
            operand[source] = axes[place]
        return ["".join(operand)], "".join(axes)
    if primitive in REDUCTIONS or primitive in {"argmax", "argmin"}:
        mark = "." if primitive.startswith("arg") else None
        operand = [
            mark if mark and place in params["axes"] else next(letters)
            for place in range(len(shapes[0]))
        ]
        kept = [axis for place, axis in enumerate(operand) if place not in params["axes"]]
        return ["".join(operand)], "".join(kept)
    if primitive in {"reshape", "squeeze", "expand_dims"}:
        return _reshape(shapes, result, letters)
    if primitive in ELEMENTWISE:
        whole = "".join(next(letters) for _ in result)
        return [_stretched(whole, shape, result) for shape in shapes], whole
    if primitive in WINDOWS | SCANS:
        scanned = params.get("axis", params.get("dimension"))
        windowed = "".join(
            next(letters)
            if place != scanned
            and all(shape[place] == size for shape in shapes if len(shape) == len(result))
            else "."
            for place, size in enumerate(result)
        )
        return [
            windowed if len(shape) == len(result) else "." * len(shape) for shape in shapes
        ], windowed
    return ["." * len(shape) for shape in shapes], "." * len(result)


def flops_of(
    primitive: str, params: Mapping[str, Any], shapes: Sequence[Shape], result: Shape
) -> int:
    """Return the number of floating-point operations: 2 for each product, else 1 per element."""
    if primitive == "dot_general":
        contracted: Sequence[int] = params["dimension_numbers"][0][0]
        return 2 * math.prod(result) * math.prod(shapes[0][place] for place in contracted)
    if primitive == "conv_general_dilated":
        features: int = shapes[1][params["dimension_numbers"].rhs_spec[0]]
        return 2 * math.prod(result) * math.prod(shapes[1]) // features
    if primitive in {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy"}:
        return 0
    if primitive in REDUCTIONS:
        return math.prod(shapes[0])
    return math.prod(result)


def _product(numbers: Any, shapes: Sequence[Shape], letters: Iterator[str]) -> Subscripts:
    (left_contracted, right_contracted), (left_batch, right_batch) = numbers
    left, right = [""] * len(shapes[0]), [""] * len(shapes[1])
    batch = []
    for one, other in zip(left_batch, right_batch, strict=True):
        left[one] = right[other] = next(letters)
        batch.append(left[one])
    for one, other in zip(left_contracted, right_contracted, strict=True):
        left[one] = right[other] = next(letters)
    result = list(batch)
    for axes in (left, right):
        for place, axis in enumerate(axes):
            if not axis:
                axes[place] = next(letters)
                result.append(axes[place])
    return ["".join(left), "".join(right)], "".join(result)


def _convolution(
    params: Mapping[str, Any], shapes: Sequence[Shape], rank: int, letters: Iterator[str]
) -> Subscripts:
    numbers = params["dimension_numbers"]
    batch, inner, outer = (next(letters) for _ in range(3))
    # Groups mix the axis of the group with that of the channels, so that neither is split.
    if params.get("feature_group_count", 1) > 1 or params.get("batch_group_count", 1) > 1:
        inner = outer = "."
        if params.get("batch_group_count", 1) > 1:
            batch = "."
    image, window, result = (["."] * rank for _ in range(3))
    image[numbers.lhs_spec[0]], image[numbers.lhs_spec[1]] = batch, inner
    window[numbers.rhs_spec[0]], window[numbers.rhs_spec[1]] = outer, inner
    result[numbers.out_spec[0]], result[numbers.out_spec[1]] = batch, outer
    return ["".join(image), "".join(window)], "".join(result)


def _broadcast(
    dimensions: Sequence[int], shapes: Sequence[Shape], result: Shape, letters: Iterator[str]
) -> Subscripts:
    axes = [next(letters) for _ in result]
    operand = "".join(
        axes[target] if size == result[target] else "."
        for size, target in zip(shapes[0], dimensions, strict=True)
    )
    return [operand, *("" for _ in shapes[1:])], "".join(axes)


def _stretched(axes: str, shape: Shape, result: Shape) -> str:
    if len(shape) != len(result):
        return "." * len(shape)
    return "".join(
        axis if size == whole else "."
        for axis, size, whole in zip(axes, shape, result, strict=True)
    )


def _reshape(shapes: Sequence[Shape], result: Shape, letters: Iterator[str]) -> Subscripts:
    """Match the dimensions in groups of equal size; the major ones of a group share an axis."""
    before, after = ["."] * len(shapes[0]), ["."] * len(result)
    one = other = 0
    while one < len(before) or other < len(after):
        left = right = 1
        first, second = one, other
        while first == one or second == other or left != right:
            if left <= right and one < len(before):
                left, one = left * shapes[0][one], one + 1
            elif other < len(after):
                right, other = right * result[other], other + 1
            else:
                left, one = left * shapes[0][one], one + 1
            if one == len(before) and other == len(after):
                break
        majors = (
            next((place for place in range(first, one) if shapes[0][place] > 1), None),
            next((place for place in range(second, other) if result[place] > 1), None),
        )
        if majors[0] is not None and majors[1] is not None:
            before[majors[0]] = after[majors[1]] = next(letters)
    return ["".join(before), *("" for _ in shapes[1:])], "".join(after)
