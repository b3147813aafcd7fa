r"""Placement of a tensor on a mesh, and the time of resharding it to another one.

A placement says for each dimension of the mesh which dimension of the tensor it splits, or that it
holds copies (None). Where both mesh dimensions split one tensor dimension, the first is the major
one: device :math:`(i, j)` holds block :math:`i n_1 + j`. In the names ``S0``, ``S1`` and ``S01``
mark a dimension that is split, ``R`` one that is not.

Each mesh dimension may *slice* (take a dimension on: free, every device has the numbers), *gather*
(give one up: an all-gather) or *move* (give one up for another: an all-to-all). They come in the
cheapest order: slices as early as they can, so that less is gathered, and gathers over more and
more bytes. An all-to-all beside a gather, or two of them, is forbidden, and so is what would leave
a device with blocks that are not neighbours, ``S01`` to ``S1`` say.
"""

from __future__ import annotations

import math
from itertools import permutations

from jettison.instances.tensor_programs.device_mesh import DeviceMesh

Placement = tuple[int | None, ...]


def parts(mesh: DeviceMesh, placement: Placement) -> int:
    """Return into how many parts a placement splits a tensor."""
    return math.prod(
        dimension.devices
        for dimension, target in zip(mesh.dimensions, placement, strict=True)
        if target is not None
    )


def placement_name(rank: int, placement: Placement) -> str:
    """Return the placement of a tensor with `rank` dimensions as text, ``S0R`` say."""
    words = []
    for dimension in range(rank):
        along = [str(d) for d, target in enumerate(placement) if target == dimension]
        words.append(f"S{''.join(along)}" if along else "R")
    return "".join(words) or "R"


def resharding_ns(
    mesh: DeviceMesh, size_bytes: int, source: Placement, target: Placement
) -> int | None:
    """Return the time of resharding a tensor of `size_bytes` from one placement to another.

    None if that is forbidden. Complexity: constant, the mesh has at most two dimensions.
    """
    changed = [d for d, ends in enumerate(zip(source, target, strict=True)) if ends[0] != ends[1]]
    moves = [d for d in changed if source[d] is not None and target[d] is not None]
    gathers = [d for d in changed if target[d] is None]
    if len(moves) > 1 or (moves and gathers):
        return None
    found = [
        cost
        for order in permutations(changed)
        if (cost := _in_order_ns(mesh, size_bytes, source, target, order)) is not None
    ]
    return min(found, default=None)


def _in_order_ns(
    mesh: DeviceMesh,
    size_bytes: int,
    source: Placement,
    target: Placement,
    order: tuple[int, ...],
) -> int | None:
    state, total_ns = list(source), 0
    for d in order:
        before, after = state[d], target[d]
        # A dimension of the tensor is taken on, and given up, from the minor end.
        if any(state[minor] in {before, after} - {None} for minor in range(d + 1, len(state))):
            return None
        local_bytes = size_bytes // parts(mesh, tuple(state))
        dimension = mesh.dimensions[d]
        if before is not None:
            gathered_bytes = local_bytes * dimension.devices
            total_ns += (
                dimension.all_gather_ns(gathered_bytes)
                if after is None
                else dimension.all_to_all_ns(gathered_bytes)
            )
        state[d] = after
    return total_ns
