r"""Simulated annealing for the least peak of a staged schedule of a graph.

The states and the moves are those of `method`. With :math:`P` the least peak known, an
attempt searches for a state below the limit :math:`L = P - 2^{-k} P / 32`: it minimizes

.. math:: \sum_e \max(0, m_e - L) + w \sum_e C_{v(e)},

where the weight `w` of the time is so small that a hundred computations count as much as one value
of mean size. Only what is above the limit counts, so the limit has to be near: far below the peak,
every recomputation would be one more place above it. The first state that fits ends an attempt, and
the next goes on from there. An attempt in vain halves the step (`k` grows by one), and the next one
starts from the best state and is longer by half; the last step is a byte.

The limit starts at the peak without recomputation. What is found is an upper bound on the least
memory: a search in vain proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.annealing.method import ANNEAL
from jettison.solvers.remat_graph.kernel_arrays import graph_arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastPeak:
    """Staged schedule of small peak, its replayed peak, and why the search for it ended."""

    schedule: GraphSchedule
    peak_bytes: int
    termination: Termination


def least_peak_by_annealing(
    graph: Graph,
    seed: int,
    clock: Clock,
    stop_at_bytes: int,
    most_moves: float = math.inf,
    moves_at_once: int = ANNEAL.moves_at_once,
) -> LeastPeak:
    """Search for a staged schedule with a small peak.

    The search ends when all attempts were in vain, at a peak of `stop_at_bytes` or less, or when
    the time is up or the user interrupts.

    Parameters
    ----------
    graph
        The instance.
    seed
        Seed of the search.
    clock
        The time that is left.
    stop_at_bytes
        A peak that is small enough, at least `Graph.least_peak_bound_bytes`.
    most_moves
        Number of moves that ends the search.
    moves_at_once
        Moves between two looks at the clock.

    Notes
    -----
    The result depends on the seed only, unless a time limit ends the search.
    """
    search = _kernels.RematPeak(**graph_arrays(graph), stop_at_bytes=stop_at_bytes, seed=seed)
    with Ending() as ending:
        while not search.is_over and search.tried < most_moves:
            search.run(moves_at_once, clock.left_s)
    schedule = GraphSchedule.from_computations(graph, search.computations)
    return LeastPeak(
        schedule=schedule,
        peak_bytes=schedule.replay(graph).peak_bytes,
        termination=ending.termination,
    )
