r"""µ-TWO's scheduling policy, which swaps or recomputes feature maps (Algorithm B).

While memory exceeds the limit, the candidate that is idle longest is offered for a swap and the one
of the largest ratio of size to time for recomputation; the one with the smaller overhead is chosen,
and the costs of the others are updated.

Readings
--------
- Line 17 sets ``cand`` to the swap candidate after a recomputation; it is the recomputed one that
  has been decided.
- The algorithm decides over the feature maps of :math:`BW_j`; that they leave memory has its effect
  in the other graph, in :math:`FW_j`. Two sub-arrays of one size have equal graphs, and one set of
  decisions. Otherwise the next decision is made in the graph of the higher peak.
- A sub-array alone has no forward operators to put between: that is the policy on a fused model,
  and with one of the two arms only, vDNN's swapping or recomputation. Capuchin's own policy is
  `capuchin`.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.multi_model.sub_array_key import Key
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions
from jettison.solvers.multi_model.mu_two.merged_graph import IdleMemory, MergedGraph
from jettison.solvers.multi_model.mu_two.offloads import OffloadCalculator
from jettison.solvers.multi_model.mu_two.recomputes import RecomputeCalculator
from jettison.solvers.multi_model.mu_two.swaps import SwapCalculator


class OutOfMemoryStrategy(StrEnum):
    """Arms of the policy (Table E), and the hybrid that charges for copies to the host."""

    HYBRID = "hybrid"
    BOTH_WAYS = "both-ways"
    """Swap or recompute, where a swap costs what its copies in both directions cost; not in the
    paper (`offloads`)."""

    SWAP = "swap"
    RECOMPUTE = "recompute"


class _BackwardPass:
    """Candidates of one merged graph, with the scheduler's calculators for them."""

    def __init__(self, graph: MergedGraph, swap_ns: tuple[int, ...], limit_bytes: int) -> None:
        self.graph = graph
        self._array = graph.backing
        self._swaps = SwapCalculator(graph, swap_ns, limit_bytes)
        self._offloads = OffloadCalculator(graph, swap_ns)
        self._recomputes = RecomputeCalculator(self._array)
        self.candidates = set(range(len(self._array.tensors)))
        self._recomputed: list[int] = []
        self._inactive_ns = _inactive_ns(self._array)

    def decide_one(self, strategy: OutOfMemoryStrategy) -> None:
        """Swap or recompute one candidate (Algorithm B, lines 6 to 22)."""
        swap = max(self.candidates, key=lambda item: (self._inactive_ns[item], -item))
        again = max(self.candidates, key=lambda item: (self._recomputes.ratio(item), -item))
        if strategy is OutOfMemoryStrategy.RECOMPUTE:
            self._recompute(again)
            return
        asked_ns = self._swaps.multiplexer.asked_ns
        reader = self._reader(swap)
        choice = self._swaps.choice(swap, reader, self._beside_ns(swap, reader))
        overhead_ns = choice.overhead_ns
        if strategy is OutOfMemoryStrategy.BOTH_WAYS:
            overhead_ns += self._offloads.added_ns(swap)
        if strategy is OutOfMemoryStrategy.SWAP or overhead_ns < self._recomputes.overhead_ns(
            again
        ):
            self.candidates.remove(swap)
            self._offloads.swap(swap)
            self._swaps.swap(swap, reader, choice)
            self._recomputes.swapped(swap, self._recomputed, self.candidates)
        else:
            self._swaps.multiplexer.restore(asked_ns)
            self._recompute(again)

    def _recompute(self, tensor: int) -> None:
        self.candidates.remove(tensor)
        self.graph.backing_idle.recompute(self._array.tensors[tensor])
        self._recomputes.recomputed(tensor, self._recomputed, self.candidates)
        self._recomputed.append(tensor)
        spent_ns = np.zeros(len(self._array.backward), dtype=np.int64)
        for item in self._recomputed:
            spent_ns[self._array.tensors[item].first_backward] += self._recomputes.once_ns[item]
        self._swaps.recomputed(spent_ns)

    def _beside_ns(self, tensor: int, reader: int) -> int:
        """Return the recomputation before an operator; 0 if any of it reads the feature map."""
        again = [
            item for item in self._recomputed if self._array.tensors[item].first_backward == reader
        ]
        if any(tensor in self._recomputes.sources[item] for item in again):
            return 0
        return sum(self._recomputes.once_ns[item] for item in again)

    def _reader(self, tensor: int) -> int:
        """Return the first backward operator that reads a feature map.

        A recomputation from it counts as a read, too (Section A.5).
        """
        tensors = self._array.tensors
        again = [item for item in self._recomputed if tensor in self._recomputes.sources[item]]
        return min(tensors[item].first_backward for item in (tensor, *again))

    @property
    def fates(self) -> tuple[Fate, ...]:
        """The fate that has been decided for each feature map."""
        fates = [Fate.KEEP] * len(self._array.tensors)
        for item in self._recomputed:
            fates[item] = Fate.RECOMPUTE
        for item in self._swaps.prompts:
            fates[item] = Fate.SWAP
        return tuple(fates)

    @property
    def prompts(self) -> dict[int, int]:
        """Backward operators after which swapped feature maps are prefetched, -1 before all."""
        return {item: prompt - 1 for item, prompt in self._swaps.prompts.items()}

    @property
    def waiting_ns(self) -> int:
        """The sum of the overheads of the swaps."""
        return self._swaps.overhead_ns

    @property
    def recompute_ns(self) -> int:
        """The time of the recomputations before all readers."""
        return int(self._swaps.recompute_ns.sum())

    @property
    def forward_before(self) -> tuple[int, ...]:
        """Number of forward operators that run before each backward operator."""
        found: list[int] = self.graph.forward_done.tolist()
        return tuple(found)


