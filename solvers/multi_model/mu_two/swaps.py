r"""µ-TWO's swap calculator: what a swap costs, and where its prefetch is issued (Algorithm C).

A prompt is a backward operator before which the prefetch is issued; the operator that reads the
feature map first is the latest prompt, and hides nothing.

Readings
--------
- ``prefetch_prompt`` in the algorithm is the operator after which the prefetch starts: line 34
  begins with the one before the reader, and hides nothing of the backward pass yet. Here the prompt
  is the next operator, before which it is issued.
- The peak interval is where a prefetched feature map has no room: a prompt moves before an operator
  only if the memory there, with the feature map, is within the limit. So are the forward operators
  between. ``reached_peak`` is an input in print, and stays true once the prompt of a chosen swap
  stands at that interval: asked anew, it becomes false after case 1b, whose prompt is later, and
  the next swaps are hidden by operators beside which the link is booked.
- Case 1a or 1b is whether another copy is under way at the reader. Line 8 asks whether the reader
  comes before the last prompt, which is the same until case 1b has moved that prompt later.
- Recomputation before a reader hides as much of copies as it takes, once, and none of the copy of a
  feature map that it reads itself.
- Where the link is busy later than the reader, the copy has to end at the last prompt: the forward
  operators that hide it run before that one, and so do the backward operators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jettison.solvers.multi_model.mu_two.merged_graph import Amounts, MergedGraph
from jettison.solvers.multi_model.mu_two.multiplexer import Multiplexer


@dataclass(frozen=True, slots=True)
class SwapChoice:
    """Result of Algorithm C: the overhead of a swap and its prompt.

    Attributes
    ----------
    overhead_ns
        For how long the device would wait.
    prompt
        The backward operator before which the prefetch is issued.
    """

    overhead_ns: int
    prompt: int


class SwapCalculator:
    """Costs and prompts of the swaps of one merged graph, in the order in which they are chosen.

    Parameters
    ----------
    graph
        The merged graph; candidates are kept in it.
    swap_ns
        Time of a copy of each feature map of its backward pass.
    limit_bytes
        The memory of the device.

    Attributes
    ----------
    overhead_ns
        The sum of the overheads of the swaps that were chosen.
    prompts
        The backward operator before which each of them is prefetched.
    reached_peak
        Whether the prompt of one of them stands where memory allows no earlier one.
    recompute_ns
        Time of the recomputations before each backward operator.
    """

    def __init__(self, graph: MergedGraph, swap_ns: tuple[int, ...], limit_bytes: int) -> None:
        self._graph = graph
        self._swap_ns = swap_ns
        self._limit_bytes = limit_bytes
        operators = len(graph.backward.run_ns)
        self._last_prompt = operators
        self.multiplexer = Multiplexer(graph, limit_bytes)
        self.prompts: dict[int, int] = {}
        self._readers: dict[int, int] = {}
        # The swap chosen last, and the backward operator before which its copy has to end.
        self._last: int | None = None
        self.reached_peak = False
        self.overhead_ns = 0
        # Copies that wait before each backward operator.
        self._waiting_ns: dict[int, int] = {}
        self._last_deadline = operators
        self.recompute_ns = np.zeros(operators, dtype=np.int64)

    def choice(self, tensor: int, reader: int, beside_ns: int = 0) -> SwapChoice:
        """Return the overhead of a swap and its prompt (Algorithm C).

        The forward operators that hide it are put into the graph; `Multiplexer.restore` takes them
        out again.

        Parameters
        ----------
        tensor
            The candidate.
        reader
            The backward operator before which it must be there.
        beside_ns
            Recomputation right before the reader that does not read the candidate.
        """
        copy_ns = self._swap_ns[tensor]
        if self.reached_peak:
            free_ns = max(beside_ns - self._waiting_ns.get(reader, 0), 0)
            begun = [other for other, prompt in self.prompts.items() if prompt == reader]
            if any(self._readers[other] > reader for other in begun):
                # It hides another copy, which begins here as well.
                free_ns = 0
            left_ns = copy_ns + self._remaining_ns(reader) - free_ns
            return SwapChoice(max(left_ns, 0), reader)
        deadline = min(reader, self._last_prompt)
        left_ns = copy_ns - (beside_ns if reader < self._last_prompt else 0)
        left_ns -= self.multiplexer.overlap_ns(deadline, left_ns)
        room = self._room()
        prompt = deadline
        while left_ns > 0 and prompt > 0 and room[prompt - 1]:
            prompt -= 1
            left_ns -= int(self._graph.backward.run_ns[prompt] + self.recompute_ns[prompt])
        return SwapChoice(max(left_ns, 0), prompt)

    def swap(self, tensor: int, reader: int, choice: SwapChoice) -> None:
        """Choose a swap, as `choice` described it."""
        prompt = choice.prompt
        self.overhead_ns += choice.overhead_ns
        self._graph.backing_idle.swap(self._graph.backing.tensors[tensor], prompt)
        self.prompts[tensor] = prompt
        self._readers[tensor] = reader
        self._waiting_ns[reader] = self._waiting_ns.get(reader, 0) + self._swap_ns[tensor]
        self._last = tensor
        self._last_deadline = min(reader, self._last_prompt)
        self._last_prompt = prompt
        self.reached_peak = self.reached_peak or (prompt > 0 and not self._room()[prompt - 1])

    def _room(self) -> list[bool]:
        """Return for each backward operator whether it is outside the peak interval.

        The forward operators before it count as well: a prefetch that is issued before an operator
        takes its memory before them.
        """
        graph = self._graph
        room = graph.backward_bytes() <= self._limit_bytes
        if len(graph.forward.run_ns):
            place = graph.place_of_forward()
            over = place[graph.forward_bytes() > self._limit_bytes]
            room[over[over < len(room)]] = False
        found: list[bool] = room.tolist()
        return found

    def _remaining_ns(self, reader: int) -> int:
        """Return how long the transfers under way at a backward operator go on (case 1b)."""
        spent = self._graph.backward.run_ns + self.recompute_ns
        return sum(
            max(self._swap_ns[other] - int(spent[prompt:reader].sum()), 0)
            for other, prompt in self.prompts.items()
            if prompt < reader <= self._readers[other]
        )

    def recomputed(self, recompute_ns: Amounts) -> None:
        """Account for recomputations before backward operators (Algorithm B, line 22).

        They hide transfers: the prompt of the last swap moves later while what runs from there to
        its reader, or to the next use of the link, still takes as long as the copy.
        """
        self.recompute_ns = recompute_ns
        if self._last is None:
            return
        prompt, deadline = self._last_prompt, self._last_deadline
        spent = self._graph.backward.run_ns + recompute_ns
        while prompt < deadline and spent[prompt + 1 : deadline].sum() >= self._swap_ns[self._last]:
            prompt += 1
        size_bytes = self._graph.backing.tensors[self._last].size_bytes
        self._graph.backing_idle.before_backward[self._last_prompt : prompt] -= size_bytes
        self.prompts[self._last] = self._last_prompt = prompt
