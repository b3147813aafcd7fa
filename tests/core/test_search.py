"""Incumbents of searches, and the loop of those by models."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from jettison import Bound, Graph, ScheduleClass
from jettison.core import Replay
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.search import Incumbent, Rounds, search_in_rounds
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.core.work import (
    MOVES_PER_SECOND,
    Budget,
    WorkShare,
    moves_of_a_limit,
    share_of_moves,
)
from jettison.solvers.milp.solution import ModelSolution

# b reads a; a alone takes 2 ns and 3 bytes, both together 5 bytes.
GRAPH = Graph(
    "two",
    (
        Node(name="a", duration_ns=2, output_bytes=3),
        Node(name="b", duration_ns=1, output_bytes=2, inputs=("a",)),
    ),
)
ONCE = GraphSchedule.from_computations(GRAPH, (0, 1))
# a again for nothing: 5 ns.
TWICE = GraphSchedule.from_computations(GRAPH, (0, 0, 1))
FREE = SolveOptions(time_limit_s=None)


def incumbent(
    options: SolveOptions = FREE, memory_bytes: int = 5, clock: Clock | None = None
) -> Incumbent[GraphSchedule]:
    return Incumbent(
        lambda schedule: schedule.replay(GRAPH, memory_bytes), 0, options, clock or Clock(None)
    )


def bound(
    time_ns: int,
    valid_for: ScheduleClass = ScheduleClass.ALL,
    evidence: Evidence = Evidence.EXACT,
) -> Bound:
    return Bound(time_ns=time_ns, valid_for=valid_for, evidence=evidence, method="test")


def test_the_fastest_schedule_that_the_replay_accepts_is_kept() -> None:
    best = incumbent()
    assert best.offer(TWICE).valid
    assert best.time_ns == 5
    best.offer(ONCE)
    best.offer(TWICE)
    assert (best.schedule, best.time_ns, best.offered) == (ONCE, 3, 3)


def test_what_does_not_fit_is_looked_at_and_not_kept() -> None:
    best = incumbent(memory_bytes=4)
    replay = best.offer(ONCE)
    assert (replay.valid, replay.peak_bytes) == (False, 5)
    assert best.schedule is None


def test_of_each_class_and_evidence_the_largest_bound_is_kept() -> None:
    best = incumbent()
    for time_ns in (2, 4, 3):
        best.prove(bound(time_ns))
    assert best.bounds == (bound(4),)
    assert best.lower_bound_ns == 4


def test_a_bound_is_told_of_unless_another_one_says_more() -> None:
    best = incumbent()
    exact = bound(4, ScheduleClass.IN_ORDER)
    larger = bound(6, ScheduleClass.IN_ORDER, Evidence.SOLVER)
    best.prove(exact)
    best.prove(bound(4, ScheduleClass.STAGED, Evidence.SOLVER))
    # The same for fewer schedules, and by a solver, adds nothing.
    assert best.bounds == (exact,)
    best.prove(larger)
    # The smaller one is proved in exact arithmetic.
    assert best.bounds == (exact, larger)


def test_a_search_is_settled_at_the_gap_and_says_whether_it_is_the_best() -> None:
    best = incumbent(replace(FREE, gap=0.5))
    assert best.end is Termination.TIME_LIMIT
    best.offer(ONCE)
    assert not best.is_settled
    # Of 3 ns above 0, 1 is open.
    best.prove(bound(2))
    assert (best.is_settled, best.is_best, best.end) == (True, False, Termination.GAP_REACHED)
    best.prove(bound(3))
    assert (best.is_best, best.end) == (True, Termination.COMPLETED)


def test_each_better_schedule_and_each_larger_bound_is_told_once() -> None:
    schedules: list[tuple[GraphSchedule, int]] = []
    bounds: list[int] = []
    seen: list[Progress] = []

    def on_schedule(schedule: GraphSchedule, replay: Replay) -> None:
        schedules.append((schedule, replay.time_ns))

    options = replace(
        FREE,
        on_schedule=on_schedule,
        on_bound=lambda found: bounds.append(found.time_ns),
        on_progress=seen.append,
    )
    best = incumbent(options)
    for schedule in (TWICE, TWICE, ONCE, TWICE):
        best.offer(schedule)
    for time_ns in (1, 1, 3, 2):
        best.prove(bound(time_ns))
    assert schedules == [(TWICE, 5), (ONCE, 3)]
    assert bounds == [1, 3]
    assert [(item.time_ns, item.lower_bound_ns) for item in seen] == [
        (5, None),
        (3, None),
        (3, 1),
        (3, 3),
    ]


def test_nobody_hears_of_a_search_inside_another_one() -> None:
    options = replace(
        FREE, on_progress=print, on_bound=print, on_schedule=lambda schedule, replay: None
    )
    quiet = options.quiet()
    assert (quiet.on_progress, quiet.on_bound, quiet.on_schedule) == (None, None, None)
    assert quiet == FREE


class Told(Rounds[int]):
    """Rounds that do as they are told, and write down what they were asked."""

    def __init__(self, solutions: list[ModelSolution], refines: list[bool]) -> None:
        self.asked: list[str] = []
        self._solutions = solutions
        self._refines = refines

    def build(self) -> int | None:
        self.asked.append("build")
        return None if not self._solutions else 1

    def relax(self, model: int) -> None:
        self.asked.append("relax")

    def solve(self, model: int) -> ModelSolution:
        self.asked.append("solve")
        return self._solutions.pop(0)

    def refine(self, model: int, solution: ModelSolution) -> bool:
        self.asked.append("refine")
        return self._refines.pop(0)

    def no_point(self, model: int) -> Termination:
        self.asked.append("no point")
        return Termination.COMPLETED

    def nothing_to_add(self, solution: ModelSolution) -> Termination:
        self.asked.append("nothing to add")
        return Termination.ERROR


def solution(termination: Termination, answer: Answer = Answer.FEASIBLE) -> ModelSolution:
    return ModelSolution(termination=termination, answer=answer, seconds=0.0)


SOLVED = solution(Termination.COMPLETED)
CUT_SHORT = solution(Termination.WORK_LIMIT)
ROUND = ["build", "relax", "solve", "refine"]


def ended(rounds: Told) -> Termination:
    return search_in_rounds(rounds, incumbent(), Clock(None))


def test_a_model_follows_as_long_as_the_last_point_lacks_something() -> None:
    rounds = Told([SOLVED, CUT_SHORT, SOLVED], [True, True, False])
    assert ended(rounds) is Termination.ERROR
    assert rounds.asked == [*ROUND * 3, "nothing to add"]


def test_a_model_that_is_cut_short_is_tried_again() -> None:
    rounds = Told([CUT_SHORT, SOLVED], [False, False])
    assert ended(rounds) is Termination.ERROR
    assert rounds.asked == [*ROUND * 2, "nothing to add"]


def test_a_model_that_is_not_to_be_tried_again_is_left_at_that() -> None:
    rounds = Told([CUT_SHORT, SOLVED], [False, False])
    rounds.tries_again = False
    assert ended(rounds) is Termination.ERROR
    assert rounds.asked == [*ROUND, "nothing to add"]


def test_a_model_that_is_too_large_is_a_limit_of_memory() -> None:
    assert ended(Told([], [])) is Termination.MEMORY_LIMIT


def test_a_run_that_died_of_memory_is_not_tried_for_ever() -> None:
    rounds = Told([solution(Termination.MEMORY_LIMIT)], [False])
    assert ended(rounds) is Termination.MEMORY_LIMIT
    assert rounds.asked == ROUND


@pytest.mark.parametrize("termination", [Termination.INTERRUPTED, Termination.ERROR])
def test_ctrl_c_and_errors_end_it_before_anything_is_made_of_the_point(
    termination: Termination,
) -> None:
    rounds = Told([solution(termination)], [])
    assert ended(rounds) is termination
    assert rounds.asked == ["build", "relax", "solve"]


def test_a_model_without_a_point_ends_it() -> None:
    rounds = Told([solution(Termination.COMPLETED, Answer.INFEASIBLE)], [])
    assert ended(rounds) is Termination.COMPLETED
    assert rounds.asked == ["build", "relax", "solve", "no point"]


def test_what_is_settled_needs_no_model_and_without_time_there_is_none() -> None:
    best = incumbent()
    best.offer(ONCE)
    best.prove(bound(3))
    rounds = Told([SOLVED], [])
    assert search_in_rounds(rounds, best, Clock(None)) is Termination.COMPLETED
    assert search_in_rounds(rounds, incumbent(), Clock(0)) is Termination.TIME_LIMIT
    assert rounds.asked == []


def test_a_share_of_the_work_is_some_times_what_was_done_and_not_too_little() -> None:
    share = WorkShare(least_moves=100, times_all=5)
    # On 16 columns an iteration is a move.
    assert share.limit(16) == 100
    assert share.add(work=50, columns=16) == 50
    assert share.limit(16) == 250
    assert share.limit(32) == 125


def test_a_budget_is_used_up_and_without_one_there_is_no_limit() -> None:
    budget = Budget(100)
    assert budget.limit(32) == 50
    budget.add(work=20, columns=32)
    assert (budget.left_moves, budget.limit(16)) == (60, 60)
    budget.add(work=1000, columns=32)
    # HiGHS takes no less than one.
    assert (budget.left_moves, budget.limit(16)) == (0, 1)
    assert Budget(None).limit(16) is None


def test_shares_of_a_time_limit_are_counted_as_a_usual_machine_works() -> None:
    assert moves_of_a_limit(SolveOptions(time_limit_s=2.0)) == 2 * MOVES_PER_SECOND
    assert moves_of_a_limit(SolveOptions(time_limit_s=2.0, most_moves=7)) == 7
    assert math.isinf(moves_of_a_limit(FREE))
    assert share_of_moves(100.0, 0.4) == 40
    assert share_of_moves(1.0, 0.4) == 1
    assert share_of_moves(math.inf, 0.4) is None