def unit_decisions(
    problem: MultiModelTraining,
    sizes: tuple[Key, ...],
    limit_bytes: int,
    strategy: OutOfMemoryStrategy = OutOfMemoryStrategy.HYBRID,
) -> UnitDecisions | None:
    r"""Decide the fates of the feature maps of a unit (Algorithm B).

    Parameters
    ----------
    problem
        The profiles and the link.
    sizes
        Models in each sub-array of the unit: two, or one alone.
    limit_bytes
        Where the memory simulator's peak must not exceed it.
    strategy
        Whether it may swap, recompute, or both.

    Returns
    -------
    UnitDecisions or None
        None if everything has left memory and the peak is still higher.

    Notes
    -----
    For T feature maps and n operators, time :math:`O(T (T + m n))`, where m is the number of
    forward operators that are tried for a swap.
    """
    arrays = [problem.sub_array(size) for size in sizes]
    static_bytes = sum(array.static_bytes for array in arrays)
    idle = [IdleMemory.all_kept(arrays[0])]
    if len(arrays) == 1:
        graphs = [MergedGraph(arrays[0], None, idle[0], None, static_bytes)]
    elif sizes[0] == sizes[1]:
        graphs = [MergedGraph(arrays[0], arrays[0], idle[0], idle[0], static_bytes)]
    else:
        idle.append(IdleMemory.all_kept(arrays[1]))
        graphs = [
            MergedGraph(arrays[j], arrays[1 - j], idle[j], idle[1 - j], static_bytes)
            for j in (0, 1)
        ]
    passes = [_BackwardPass(graph, problem.swap_ns(graph.backing), limit_bytes) for graph in graphs]
    while True:
        peaks = [simulated_peak_bytes(item.graph) for item in passes]
        if max(peaks) <= limit_bytes:
            break
        worst = max(
            (place for place, item in enumerate(passes) if item.candidates),
            key=lambda place: peaks[place],
            default=None,
        )
        if worst is None:
            return None
        passes[worst].decide_one(strategy)
    # Two sub-arrays of one size share one pass.
    of_each = [passes[place % len(passes)] for place in range(len(sizes))]
    return UnitDecisions(
        fates=tuple(item.fates for item in of_each),
        forward_before=tuple(item.forward_before for item in of_each) if len(sizes) == 2 else (),
        prompts=tuple(item.prompts for item in of_each),
        waiting_ns=tuple(item.waiting_ns for item in of_each),
        recompute_ns=tuple(item.recompute_ns for item in of_each),
    )


def simulated_peak_bytes(graph: MergedGraph) -> int:
    """Return the peak of a merged graph (Algorithm G); alone, the forward pass counts as well."""
    peak_bytes = graph.peak_bytes()
    if graph.forwarding is None:
        # The sub-array's own forward pass runs in the same round, before the backward pass.
        works = graph.backing.forward
        kept = graph.backing_idle.after_forward.tolist()
        peak_bytes = max(
            peak_bytes,
            *(
                graph.static_bytes + idle + work.peak_bytes
                for idle, work in zip(kept, works, strict=False)
            ),
        )
    return peak_bytes


def _inactive_ns(array: SubArray) -> list[int]:
    """Return how long each feature map is idle (Table B) without forward operators between."""
    forward_ends = np.cumsum([work.run_ns for work in array.forward])
    backward_starts = np.cumsum([0, *(work.run_ns for work in array.backward)])
    total = int(forward_ends[-1])
    return [
        total - int(forward_ends[tensor.last_forward]) + int(backward_starts[tensor.first_backward])
        for tensor in array.tensors
    ]
