r"""µ-TWO's multiplexer, which places forward operators between backward operators.

A swapped feature map asks for forward operators of a certain duration before its first backward
use, to hide its transfer. Forward operators are handed out in their order: the earliest backward
operator with a demand gets the first ones, and later ones get those that follow
(``add_forward_node`` and ``adjust_graph`` in Algorithm C, lines 21 and 22; Figure 6d to 6e).

Reading
-------
``check_mem_safety`` (line 23) must admit forward operators only where memory allows, but Algorithm
B runs because memory is over the limit. An operator is admitted if no operator from its place on,
backward or forward, exceeds the limit; operators before it are not affected.
"""

from __future__ import annotations

import numpy as np

from jettison.solvers.multi_model.mu_two.merged_graph import Amounts, MergedGraph


class Multiplexer:
    """Distribution of forward operators over the backward operators of a merged graph.

    Parameters
    ----------
    graph
        The merged graph; its `forward_done` is updated here.
    limit_bytes
        The memory of the device.
    """

    def __init__(self, graph: MergedGraph, limit_bytes: int) -> None:
        self._graph = graph
        self._limit_bytes = limit_bytes
        # The duration of forward operators that each backward operator asks for.
        self._asked_ns: dict[int, int] = {}
        self._ends_ns: Amounts = np.cumsum(graph.forward.run_ns)

    def overlap_ns(self, place: int, wanted_ns: int) -> int:
        """Put forward operators before a backward operator; return how long they take.

        Parameters
        ----------
        place
            The backward operator.
        wanted_ns
            The duration that they should take; there are fewer where memory does not allow more.

        Notes
        -----
        Time :math:`O(m (n + q))` for m operators, n in the graph, q places that ask.
        """
        before_ns = self._asked_ns.get(place, 0)
        gained_ns = 0
        while gained_ns < wanted_ns:
            first = self._first_operator(place)
            given = first + self._count(first, before_ns + gained_ns)
            if given == len(self._ends_ns):
                break
            step_ns = max(int(self._graph.forward.run_ns[given]), 1)
            if not self._try(place, before_ns + gained_ns + step_ns):
                break
            gained_ns += step_ns
        return gained_ns

    @property
    def asked_ns(self) -> dict[int, int]:
        """The duration that each backward operator asks for."""
        return dict(self._asked_ns)

    def restore(self, asked_ns: dict[int, int]) -> None:
        """Restore earlier demands."""
        self._asked_ns = dict(asked_ns)
        self._graph.forward_done = self._handed_out()

    def _try(self, place: int, asked_ns: int) -> bool:
        """Set the demand of a backward operator, if memory from there on allows it."""
        asked_before = self._asked_ns.get(place)
        done_before = self._graph.forward_done
        self._asked_ns[place] = asked_ns
        self._graph.forward_done = self._handed_out()
        if self._is_served() and self._is_safe_from(place):
            return True
        if asked_before is None:
            del self._asked_ns[place]
        else:
            self._asked_ns[place] = asked_before
        self._graph.forward_done = done_before
        return False

    def _is_served(self) -> bool:
        """Tell whether there are enough forward operators for all demands."""
        done = self._graph.forward_done
        first = 0
        for place in sorted(self._asked_ns):
            last = int(done[place])
            given_ns = int(self._graph.forward.run_ns[first:last].sum())
            if given_ns < self._asked_ns[place]:
                return False
            first = last
        return True

    def _is_safe_from(self, place: int) -> bool:
        graph = self._graph
        first = 0 if place == 0 else int(graph.forward_done[place - 1])
        last = int(graph.forward_done[-1])
        return bool(
            (graph.backward_bytes()[place:] <= self._limit_bytes).all()
            and (graph.forward_bytes()[first:last] <= self._limit_bytes).all()
        )

    def _first_operator(self, place: int) -> int:
        """Return the first forward operator that runs at a place or later."""
        return 0 if place == 0 else int(self._graph.forward_done[place - 1])

    def _count(self, first: int, asked_ns: int) -> int:
        """Return how many forward operators from `first` on reach a duration, at most all."""
        if asked_ns <= 0:
            return 0
        started_ns = int(self._ends_ns[first - 1]) if first else 0
        last = int(np.searchsorted(self._ends_ns, started_ns + asked_ns, side="left"))
        return min(last + 1, len(self._ends_ns)) - first

    def _handed_out(self) -> Amounts:
        done = np.zeros_like(self._graph.forward_done)
        given = 0
        for place in sorted(self._asked_ns):
            given += self._count(given, self._asked_ns[place])
            done[place:] = given
        return done
