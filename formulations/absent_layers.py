"""Which weights are absent when: what the bounds of weight offloading choose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AbsentLayers:
    """Layers by the gaps in which their weights leave memory.

    Attributes
    ----------
    before_forward
        Layers that are absent between their backward and their forward.
    before_backward
        Layers that are absent between their forward and their backward.
    """

    before_forward: frozenset[int]
    before_backward: frozenset[int]

    def __contains__(self, layer: int) -> bool:
        return layer in self.before_forward or layer in self.before_backward
