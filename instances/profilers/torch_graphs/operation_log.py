"""Log of measured operations that is kept in the file of an unfinished profile."""

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
    """Durations of operations (minimum, median, maximum), each written to a file as well."""

    def __init__(self, partial: PartialProfile[Spread]) -> None:
        super().__init__()
        self.data.update(partial.measured)
        self._partial = partial

    def __setitem__(self, operation: str, spread: Spread) -> None:
        """Add the durations of an operation and record them in the file."""
        super().__setitem__(operation, spread)
        self._partial.record(operation, spread)
