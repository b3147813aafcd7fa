"""The axes of JAX's primitives; JAX itself is not needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jettison.instances.importers.jax_subscripts import flops_of, subscripts_of

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((6, 4), (24,), "a.->a"),
        ((24,), (6, 4), "a->a."),
        ((2, 6, 4), (2, 24), "ab.->ab"),
        ((2, 3, 8), (6, 2, 4), "a.b->ab."),
        ((6, 4), (4, 6), "a.->a."),
        ((5, 1, 7), (5, 7), "a.b->ab"),
        ((1, 5), (5, 1), ".a->a."),
        ((), (1, 1), "->.."),
        ((1,), (), ".->"),
    ],
)
def test_reshaping_keeps_the_major_parts_of_what_is_split_or_merged(
    before: Shape, after: Shape, expected: str
) -> None:
    left, right = subscripts_of("reshape", {}, [before], after)
    assert f"{left[0]}->{right}" == expected


@pytest.mark.parametrize(
    ("before", "after"), [((6, 4), (24,)), ((4, 6), (2, 12)), ((2, 6, 4), (12, 4)), ((8,), (2, 4))]
)
def test_blocks_of_a_shared_axis_are_the_same_numbers_on_both_sides(
    before: Shape, after: Shape
) -> None:
    left, right = subscripts_of("reshape", {}, [before], after)
    numbers = np.arange(np.prod(before))
    for axis in set(right) - {"."}:
        one, other = left[0].index(axis), right.index(axis)
        if before[one] % 2 == 0 and after[other] % 2 == 0:
            blocks = np.split(numbers.reshape(before), 2, axis=one)
            seen = np.split(numbers.reshape(after), 2, axis=other)
            for block, part in zip(blocks, seen, strict=True):
                assert set(block.ravel()) == set(part.ravel())


def test_a_batched_product_names_batch_contraction_and_what_is_free() -> None:
    # Dimension 0 is the batch, 2 and 1 are contracted.
    params = {"dimension_numbers": (((2,), (1,)), ((0,), (0,)))}
    shapes: list[Shape] = [(8, 3, 5), (8, 5, 7)]
    assert subscripts_of("dot_general", params, shapes, (8, 3, 7)) == (["acb", "abd"], "acd")
    assert flops_of("dot_general", params, shapes, (8, 3, 7)) == 2 * 8 * 3 * 7 * 5


@pytest.mark.parametrize(
    ("primitive", "params", "shapes", "result", "expected"),
    [
        ("add", {}, [(6, 4), (6, 1)], (6, 4), (["ab", "a."], "ab")),
        ("select_n", {}, [(), (6, 4), (6, 4)], (6, 4), (["", "ab", "ab"], "ab")),
        ("transpose", {"permutation": (2, 0, 1)}, [(6, 4, 2)], (2, 6, 4), (["bca"], "abc")),
        ("reduce_sum", {"axes": (1,)}, [(6, 4, 2)], (6, 2), (["abc"], "ac")),
        ("argmax", {"axes": (1,)}, [(6, 4)], (6,), (["a."], "a")),
        ("broadcast_in_dim", {"broadcast_dimensions": (1,)}, [(4,)], (6, 4), (["b"], "ab")),
        ("broadcast_in_dim", {"broadcast_dimensions": (0, 1)}, [(6, 1)], (6, 4), (["a."], "ab")),
        ("squeeze", {"dimensions": (1,)}, [(6, 1, 4)], (6, 4), (["a.b"], "ab")),
        ("concatenate", {"dimension": 0}, [(6, 4), (2, 4)], (8, 4), ([".a", ".a"], ".a")),
        ("slice", {}, [(6, 4)], (6, 2), (["a."], "a.")),
        ("cumsum", {"axis": 0}, [(6, 4)], (6, 4), ([".a"], ".a")),
        ("gather", {}, [(6, 4), (3, 1)], (3, 4), (["..", ".."], "..")),
    ],
)
def test_each_kind_of_operation_has_its_axes(
    primitive: str,
    params: dict[str, Any],
    shapes: list[Shape],
    result: Shape,
    expected: tuple[list[str], str],
) -> None:
    assert subscripts_of(primitive, params, shapes, result) == expected


def test_convolutions_in_groups_are_split_along_the_batch_only() -> None:
    numbers = SimpleNamespace(lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), out_spec=(0, 1, 2))
    shapes: list[Shape] = [(8, 4, 16), (12, 4, 3)]
    plain = {"dimension_numbers": numbers}
    assert subscripts_of("conv_general_dilated", plain, shapes, (8, 12, 16)) == (
        ["ab.", "cb."],
        "ac.",
    )
    # 8 x 12 x 16 results of 4 x 3 products each.
    assert flops_of("conv_general_dilated", plain, shapes, (8, 12, 16)) == 2 * 1536 * 12
    grouped = {**plain, "feature_group_count": 4}
    assert subscripts_of("conv_general_dilated", grouped, shapes, (8, 12, 16)) == (
        ["a..", "..."],
        "a..",
    )


def test_views_take_no_work_and_reductions_read_all() -> None:
    assert flops_of("reshape", {}, [(6, 4)], (24,)) == 0
    assert flops_of("reduce_sum", {"axes": (0, 1)}, [(6, 4)], ()) == 24
    assert flops_of("tanh", {}, [(6, 4)], (6, 4)) == 24
