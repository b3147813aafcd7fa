"""Profiles of the same operations that a program has made before, to compare the next one with.

What one profile has of a model, and a reference kernel beside it, cannot tell how much the same
model takes at another time: it shares caches and memory with other programs in its own way. A
second profile of it can, and is compared with those before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph


@dataclass(slots=True)
class EarlierProfiles:
    """Sums of durations of earlier profiles, by what was measured."""

    sums_ns: dict[str, list[int]] = field(default_factory=dict)

    def add(self, key: str, sum_ns: int) -> tuple[int, ...]:
        """Add a profile; return the sums of those before it with the same key."""
        known = self.sums_ns.setdefault(key, [])
        earlier = tuple(known)
        known.append(sum_ns)
        return earlier


OF_THIS_PROGRAM = EarlierProfiles()


def profile_key(instance: Chain | Graph, device: str, threads: int, form: str = "") -> str:
    """Return what two profiles of the same operations have in common: all but durations; O(n).

    Parameters
    ----------
    instance
        The measured chain or graph.
    device, threads
        Where it was measured, and with how many threads on a CPU.
    form
        What else tells two models apart: for a chain, whose stages have no operators, the text of
        its modules.
    """
    timeless: Chain | Graph
    if isinstance(instance, Chain):
        stages = (replace(stage, forward_ns=0, backward_ns=0) for stage in instance)
        timeless = replace(instance, stages=tuple(stages))
    else:
        nodes = (replace(node, duration_ns=0) for node in instance.nodes)
        timeless = replace(instance, nodes=tuple(nodes))
    return f"{device} {threads} {timeless.sha256} {sha256(form.encode()).hexdigest()}"
