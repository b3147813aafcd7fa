from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from jettison.instances.tensor_programs.device_mesh import DeviceMesh, v100_mesh
from jettison.instances.tensor_programs.placement import (
    Placement,
    parts,
    placement_name,
    resharding_ns,
)

MESH = v100_mesh((2, 4))
BETWEEN, WITHIN = MESH.dimensions
SIZE = 1_040_000
# A matrix whose dimensions both meshes divide, alone and together.
SHAPE = (16, 16)
PLACEMENTS: list[Placement] = list(product((0, 1, None), repeat=2))


def held(mesh: DeviceMesh, placement: Placement) -> list[frozenset[tuple[int, ...]]]:
    """Return the elements that each device holds, by cutting dimension after dimension."""
    found = []
    for device in np.ndindex(*mesh.shape):
        ranges = [range(size) for size in SHAPE]
        for coordinate, count, target in zip(device, mesh.shape, placement, strict=True):
            if target is not None:
                length = len(ranges[target]) // count
                ranges[target] = ranges[target][coordinate * length : (coordinate + 1) * length]
        found.append(frozenset(product(*ranges)))
    return found


@pytest.mark.parametrize("source", PLACEMENTS)
@pytest.mark.parametrize("target", PLACEMENTS)
def test_resharding_is_free_exactly_where_every_device_has_what_it_needs(
    source: Placement, target: Placement
) -> None:
    enough = all(
        after <= before
        for before, after in zip(held(MESH, source), held(MESH, target), strict=True)
    )
    assert (resharding_ns(MESH, SIZE, source, target) == 0) == enough


def test_one_gather_is_an_all_gather_of_what_a_device_has_in_the_end() -> None:
    # S1R to RR: everything within the node.
    assert resharding_ns(MESH, SIZE, (None, 0), (None, None)) == WITHIN.all_gather_ns(SIZE)
    # S0S1 to S0R: each device ends with half of the tensor.
    assert resharding_ns(MESH, SIZE, (0, 1), (0, None)) == WITHIN.all_gather_ns(SIZE // 2)


def test_two_gathers_grow_and_the_slow_link_comes_first() -> None:
    # S0S1 to RR: a quarter between nodes, then all of it within; the other order gathers all of it
    # over the slow link.
    expected = BETWEEN.all_gather_ns(SIZE // 4) + WITHIN.all_gather_ns(SIZE)
    assert resharding_ns(MESH, SIZE, (0, 1), (None, None)) == expected
    assert expected < WITHIN.all_gather_ns(SIZE // 2) + BETWEEN.all_gather_ns(SIZE)


def test_both_dimensions_of_the_mesh_on_one_are_gathered_from_the_minor_one() -> None:
    # S01R to RR: blocks of four neighbours join within a node before the nodes exchange halves.
    expected = WITHIN.all_gather_ns(SIZE // 2) + BETWEEN.all_gather_ns(SIZE)
    assert resharding_ns(MESH, SIZE, (0, 0), (None, None)) == expected


def test_a_move_is_an_all_to_all() -> None:
    assert resharding_ns(MESH, SIZE, (None, 0), (None, 1)) == WITHIN.all_to_all_ns(SIZE)
    # S01R to S0S1: within each half.
    assert resharding_ns(MESH, SIZE, (0, 0), (0, 1)) == WITHIN.all_to_all_ns(SIZE // 2)


def test_a_slice_comes_before_a_gather_where_it_can() -> None:
    # S0R to RS1: the columns are cut first, so that a quarter goes between the nodes.
    assert resharding_ns(MESH, SIZE, (0, None), (None, 1)) == BETWEEN.all_gather_ns(SIZE // 4)
    # S1R to S0R: the rows are not free before the gather.
    assert resharding_ns(MESH, SIZE, (None, 0), (0, None)) == WITHIN.all_gather_ns(SIZE)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((0, 1), (1, 0)),  # S0S1 to S1S0 moves twice
        ((0, 1), (None, 0)),  # S0S1 to S1R gathers and moves
        ((0, 0), (None, 0)),  # S01R to S1R leaves blocks that are not neighbours
        ((None, 0), (0, 0)),  # S1R to S01R needs other blocks
        ((1, 0), (0, 0)),  # S1S0 to S01R takes a dimension on at its major end
    ],
)
def test_other_permutations_are_forbidden(source: Placement, target: Placement) -> None:
    assert resharding_ns(MESH, SIZE, source, target) is None


@pytest.mark.parametrize("source", PLACEMENTS)
def test_a_placement_stays_where_it_is_for_free_and_can_always_be_copied(source: Placement) -> None:
    assert resharding_ns(MESH, SIZE, source, source) == 0
    assert resharding_ns(MESH, SIZE, source, (None, None)) is not None


def test_a_placement_has_a_name_and_a_number_of_parts() -> None:
    assert placement_name(3, (1, 1)) == "RS01R"
    assert placement_name(2, (1, 0)) == "S1S0"
    assert placement_name(0, (None, None)) == "R"
    assert [parts(MESH, (0, None)), parts(MESH, (0, 0)), parts(MESH, (None, None))] == [2, 8, 1]
