from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.device_mesh import DeviceMesh, v100_mesh
from jettison.instances.tensor_programs.placement import Placement
from jettison.instances.tensor_programs.split_operation import SplitOperation
from jettison.instances.tensor_programs.tensor_program import TensorOperation

MESH = v100_mesh((2, 4))
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def operation(
    subscripts: str,
    shapes: tuple[tuple[int, ...], ...],
    result: tuple[int, ...],
    mesh: DeviceMesh = MESH,
    flops: int = 0,
) -> SplitOperation:
    made = TensorOperation(
        name="f",
        role=Role.FORWARD,
        primitive="dot_general",
        subscripts=subscripts,
        shape=result,
        operands=tuple(f"x{place}" for place in range(len(shapes))),
        flops=flops,
    )
    sizes = tuple(4 * int(np.prod(shape)) for shape in shapes)
    return SplitOperation(made, shapes, sizes, mesh)


def part(mesh: DeviceMesh, device: tuple[int, ...], tensor: Numbers, placement: Placement) -> Any:
    for coordinate, count, target in zip(device, mesh.shape, placement, strict=True):
        if target is not None:
            tensor = np.split(tensor, count, axis=target)[coordinate]
    return tensor


def test_the_splits_of_a_product_are_those_of_gspmd() -> None:
    # Axes m, n, k or nothing on each of two dimensions: 4 x 4.
    dot = operation("mk,kn->mn", ((16, 16), (16, 16)), (16, 16))
    names = {strategy.name for strategy in dot.strategies(dot.splits())}
    assert len(names) == 16
    assert {"S0S1=S0RxRS1", "S0R=S0S1xS1R", "RS1=RS0xS0S1", "S01R=S01RxRR", "RR=RRxRR"} <= names
    assert dot.splits()[-1] == (None, None)


def test_a_batched_product_is_split_along_its_batch_too() -> None:
    dot = operation("bmk,bkn->bmn", ((8, 4, 4), (8, 4, 4)), (8, 4, 4), v100_mesh((4,)))
    names = [strategy.name for strategy in dot.strategies(dot.splits())]
    # Batch, rows, columns, contraction, nothing.
    assert names == [
        "S0RR=S0RRxS0RR",
        "RS0R=RS0RxRRR",
        "RRS0=RRRxRRS0",
        "RRR=RRS0xRS0R",
        "RRR=RRRxRRR",
    ]


def test_only_what_divides_is_split() -> None:
    # 2 and 4 divide 4, 8 does not; 2 divides 6.
    copy = operation("ab->ab", ((4, 6),), (4, 6))
    assert set(copy.splits()) == {
        ("b", "a"),
        ("a", None),
        ("b", None),
        (None, "a"),
        (None, None),
    }


def test_a_mesh_dimension_of_one_device_is_not_used() -> None:
    copy = operation("ab->ab", ((8, 8),), (8, 8), v100_mesh((1, 4)))
    assert copy.splits() == ((None, "a"), (None, "b"), (None, None))


def test_a_convolution_is_split_along_batch_and_channels() -> None:
    # Images of 8 x 8 with 4 channels, 12 windows of 3 x 3.
    image = operation(
        "bc..,oc..->bo..", ((8, 4, 8, 8), (12, 4, 3, 3)), (8, 12, 8, 8), v100_mesh((4,))
    )
    assert image.splits() == (("b",), ("o",), ("c",), (None,))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "result"),
    [
        ("mk,kn->mn", ((8, 8), (8, 8)), (8, 8)),
        ("bmk,bkn->bmn", ((8, 2, 4), (8, 4, 2)), (8, 2, 2)),
        ("mk,mn->kn", ((8, 8), (8, 8)), (8, 8)),
        ("ab->a", ((8, 8),), (8,)),
        ("ab->", ((8, 8),), ()),
        ("ab->ba", ((8, 4),), (4, 8)),
        ("ab,b->ab", ((8, 8), (8,)), (8, 8)),
    ],
)
def test_the_parts_that_devices_make_from_their_parts_add_up_to_the_whole(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], result: tuple[int, ...]
) -> None:
    split_operation = operation(subscripts, shapes, result)
    random = np.random.default_rng(0)
    tensors = [random.integers(-9, 9, shape) for shape in shapes]
    whole = np.einsum(subscripts, *tensors)
    for split in split_operation.splits():
        reads = split_operation.reads(split)
        partial = {
            device: np.einsum(
                subscripts,
                *(
                    part(MESH, device, tensor, placement)
                    for tensor, placement in zip(tensors, reads, strict=True)
                ),
            )
            for device in product(*map(range, MESH.shape))
        }
        reduced = [
            axis is not None and axis not in split_operation.operation.result_axes for axis in split
        ]
        for device in partial:
            # An all-reduce adds up over the devices that differ in a reduced dimension only.
            total = sum(
                partial[other]
                for other in partial
                if all(
                    free or one == two
                    for one, two, free in zip(device, other, reduced, strict=True)
                )
            )
            expected = part(MESH, device, whole, split_operation.result(split))
            assert np.array_equal(total, expected), split


def test_a_share_pays_for_its_part_and_for_the_sum() -> None:
    # 64 x 64 x 64: 2^19 operations, three matrices of 2^14 bytes.
    dot = operation("mk,kn->mn", ((64, 64), (64, 64)), (64, 64), v100_mesh((4,)), 2**19)
    rows, columns, inner, copied = dot.strategies(dot.splits())
    # A quarter of the operations, 2^17/14000 = 9.362 ns; bytes: 2^12 + 2^14 + 2^12 = 24576, at 800
    # a nanosecond 30.72: 40.08 together.
    assert (rows.compute_ns, rows.communication_ns, rows.memory_bytes) == (41, 0, 2**12)
    assert (columns.compute_ns, columns.communication_ns) == (41, 0)
    # Partial sums of 2^14 bytes: 2^12 + 2^12 + 2^14 bytes as before, and an all-reduce of
    # 10000 + 2 (3/4) 16384 / 130 = 10189.05 ns.
    assert (inner.compute_ns, inner.communication_ns, inner.memory_bytes) == (41, 10_190, 2**14)
    # All of it: 37.449 + 61.44 ns.
    assert (copied.compute_ns, copied.communication_ns) == (99, 0)


def test_a_value_that_is_read_twice_in_one_form_is_read_once() -> None:
    made = TensorOperation(
        name="square",
        role=Role.FORWARD,
        primitive="mul",
        subscripts="a,a->a",
        shape=(80_000,),
        operands=("x", "x"),
    )
    square = SplitOperation(made, ((80_000,),) * 2, (320_000,) * 2, v100_mesh((1, 1)))
    # 320000 bytes in, 320000 out, 800 a nanosecond.
    assert square.strategies(square.splits())[0].compute_ns == 800


def test_a_parameter_takes_memory_and_no_time() -> None:
    made = TensorOperation(
        name="w", role=Role.PARAMETER, primitive="parameter", subscripts="->ab", shape=(8, 8)
    )
    weight = SplitOperation(made, (), (), v100_mesh((4,)))
    found = weight.strategies(weight.splits())
    assert [(item.name, item.cost_ns, item.memory_bytes) for item in found] == [
        ("S0R", 0, 64),
        ("RS0", 0, 64),
        ("RR", 0, 256),
    ]
