"""Chains of layers with weights, for which equation (1) of the paper on weight offloading holds."""

from __future__ import annotations

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.weight_offload.problem import WeightOffload


def weight_chain(*rows: tuple[int, int, int, int]) -> Chain:
    """Return a chain of (forward ns, backward ns, saved bytes, weight bytes) per layer."""
    return Chain(
        "layers",
        0,
        tuple(
            Stage(
                name=f"layer {number}",
                forward_ns=forward_ns,
                backward_ns=backward_ns,
                output_bytes=0,
                saved_bytes=saved_bytes,
                weight_bytes=weight_bytes,
            )
            for number, (forward_ns, backward_ns, saved_bytes, weight_bytes) in enumerate(rows, 1)
        ),
    )


def layers_in(memory_bytes: int, *rows: tuple[int, int, int, int]) -> WeightOffload:
    """Pose such a chain in a memory, at a byte per ns."""
    return WeightOffload(weight_chain(*rows), memory_bytes, 10**9)
