r"""Chen's two heuristics for checkpoints between segments, on the forward part of any graph.

Source: Chen et al. 2016, arXiv:1604.06174, for chains; Checkmate (Jain et al., MLSys 2020), for
graphs: *linearised*, where every forward node may be a checkpoint and the topological order stands
for the chain, and *AP*, where only the articulation points of the forward graph may.

The forward order is cut behind each checkpoint. At a cut all values but the checkpoints are
dropped; between cuts, in the last segment and in the backward pass each value stays to its last
read. A missing input of a stage is recomputed from the nearest values in memory
(`jettison.solvers.remat_graph.baselines.checkpoints`). So the first backward that reads into a
segment brings the whole segment back, once, as on a chain; and an edge that skips a cut costs a
recomputation.

* sqrt: :math:`\lceil \sqrt k \rceil` groups of equal length out of the :math:`k` candidates, the
  longer ones first; the last of each group is a checkpoint.
* greedy: sizes are summed up along the forward order, and the first candidate at which the sum is
  above :math:`b` bytes becomes a checkpoint and starts a new sum. All :math:`b` that make a
  difference are tried, values far apart first, since the time may not suffice for all of them. Of
  plans of the same time the one of the largest :math:`b` is taken.

Corrections
-----------
* Checkmate's code takes every :math:`\lfloor \sqrt k \rfloor`-th candidate, the last one included,
  which is a checkpoint behind which no segment begins.
* It makes each stage find its inputs in memory when it begins, so that they are recomputed a stage
  early and beside the checkpoints; here a stage recomputes what it needs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import isqrt

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.baselines.articulation_points import articulation_points
from jettison.solvers.remat_graph.baselines.checkpoints import (
    PlanLimit,
    computations_of_plan,
    forward_nodes,
)
from jettison.solvers.remat_graph.baselines.plans import (
    Plan,
    coarse_to_fine,
    fastest_that_fits,
    geometric_middle,
)
from jettison.solvers.remat_graph.operators import on_held_values


def segmented_plan(graph: Graph, checkpoints: Collection[int], limit: PlanLimit) -> list[int]:
    """Return the plan that drops all values but the checkpoints behind each checkpoint.

    Parameters
    ----------
    graph
        The instance.
    checkpoints
        Positions of forward nodes.
    limit
        When to give up.

    Raises
    ------
    PlanStoppedError
        When the limit is reached.
    """
    chosen = frozenset(checkpoints)
    since_cut: list[int] = []

    def goes(stage: int, computed: Sequence[int]) -> Sequence[int]:
        since_cut.extend(node for node in computed if node not in chosen)
        if stage - 1 not in chosen:
            return ()
        dropped = since_cut.copy()
        since_cut.clear()
        return dropped

    return computations_of_plan(graph, goes, limit)


def sqrt_checkpoints(candidates: Sequence[int]) -> tuple[int, ...]:
    """Return the last candidates of about as many groups as their root, but for the last group."""
    if not candidates:
        return ()
    groups = isqrt(len(candidates) - 1) + 1
    length, longer = divmod(len(candidates), groups)
    ends = [(k + 1) * length + min(k + 1, longer) for k in range(groups - 1)]
    return tuple(candidates[end - 1] for end in ends)


def greedy_checkpoints(
    graph: Graph, candidates: Sequence[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    r"""Yield the checkpoints for each threshold that makes a difference, distant ones first.

    With each comes its rank: 0 for no checkpoint at all, which is the first one, and more for
    smaller thresholds. At most as many as there are different sums of sizes; each takes
    :math:`O(k \log n)` for `k` checkpoints.

    Parameters
    ----------
    graph
        The instance.
    candidates
        Positions of forward nodes, ascending.
    """
    sums = list(accumulate(node.output_bytes for node in graph.nodes))
    passed = [sums[node] for node in candidates]
    yield 0, ()
    if not passed:
        return
    segments = _Segments(passed)
    for threshold in coarse_to_fine(0, passed[-1] - 1, geometric_middle, segments.alike):
        chosen = tuple(candidates[place] for place in segments.ends(threshold))
        yield passed[-1] - segments.alike(threshold)[0], chosen


class _Segments:
    """Segments whose sums of sizes stay within a threshold.

    Parameters
    ----------
    sums
        For each candidate the sum of all sizes up to it.
    """

    def __init__(self, sums: Sequence[int]) -> None:
        self._sums = sums

    def ends(self, threshold: int) -> list[int]:
        """Return the indices of the candidates that become checkpoints."""
        sums, found = self._sums, list[int]()
        place = bisect_right(sums, threshold)
        while place < len(sums):
            found.append(place)
            place = bisect_right(sums, sums[place] + threshold, place + 1)
        return found

    def alike(self, threshold: int) -> tuple[int, int]:
        """Return the range of thresholds that lead to the same checkpoints.

        It begins at the largest sum that was let pass and ends before the least one that was not.
        """
        sums, before, begin = self._sums, 0, 0
        first = 0
        least_above = sums[-1] + 1
        for place in [*self.ends(threshold), len(sums)]:
            if place > first:
                begin = max(begin, sums[place - 1] - before)
            if place < len(sums):
                least_above = min(least_above, sums[place] - before)
                before = sums[place]
            first = place + 1
        return begin, least_above - 1


@on_held_values
def solve_chen_sqrt(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule with about as many segments as the root of the forward nodes."""
    # The last forward node is the end of the last segment.
    checkpoints = sqrt_checkpoints(forward_nodes(problem.instance))
    return _sqrt(problem, "chen-sqrt", checkpoints, options)


@on_held_values
def solve_ap_chen_sqrt(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the schedule with about as many segments as the root of the articulation points."""
    # A segment without a checkpoint at its end reaches beyond the last articulation point.
    checkpoints = sqrt_checkpoints(articulation_points(problem.instance))
    return _sqrt(problem, "ap-chen-sqrt", checkpoints, options)


@on_held_values
def solve_chen_greedy(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits, over all sizes of segments of the forward order."""
    return _greedy(problem, "chen-greedy", forward_nodes(problem.instance)[:-1], options)


@on_held_values
def solve_ap_chen_greedy(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits, with checkpoints at articulation points only."""
    return _greedy(problem, "ap-chen-greedy", articulation_points(problem.instance), options)


def _sqrt(
    problem: RematGraph, method: str, checkpoints: Collection[int], options: SolveOptions
) -> Outcome:
    plan = Plan(0, partial(segmented_plan, problem.instance, checkpoints))
    return fastest_that_fits(problem, method, [plan], options)


def _greedy(
    problem: RematGraph, method: str, candidates: Sequence[int], options: SolveOptions
) -> Outcome:
    graph = problem.instance
    plans = (
        Plan(rank, partial(segmented_plan, graph, checkpoints))
        for rank, checkpoints in greedy_checkpoints(graph, candidates)
    )
    return fastest_that_fits(problem, method, plans, options)
