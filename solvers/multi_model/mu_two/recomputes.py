r"""µ-TWO's bookkeeping of recomputation (Algorithms D, E and F).

For each feature map: from which feature maps it would be computed again (``recomp_srcs``), how long
one such computation takes (``recomp_time``), and how long all of them take that its own choice
would cause (``total_recomp_time``): it is computed once for its own reader, and once for each
chosen one that has it among its sources.

Readings
--------
- Algorithm E changes what was chosen before only if the new choice is to recompute. A source that
  is swapped stays a source: it is fetched in time (Section A.5).
- The ``continue`` of Algorithm F, line 3, leaves the candidate as it is: the feature map t is in
  memory when the candidate is needed, whether it was swapped or recomputed.
- Lines 17 to 19 hold where t is recomputed: only then are its sources read again. Line 18 as
  printed, :math:`\text{recomp\_cnt}(t) \cdot \text{recomp\_time}`, leaves out the computation
  for the candidate's own reader, which lines 9 to 14 count; it is counted here.
- Line 8 adds the time of t at the candidate's first reader; one computation of the candidate takes
  that long wherever it happens.
"""

from __future__ import annotations

from collections.abc import Iterable

from jettison.instances.multi_model.sub_array import SubArray


class RecomputeCalculator:
    """Sources and times of recomputation, kept up while feature maps are chosen.

    Parameters
    ----------
    array
        The sub-array to which the feature maps belong.
    """

    def __init__(self, array: SubArray) -> None:
        self._array = array
        self.sources: list[set[int]] = [set(tensor.sources) for tensor in array.tensors]
        self.once_ns: list[int] = [tensor.recompute_ns for tensor in array.tensors]
        self.total_ns: list[int] = list(self.once_ns)

    def overhead_ns(self, tensor: int) -> int:
        """Return what it costs to recompute a candidate (Algorithm D)."""
        return self.total_ns[tensor]

    def ratio(self, tensor: int) -> float:
        """Return the bytes that are saved for each nanosecond, ``recompute_ratio``."""
        size_bytes = self._array.tensors[tensor].size_bytes
        total_ns = self.total_ns[tensor]
        return size_bytes / total_ns if total_ns else float("inf")

    def recomputed(self, tensor: int, chosen: Iterable[int], candidates: Iterable[int]) -> None:
        """Account for the choice to recompute `tensor` (Algorithms E and F).

        Parameters
        ----------
        tensor
            The one that has been chosen.
        chosen
            Those that were chosen for recomputation before.
        candidates
            Those that are still to be decided.

        Notes
        -----
        Time :math:`O(T)` set operations for T feature maps.
        """
        others = list(chosen)
        for other in others:
            if tensor in self.sources[other]:
                self.sources[other].remove(tensor)
                self.sources[other] |= self.sources[tensor]
                self.once_ns[other] += self.once_ns[tensor]
        others.append(tensor)
        for candidate in candidates:
            self._lose_source(candidate, tensor, others)
            if candidate in self.sources[tensor]:
                self._count(candidate, others)

    def swapped(self, tensor: int, chosen: Iterable[int], candidates: Iterable[int]) -> None:
        """Account for the choice to swap `tensor` (Algorithm F, lines 2 to 16)."""
        others = list(chosen)
        for candidate in candidates:
            self._lose_source(candidate, tensor, others)

    def _lose_source(self, candidate: int, tensor: int, chosen: list[int]) -> None:
        if tensor not in self.sources[candidate]:
            return
        used, lost = self._array.tensors[candidate], self._array.tensors[tensor]
        if lost.first_backward <= used.first_backward <= lost.last_backward:
            return
        self.sources[candidate].remove(tensor)
        self.sources[candidate] |= self.sources[tensor]
        self.once_ns[candidate] += self.once_ns[tensor]
        self._count(candidate, chosen)

    def _count(self, candidate: int, chosen: list[int]) -> None:
        """Set the time of a candidate's own computation and of those for others (`recomp_cnt`)."""
        times = 1 + sum(candidate in self.sources[other] for other in chosen)
        self.total_ns[candidate] = times * self.once_ns[candidate]
