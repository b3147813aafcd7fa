r"""revolve on the linearised forward graph, for every number of snapshots.

Source: Griewank and Walther (2000), Algorithm 799, for chains of equal steps; Checkmate (Jain et
al., MLSys 2020) compares with it on linearised graphs.

The :math:`L` forward nodes stand for a chain. With :math:`s` snapshots, one of them the first
value, :math:`\beta(s, r) = \binom{s + r}{s}` steps can be reversed if no step runs more than
:math:`r` times again. Of :math:`l` steps, where :math:`\beta(s, r - 1) < l \le \beta(s, r)`, the
next snapshot lies :math:`\min(\beta(s, r - 1),\, l - \beta(s - 1, r - 1))` steps ahead; the part
behind it is reversed with :math:`s - 1` snapshots, then the part before it with :math:`s`. That
runs the fewest steps. :math:`H(p)` is the set of snapshots held while the backward reads value
:math:`p`.

On a graph, a backward stage :math:`t` stands at the value
:math:`p(t) = \min(p(t-1), \max\{i : i \text{ a forward input of } t\})`. For it stay, as far as
they are in memory, :math:`H(p(t))`, the inputs of :math:`t` and the values of backward nodes. The
forward pass keeps :math:`H(L-1)` and what it has yet to read itself. The rest is recomputed when a
stage needs it (`jettison.solvers.graph_checkpoints`).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from math import comb

from jettison.instances.graph import Graph
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.solvers.graph_baselines import store_all_schedule
from jettison.solvers.graph_checkpoints import forward_nodes, schedule_of_plan
from jettison.solvers.graph_plans import fastest_that_fits
from jettison.solvers.outcome import Outcome, Problem, SolveOptions


def snapshots(steps: int, most: int) -> tuple[frozenset[int], ...]:
    r"""Return, for each value of the chain, the values held while the backward reads it.

    Parameters
    ----------
    steps
        Number of values of the chain, :math:`L`.
    most
        Number of snapshots, :math:`s \ge 1`; value 0 is always one.

    Notes
    -----
    :math:`O(L (s + r))`.
    """
    held: list[frozenset[int]] = [frozenset()] * steps
    parts = [(0, steps, most, frozenset({0}))]
    while parts:
        first, behind, left, there = parts.pop()
        if behind - first <= 1 or left == 1:
            held[first:behind] = [there] * (behind - first)
            continue
        snapshot = first + _steps_ahead(behind - first, left)
        parts.append((first, snapshot, left, there))
        parts.append((snapshot, behind, left - 1, there | {snapshot}))
    return tuple(held)


def revolve_schedule(graph: Graph, most: int) -> GraphSchedule:
    """Return the schedule that holds the snapshots of a chain of as many steps.

    Parameters
    ----------
    graph
        The instance.
    most
        Number of snapshots, at least 1.
    """
    count = len(forward_nodes(graph))
    held = snapshots(count, most)
    reads = _values_read(graph, count)
    gradients = frozenset(range(count, len(graph)))
    last_forward_use = [
        max((user for user in users if user < count), default=-1) for users in graph.users
    ]

    def stays(stage: int, present: AbstractSet[int]) -> AbstractSet[int]:
        if stage == len(graph):
            return present
        if stage < count:
            unread = {node for node in present if last_forward_use[node] >= stage}
            return (present & held[-1]) | unread
        here = held[reads[stage]] if count else frozenset()
        return present & (here | gradients | set(graph.inputs[stage]))

    return schedule_of_plan(graph, stays)


def solve_linearized_griewank(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits, over all numbers of snapshots, and all stored."""
    assert isinstance(problem, RematGraph)
    schedules = _schedules(problem.instance)
    return fastest_that_fits(problem, "linearized-griewank", schedules, options)


def _steps_ahead(length: int, left: int) -> int:
    """Return how far from the first value of a part its next snapshot lies."""
    repetitions = 0
    while comb(left + repetitions, left) < length:
        repetitions += 1
    within = comb(left + repetitions - 1, left)
    return min(within, length - comb(left + repetitions - 2, left - 1))


def _schedules(graph: Graph) -> Iterator[GraphSchedule]:
    yield store_all_schedule(graph)
    for most in range(len(forward_nodes(graph)), 0, -1):
        yield revolve_schedule(graph, most)


def _values_read(graph: Graph, count: int) -> list[int]:
    """Return, for each stage, the value of the chain at which it stands."""
    value = max(count - 1, 0)
    found: list[int] = []
    for inputs in graph.inputs:
        forward = [source for source in inputs if source < count]
        if len(found) >= count and forward:
            value = min(value, max(forward))
        found.append(value)
    return found
