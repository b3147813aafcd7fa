r"""Merged graph of µ-TWO with its memory simulator (Algorithm G).

A merged graph runs the backward pass of one sub-array, :math:`BW_j`, and between its operators
those of the forward pass of another, :math:`FW_i`, in order. `forward_done` says how many forward
operators run before each backward operator; the rest run after the last one.

Memory while an operator runs is its own pass's ``peak_mem``, the ``active_mem`` that the other pass
holds, and both sums of idle feature maps:

- ``bw_inter_mem``: those of :math:`BW_j` that are kept, from the start to their first backward use,
  and those that are swapped, from their prefetch on;
- ``fw_inter_mem``: those of :math:`FW_i` that are kept, from their last forward use on.

Recomputed feature maps are in memory only for the operator that reads them, which counts them.

Readings
--------
- Line 23 adds ``active_mem`` of the operator that runs. Table A has ``peak_mem`` for the memory
  that it uses, so the running operator counts with its peak, the waiting pass with what it holds.
- A swapped feature map leaves at its last forward use (lines 29 to 31), although its copy takes
  time. The replay decides whether there is enough memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jettison.instances.multi_model.sub_array import IdleTensor, SubArray, Work

Amounts = npt.NDArray[np.int64]


@dataclass
class PassMemory:
    """Times and memory of a pass, operator by operator.

    Attributes
    ----------
    run_ns, peak_bytes
        Duration and peak of each operator.
    held_bytes
        Memory that the pass holds before each operator, and after the last: one entry more.
    """

    run_ns: Amounts
    peak_bytes: Amounts
    held_bytes: Amounts

    @classmethod
    def of(cls, works: tuple[Work, ...], before_bytes: int) -> PassMemory:
        """Return the times and memory of a pass that holds `before_bytes` at its start."""
        return cls(
            np.array([work.run_ns for work in works], dtype=np.int64),
            np.array([work.peak_bytes for work in works], dtype=np.int64),
            np.array([before_bytes, *(work.active_bytes for work in works)], dtype=np.int64),
        )


@dataclass
class IdleMemory:
    """Memory of a sub-array's idle feature maps, operator by operator.

    Attributes
    ----------
    before_backward
        Bytes before each backward operator, with those that it reads; 0 after the last.
    arriving
        Bytes that each backward operator is the first to read: its peak counts them.
    after_forward
        Bytes that stay, by the number of forward operators that have run.
    """

    before_backward: Amounts
    arriving: Amounts
    after_forward: Amounts

    @classmethod
    def all_kept(cls, array: SubArray) -> IdleMemory:
        """Return the idle memory of a sub-array that keeps every feature map."""
        idle = cls(
            np.zeros(len(array.backward) + 1, dtype=np.int64),
            np.zeros(len(array.backward), dtype=np.int64),
            np.zeros(len(array.forward) + 1, dtype=np.int64),
        )
        for tensor in array.tensors:
            idle.before_backward[: tensor.first_backward + 1] += tensor.size_bytes
            idle.arriving[tensor.first_backward] += tensor.size_bytes
            idle.after_forward[tensor.last_forward + 1 :] += tensor.size_bytes
        return idle

    def swap(self, tensor: IdleTensor, prompt: int) -> None:
        """Take out a kept feature map, to be prefetched before backward operator `prompt`."""
        self.before_backward[:prompt] -= tensor.size_bytes
        self.after_forward[tensor.last_forward + 1 :] -= tensor.size_bytes

    def recompute(self, tensor: IdleTensor) -> None:
        """Take out a kept feature map, to be computed again before its first backward use."""
        self.before_backward[: tensor.first_backward + 1] -= tensor.size_bytes
        self.arriving[tensor.first_backward] -= tensor.size_bytes
        self.after_forward[tensor.last_forward + 1 :] -= tensor.size_bytes


@dataclass
class MergedGraph:
    """Backward pass of one sub-array with forward operators of another between its operators.

    Attributes
    ----------
    backing
        The sub-array of the backward pass.
    forwarding
        The sub-array of the forward pass; None where the backward pass runs alone.
    backing_idle, forwarding_idle
        Their idle feature maps, which change as decisions are made.
    static_bytes
        Memory that is always in use.
    forward_done
        For each backward operator, how many forward operators run before it.
    """

    backing: SubArray
    forwarding: SubArray | None
    backing_idle: IdleMemory
    forwarding_idle: IdleMemory | None
    static_bytes: int
    forward_done: Amounts = field(init=False)

    def __post_init__(self) -> None:
        self.backward = PassMemory.of(self.backing.backward, self.backing.carried_bytes)
        works = () if self.forwarding is None else self.forwarding.forward
        self.forward = PassMemory.of(works, 0)
        self.forward_done = np.zeros(len(self.backward.run_ns), dtype=np.int64)

    def backward_bytes(self) -> Amounts:
        """Return the memory while each backward operator runs.

        Notes
        -----
        Time linear in the operators, as for `forward_bytes`.
        """
        idle = self.backing_idle.before_backward[:-1] - self.backing_idle.arriving
        own: Amounts = self.static_bytes + self.backward.peak_bytes + idle
        return own + self._forward_holds()

    def forward_bytes(self) -> Amounts:
        """Return the memory while each forward operator runs."""
        if self.forwarding_idle is None:
            return self.forward.peak_bytes
        place = self.place_of_forward()
        held = self.backward.held_bytes[place] + self.backing_idle.before_backward[place]
        idle = self.forwarding_idle.after_forward[:-1]
        own: Amounts = self.static_bytes + self.forward.peak_bytes + idle
        return own + held

    def place_of_forward(self) -> Amounts:
        """Return before which backward operator each forward operator runs."""
        return np.searchsorted(
            self.forward_done, np.arange(len(self.forward.run_ns)), side="right"
        ).astype(np.int64)

    def peak_bytes(self) -> int:
        """Return the largest memory of the graph, ``peak_mem``."""
        peaks = [int(self.backward_bytes().max())]
        if len(self.forward.run_ns):
            peaks.append(int(self.forward_bytes().max()))
        return max(peaks)

    def _forward_holds(self) -> Amounts | int:
        if self.forwarding_idle is None:
            return 0
        done = self.forward_done
        held: Amounts = self.forward.held_bytes[done] + self.forwarding_idle.after_forward[done]
        return held
