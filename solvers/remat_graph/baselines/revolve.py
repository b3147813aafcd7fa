r"""revolve (Griewank and Walther) on the linearised forward graph, for all numbers of snapshots.

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
:math:`p(t) = \min(p(t-1), \max\{i : i \text{ a forward input of } t\})`. Of the values in memory
the stage keeps :math:`H(p(t))`, the inputs of :math:`t` and the values of backward nodes. The
forward pass keeps :math:`H(L-1)` and the values that it still has to read itself. All others are
recomputed when a stage needs them (`jettison.solvers.remat_graph.baselines.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.baselines.checkpoints import (
    PlanLimit,
    computations_of_plan,
    forward_nodes,
)
from jettison.solvers.remat_graph.baselines.plans import (
    Plan,
    arithmetic_middle,
    coarse_to_fine,
    fastest_that_fits,
)
from jettison.solvers.remat_graph.operators import on_held_values


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Snapshot, linked to those held when it was taken; iteration yields all of them.

    Attributes
    ----------
    value
        The value of the chain that it holds.
    before
        The snapshot before it, and with it the others; None for the first value.
    """

    value: int
    before: Held | None

    def __iter__(self) -> Iterator[int]:
        held: Held | None = self
        while held is not None:
            yield held.value
            held = held.before


def snapshots(steps: int, most: int) -> tuple[Held, ...]:
    r"""Return, for each value of the chain, the values held while the backward reads it.

    Parameters
    ----------
    steps
        Number of values of the chain, :math:`L`, at least 1.
    most
        Number of snapshots, :math:`s \ge 1`; value 0 is always one.

    Notes
    -----
    :math:`O(L r)`.
    """
    first_value = Held(0, None)
    held = [first_value] * steps
    parts = [(0, steps, most, first_value)]
    while parts:
        first, behind, left, there = parts.pop()
        if behind - first <= 1 or left == 1:
            held[first:behind] = [there] * (behind - first)
            continue
        snapshot = first + _steps_ahead(behind - first, left)
        parts.append((first, snapshot, left, there))
        parts.append((snapshot, behind, left - 1, Held(snapshot, there)))
    return tuple(held)


class LinearisedGraph:
    """Forward nodes of a graph as a chain, and the chain's value at which each stage stands.

    Attributes
    ----------
    graph
        The instance.
    steps
        Number of forward nodes.
    has_both_passes
        Whether there is something to reverse: forward nodes, and backward ones.
    value_read
        For each stage the value of the chain, :math:`p(t)`.
    read_out
        For each forward stage, the values that no later one reads.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps = len(forward_nodes(graph))
        self.has_both_passes = 0 < self.steps < len(graph)
        self.value_read = _values_read(graph, self.steps)
        self.read_out: list[list[int]] = [[] for _ in range(self.steps)]
        for node, users in enumerate(graph.users[: self.steps]):
            last = max((user for user in users if user < self.steps), default=node)
            self.read_out[last].append(node)


def revolve_plan(linearised: LinearisedGraph, most: int, limit: PlanLimit) -> list[int]:
    r"""Return the plan with at most `most` snapshots of the chain.

    Parameters
    ----------
    linearised
        The instance.
    most
        Number of snapshots, at least 1.
    limit
        When to give up.

    Raises
    ------
    PlanStoppedError
        When the limit is reached.

    Notes
    -----
    :math:`O(n + |E| + L r)`, and as much for what is recomputed.
    """
    graph, steps = linearised.graph, linearised.steps
    if not linearised.has_both_passes:
        return list(range(len(graph)))
    held = snapshots(steps, most)
    here = held[-1]
    is_held = bytearray(steps)
    for value in here:
        is_held[value] = True
    # Forward values that may be in memory during the backward pass and are not held.
    loose = {value for value in range(steps) if not is_held[value]}

    def goes(stage: int, computed: Sequence[int]) -> Iterable[int]:
        nonlocal here
        if stage < steps:
            return [value for value in linearised.read_out[stage - 1] if not is_held[value]]
        if stage == len(graph):
            return ()
        there = held[linearised.value_read[stage]]
        for value in _held_by_one(here, there):
            is_held[value] ^= True
            (loose.discard if is_held[value] else loose.add)(value)
        here = there
        loose.update(node for node in computed if node < steps and not is_held[node])
        dropped = loose.difference(graph.inputs[stage])
        loose.intersection_update(graph.inputs[stage])
        return dropped

    return computations_of_plan(graph, goes, limit)


@on_held_values
def solve_linearized_griewank(problem: RematGraph, options: SolveOptions) -> Outcome:
    """Return the fastest schedule that fits, over all numbers of snapshots and storing all."""
    plans = _plans(LinearisedGraph(problem.instance))
    return fastest_that_fits(problem, "linearized-griewank", plans, options)


def _held_by_one(one: Held | None, other: Held | None) -> Iterator[int]:
    """Yield the values that exactly one of two sets of snapshots holds, the last ones first."""
    while one is not other:
        if other is None or (one is not None and one.value > other.value):
            assert one is not None
            yield one.value
            one = one.before
        else:
            yield other.value
            other = other.before


def _steps_ahead(length: int, left: int) -> int:
    """Return the distance from the first value of a part to its next snapshot."""
    repetitions = 0
    while comb(left + repetitions, left) < length:
        repetitions += 1
    within = comb(left + repetitions - 1, left)
    return min(within, length - comb(left + repetitions - 2, left - 1))


def _plans(linearised: LinearisedGraph) -> Iterator[Plan]:
    """Yield the plan that stores all, then one per number of snapshots, ranked from the largest."""
    graph, steps = linearised.graph, linearised.steps
    yield Plan(0, lambda limit: range(len(graph)))
    if linearised.has_both_passes:
        # The middle is not a logarithmic one: plans of few snapshots take long to make.
        numbers = coarse_to_fine(1, steps, arithmetic_middle, lambda number: (number, number))
        for most in numbers:
            yield Plan(1 + steps - most, partial(revolve_plan, linearised, most))


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
