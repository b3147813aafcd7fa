"""The best schedule of a graph that a search knows, and when it anneals."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.instances.remat_graph import RematGraph
from jettison.solvers import graph_incumbent
from jettison.solvers.clock import Clock
from jettison.solvers.graph_incumbent import GraphIncumbent

GRAPH = LayeredGraphs(nodes=300).draw(1)
# At 90 % of the peak the first moves of annealing find a schedule, and the base time cannot do.
TIGHT = RematGraph(GRAPH, GRAPH.store_all_peak_bytes * 9 // 10)
# 30 for each node (`remat_anneal`).
MOVES_OF_A_ROUND = 9_000


@dataclass
class CountingClock(Clock):
    """A clock that goes by a step whenever it is looked at."""

    step_s: float
    limit_s: float
    now_s: float = 0.0

    @property
    def seconds(self) -> float:
        self.now_s += self.step_s
        return self.now_s

    @property
    def cpu_seconds(self) -> float:
        return self.seconds

    @property
    def left_s(self) -> float:
        return max(0.0, self.limit_s - self.seconds)


def incumbent(step_s: float, limit_s: float = 1e9) -> GraphIncumbent:
    return GraphIncumbent(TIGHT, seed=0, clock=CountingClock(step_s, limit_s))


def test_the_first_round_is_ended_although_a_schedule_is_known() -> None:
    best = incumbent(step_s=1e-6)
    best.find_first()
    assert best.time_ns is not None
    assert best.moves >= MOVES_OF_A_ROUND


def test_the_first_round_ends_with_its_share_of_the_time() -> None:
    # Ten seconds at most, and every look at the clock takes six: the first moves are the last.
    best = incumbent(step_s=6.0)
    best.find_first()
    assert best.moves == graph_incumbent.MOVES


def test_nothing_is_annealed_from_a_schedule_in_short_searches() -> None:
    # No look at the clock is for annealing, which has its share; but less than five seconds passed.
    best = incumbent(step_s=1e-3)
    best.improve_from(range(len(GRAPH)), GRAPH.base_time_ns)
    assert best.moves == 0


def test_a_round_from_a_schedule_is_ended_beyond_the_share_of_annealing() -> None:
    # Two of the first five looks at the clock are for the first moves, which are more than a fifth.
    best = incumbent(step_s=100.0)
    best.improve_from(range(len(GRAPH)), GRAPH.base_time_ns)
    assert best.moves >= MOVES_OF_A_ROUND


def test_a_round_that_would_take_most_of_the_time_is_not_ended() -> None:
    # Half of the 1000 s are over after five looks at the clock.
    best = incumbent(step_s=100.0, limit_s=1000.0)
    best.improve_from(range(len(GRAPH)), GRAPH.base_time_ns)
    assert best.moves < MOVES_OF_A_ROUND


def test_no_round_begins_where_annealing_has_had_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    best = incumbent(step_s=1.0)
    best.find_first()
    moves = best.moves
    monkeypatch.setattr(graph_incumbent, "_SHARE_OF_ALL", 0.0)
    best.improve_from(range(len(GRAPH)), GRAPH.base_time_ns)
    assert best.moves == moves


def test_annealing_from_a_schedule_never_makes_it_worse() -> None:
    best = incumbent(step_s=1e-3)
    best.find_first()
    assert best.schedule is not None
    assert best.time_ns is not None
    before_ns = best.time_ns
    best.improve_from(best.schedule.computations, GRAPH.base_time_ns)
    assert best.time_ns <= before_ns
    replay = best.schedule.replay(GRAPH)
    assert (replay.time_ns, replay.peak_bytes <= TIGHT.memory_bytes) == (best.time_ns, True)
