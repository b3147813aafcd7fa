"""Memory that every step needs which calls the same libraries, whatever is computed again.

A call of a library has what it reads and what it writes in memory at once, and in the backward
pass the outputs of the model and their gradients besides, which the caller holds. At the end all
gradients are there. No plan, order or fusion changes that, so a limit below is impossible. What
kernels take for themselves is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph, source_bytes


@dataclass(frozen=True, slots=True)
class MemoryProof:
    """Memory that is needed.

    Attributes
    ----------
    least_bytes
        The bytes.
    needed_by
        What needs them, in words.
    """

    least_bytes: int
    needed_by: str


def memory_proof(joint: JointGraph, called: Collection[str]) -> MemoryProof:
    """Return the memory that is needed at least.

    Parameters
    ----------
    joint
        The joint graph.
    called
        Names of the operators for which a library was called.
    """
    graph = joint.graph
    tangents = sum(source_bytes((node, 0)) for node in joint.ends.tangents)
    kept = sum(node.output_bytes for node in graph.nodes if node.keep)
    found = MemoryProof(tangents + kept, "the gradients and the outputs of the model")
    for position, node in enumerate(graph.nodes):
        if node.name not in called:
            continue
        there = {*graph.inputs[position], position, *graph.results_after.get(position, ())}
        held = 0
        if node.backward:
            there |= joint.once
            held = tangents
        needed = held + sum(graph.nodes[value].output_bytes for value in there)
        if needed > found.least_bytes:
            found = MemoryProof(needed, f"{node.name}, with what it reads and writes")
    return found
