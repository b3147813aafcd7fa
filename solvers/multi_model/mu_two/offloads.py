r"""Charge for copies to the host in the forward pass, which µ-TWO counts as free.

In µ-TWO a feature map leaves memory at its last forward use (Algorithm G), and "the tensors to be
offloaded can be sent to the host memory asynchronously without blocking the computation" (Insight
I1). But the copies share one direction of the link. Where they take longer than the operators
beside them, memory is freed later than planned, prefetches wait until copies on the host are
complete, and the round ends later. The charge for that is not in the paper.

Feature maps are copied in the order of their last forward uses. With :math:`f_t` the moment of the
last forward use of t and :math:`s_t` the time of its copy, the last copy ends at

.. math:: \max_{t} \Bigl( f_t + \sum_{u : f_u \ge f_t} s_u \Bigr) ,

and the part of that after the end of the forward pass is the *excess*. It is not hidden: at the end
of the forward pass memory is at its peak. A swap costs what it adds to the excess.
"""

from __future__ import annotations

import numpy as np

from jettison.solvers.multi_model.mu_two.merged_graph import MergedGraph


class OffloadCalculator:
    """Calculator of the charge for copies to the host, for one merged graph.

    Parameters
    ----------
    graph
        The merged graph of the backward pass. Feature maps leave in the forward pass of the same
        sub-array; operators of a partner that run between are not counted.
    swap_ns
        Time of a copy of each feature map.
    """

    def __init__(self, graph: MergedGraph, swap_ns: tuple[int, ...]) -> None:
        self._graph = graph
        self._swap_ns = swap_ns
        self._last_forward = [tensor.last_forward for tensor in graph.backing.tensors]
        self._chosen: list[int] = []

    def added_ns(self, tensor: int) -> int:
        r"""Return by how much a swap raises the excess.

        Notes
        -----
        Time :math:`O(k \log k + n)` for k chosen swaps and n forward operators.
        """
        return self._excess_ns([*self._chosen, tensor]) - self._excess_ns(self._chosen)

    def swap(self, tensor: int) -> None:
        """Choose a swap."""
        self._chosen.append(tensor)

    def _excess_ns(self, chosen: list[int]) -> int:
        ends_ns = np.cumsum([work.run_ns for work in self._graph.backing.forward])
        worst_ns = after_ns = 0
        for tensor in sorted(chosen, key=lambda item: self._last_forward[item], reverse=True):
            after_ns += self._swap_ns[tensor]
            left_ns = int(ends_ns[-1] - ends_ns[self._last_forward[tensor]])
            worst_ns = max(worst_ns, after_ns - left_ns)
        return worst_ns
