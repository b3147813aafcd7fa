r"""Least recomputation for given checkpoints, as staged computations or as a schedule.

Stages are Checkmate's: stage :math:`t` recomputes some nodes before :math:`t` and then computes
:math:`t` for the first time. Let :math:`S_t` be the nodes in memory when stage :math:`t` begins.
Given all :math:`S_t`, what stage :math:`t` must compute is

.. math::
    R_t = \{t\} \cup (S_{t+1} \setminus S_t) \cup
        \{ i \notin S_t : i \text{ is an input of a node of } R_t \} ,

the least set that satisfies (dependency) and (checkpoint) of
`jettison.formulations.remat_graph.checkmate`. Each stage has its own, and no durations are below 0:
the least sets together are the optimal
:math:`R` for this :math:`S` (Checkmate, MLSys 2020, uses it for its rounding).

The schedule frees earlier than :math:`S` says wherever it can: a value that no later computation
reads goes at once (`GraphSchedule.from_computations`). The replay has the last word on memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock

Goes = Callable[[int, Sequence[int]], Iterable[int]]
"""Values to drop before a stage (first argument), given the last stage's computations (second).

Values that are not in memory may be among it, and kept nodes and those that are computed once,
which stay all the same.
"""


# About what becomes a schedule and is replayed in a second.
_COMPUTATIONS_PER_S = 50_000


class PlanStoppedError(Exception):
    """Making a plan takes too long, or the plan itself does."""


class PlanTooLongError(PlanStoppedError):
    """The time that is left is not enough to make a plan, or to hand over what it has become."""


@dataclass(frozen=True, slots=True)
class PlanLimit:
    """Limits on the time of a plan and on the time to make it.

    Attributes
    ----------
    most_ns
        Limit on the time of its computations; None for no limit.
    clock
        Time limit for making it, and for the schedule that comes of it with its replay: a plan of
        millions of computations takes longer to hand over than to make.
    free_computations
        Number of computations that a plan may have whatever the clock says.
    """

    most_ns: int | None
    clock: Clock
    free_computations: int = 0

    def require_time(self, computations: int) -> None:
        """Raise an exception if there is no time left for a plan of so many computations.

        Raises
        ------
        PlanTooLongError
            If there is none.
        """
        most = self.clock.left_s * _COMPUTATIONS_PER_S
        if computations > self.free_computations and computations >= most:
            raise PlanTooLongError


def schedule_of_checkpoints(graph: Graph, stored: Sequence[Collection[int]]) -> GraphSchedule:
    r"""Return the schedule of least recomputation for given checkpoints between stages.

    Parameters
    ----------
    graph
        The instance.
    stored
        For each stage the nodes that are in memory when it begins, all of them before the stage.
        Kept nodes need not be among them; their last values stay in any case.

    Notes
    -----
    :math:`O(n (n + |E|))`.
    """
    computations: list[int] = []
    for stage in range(len(graph)):
        following = stored[stage + 1] if stage + 1 < len(graph) else ()
        present = bytearray(len(graph))
        for node in stored[stage]:
            present[node] = True
        wanted = {stage, *(node for node in following if not present[node])}
        computations.extend(_closure(graph, wanted, present))
    return GraphSchedule.from_computations(graph, computations)


def computations_of_plan(graph: Graph, goes: Goes, limit: PlanLimit) -> list[int]:
    r"""Return the computations of stages that recompute what they need, under a rule for dropping.

    The rule `goes` is called after every stage. The value of a kept node stays as soon as it is
    computed, and so does that of a node that is computed once. Only nodes that are read in their
    stage are recomputed. :math:`O(n + |E|)`, and as
    much for recomputations and for values that the rule names.

    Raises
    ------
    PlanStoppedError
        When the limit is reached.
    """
    most_ns = math.inf if limit.most_ns is None else limit.most_ns
    time_ns = graph.base_time_ns
    present = bytearray(len(graph))
    stays = [
        node.keep or position in graph.computed_once for position, node in enumerate(graph.nodes)
    ]
    computations: list[int] = []
    for stage in range(len(graph)):
        computed = _closure(graph, {stage}, present)
        computations.extend(computed)
        if len(computed) > 1:
            time_ns += sum(graph.nodes[node].duration_ns for node in computed[:-1])
            if time_ns > most_ns:
                raise PlanStoppedError
            limit.require_time(len(computations))
        for node in computed:
            present[node] = True
        for node in goes(stage + 1, computed):
            present[node] &= stays[node]
    return computations


def forward_nodes(graph: Graph) -> tuple[int, ...]:
    """Return the nodes before the first backward one: the linearised forward graph."""
    first = next((i for i, node in enumerate(graph.nodes) if node.backward), len(graph))
    return tuple(range(first))


def _closure(graph: Graph, needed: set[int], present: bytearray) -> list[int]:
    """Return nodes with all that must be computed for them, ascending; `needed` is extended."""
    open_nodes = list(needed)
    while open_nodes:
        for source in graph.inputs[open_nodes.pop()]:
            if not present[source] and source not in needed:
                needed.add(source)
                open_nodes.append(source)
    return sorted(needed)
