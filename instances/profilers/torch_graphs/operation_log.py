"""The operations of a step whose profile is not finished, and the spread of their durations."""

from __future__ import annotations

from collections import UserDict
from typing import Any

from jettison.instances.profilers.torch_chains.partial_profile import Codec, PartialProfile

Spread = tuple[int, int, int]


def _decoded(entry: Any) -> Spread:
    least, median, most = entry
    if not all(type(item) is int for item in (least, median, most)):
        raise TypeError("not three integers")
    return least, median, most


OPERATIONS: Codec[Spread] = Codec(list, _decoded)


class OperationLog(UserDict[str, Spread]):
    """Minimum, median and maximum of durations, by what was run; each is kept in a file as well."""

    def __init__(self, partial: PartialProfile[Spread]) -> None:
        super().__init__()
        self.data.update(partial.measured)
        self._partial = partial

    def __setitem__(self, operation: str, spread: Spread) -> None:
        """Keep one more."""
        super().__setitem__(operation, spread)
        self._partial.record(operation, spread)
