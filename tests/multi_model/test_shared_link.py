"""Several models on a link whose directions share a total: replay, bounds and methods."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from jettison import Link, MultiModelTraining
from jettison.formulations.multi_model.bound.columns import BoundRows
from jettison.instances.core.link import SharedTotal
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit
from jettison.schedules.multi_model.shared_unit_replay import SharedUnitReplay
from jettison.schedules.multi_model.unit_replay import MultiModelReplay
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.multi_model.bound.divisions import bound_multi_model
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_division import Sizes
from jettison.solvers.multi_model.local_search import UnitSearch
from jettison.solvers.multi_model.methods import METHODS
from tests.core.link_time import moved_as_the_link_does
from tests.multi_model.oracles.all_lists import least_alone_ns
from tests.multi_model.random_units import changed_unit, random_decisions, random_problem
from tests.multi_model.test_bound import relaxed_ns
from tests.multi_model.unit_text import alone, twins
from tests.multi_model.units import drawn_units, hand_made
from tests.tiny_models import mirrored_models

GB = 10**9
OPTIONS = SolveOptions(time_limit_s=20, gap=0)


def test_both_directions_at_once_have_half_of_the_total_each() -> None:
    problem = MultiModelTraining(mirrored_models(), 1000, Link.half_duplex(GB), models=1)
    text = "F1.0 O1.0 F1.1 F1.2 F1.3 P1.0 O1.1 B1.0 B1.1 P1.1 B1.2 B1.3"
    found = alone(text).replay(problem)
    # z0 leaves from 2 to 12. Then z0 comes back, and z1 leaves, both from 12 on at half a byte per
    # ns, until 32; z1 comes back alone, from 32 to 42, and b2 and b3 take until 48.
    assert found.valid
    assert [(item.start_ns, item.end_ns) for item in found.transfers] == [
        (2, 12),
        (12, 32),
        (12, 32),
        (32, 42),
    ]
    assert found.time_ns == 48
    # With three quarters of a byte each they take 13.33 ns, rounded up.
    wider = replace(problem, bandwidth=Link(GB, SharedTotal(3 * GB // 2)))
    assert alone(text).replay(wider).transfers[1].end_ns == 26
    # With a whole byte each, z1 comes back from 22 to 32, and the step ends at 38.
    full = alone(text).replay(replace(problem, bandwidth=Link(GB)))
    assert full.time_ns == 38


def test_a_round_starts_when_the_transfers_of_the_one_before_have_ended() -> None:
    # z3 leaves from 20 on, 10 ns, after the last operator; b0 of the next round waits 10 ns more.
    problem = MultiModelTraining(mirrored_models(), 1000, Link.half_duplex(GB))
    found = twins("P1.3 B1.0 B1.1 B1.2 B1.3 F2.0 F2.1 F2.2 F2.3 O2.3").replay(problem)
    assert found.valid
    assert found.round_ends_ns == (40, 80)


def drawn(
    draw: random.Random, total: Fraction | int, *, changes: int = 0
) -> tuple[MultiModelTraining, TrainingUnit]:
    """Draw a problem on a link with a total, in units of its rate, and a unit that was executed."""
    while True:
        problem, sizes = random_problem(draw)
        rate = draw.choice((1, 2, 5, 10, 30)) * GB // 10
        link = Link(rate, SharedTotal(int(rate * total)))
        problem = replace(problem, bandwidth=link)
        executor = UnitExecutor(problem, sizes)
        executed = executor.execute(random_decisions(draw, executor.arrays))
        if executed is None:
            continue
        unit = executed.unit
        for _ in range(changes):
            unit = changed_unit(draw, unit)
        return problem, unit


def test_where_nothing_is_shared_it_is_the_replay_of_a_full_duplex_link() -> None:
    draw = random.Random(61)
    valid = 0
    for case in range(300):
        problem, unit = drawn(draw, 2, changes=case % 3)
        if draw.random() < 0.4:
            less = draw.choice((1, 3, 9))
            peak_bytes = MultiModelReplay(problem).run((unit,)).peak_bytes
            problem = replace(problem, memory=max(0, peak_bytes - less))
        alone_each = MultiModelReplay(problem).run((unit, unit))
        assert SharedUnitReplay(problem).run((unit, unit)) == alone_each, case
        valid += MultiModelReplay(problem).run((unit,)).valid
    # Both verdicts are common.
    assert 50 < valid < 250


def test_a_shared_link_carries_what_it_can_and_lies_between_two_full_duplex_links() -> None:
    draw = random.Random(62)
    slower = 0
    for case in range(150):
        problem, unit = drawn(draw, draw.choice((1, Fraction(5, 4), Fraction(8, 5))))
        link, schedule = problem.link, MultiModelSchedule((unit,))
        found = schedule.replay(problem)
        assert found.valid, case
        assert moved_as_the_link_does(found, link), case
        fast = schedule.replay(replace(problem, bandwidth=link.full_duplex))
        slow = schedule.replay(replace(problem, bandwidth=link.always_available))
        assert fast.time_ns is not None
        assert found.time_ns is not None
        assert slow.time_ns is not None
        assert fast.time_ns <= found.time_ns <= slow.time_ns, case
        slower += fast.time_ns < found.time_ns
    assert slower > 15


def shared_problem(draw: random.Random) -> MultiModelTraining:
    """Draw a problem on a shared link that is slow enough to matter."""
    problem, _ = random_problem(draw)
    rate = draw.choice((2, 5, 10)) * GB // 10
    total = rate * draw.choice((4, 5, 6, 7)) // 4
    return replace(problem, bandwidth=Link(rate, SharedTotal(total)))


def test_methods_know_the_times_of_their_schedules_on_the_shared_link() -> None:
    draw = random.Random(63)
    for case in range(6):
        problem = shared_problem(draw)
        faster = replace(problem, bandwidth=problem.link.full_duplex)
        least_ns = bound_multi_model(problem, OPTIONS).bounds[0].time_ns
        times_ns = {}
        for method in METHODS:
            if method.promise is not Promise.BOUND:
                result = solve_with(problem, method.name, OPTIONS)
                times_ns[method.name] = result.time_ns
                if result.time_ns is not None:
                    assert result.time_ns >= least_ns, (case, method.name)
        best_ns = times_ns["local-search"]
        assert best_ns is not None
        assert best_ns == min(
            time_ns for name, time_ns in times_ns.items() if time_ns and name != "exact"
        ), (case, times_ns)
        full_ns = solve_with(faster, "exact", OPTIONS).time_ns
        assert full_ns is not None
        assert full_ns <= best_ns


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2)])
def test_the_total_raises_the_bound_and_no_planned_schedule_is_faster(sizes: Sizes) -> None:
    raised = 0
    for problem, _ in drawn_units(8, 4, 20, (sizes,), share=0.1):
        shared = replace(problem, bandwidth=Link.half_duplex(GB // 3))
        bound_ns = relaxed_ns(shared, sizes, frozenset(BoundRows))
        planned = UnitSearch(shared, sizes, 1).time_ns
        assert bound_ns <= planned
        faster = replace(problem, bandwidth=GB // 3)
        raised += bound_ns > relaxed_ns(faster, sizes, frozenset(BoundRows))
    assert raised > 0


def crossing(draw: random.Random | None = None) -> MultiModelTraining:
    """Return a model of which one feature map comes back while the other one leaves.

    f0 makes the first, b0 reads it; f2 makes the second, b2 reads it. f1 and b1 need all memory.
    Without `draw` all operators take 2 ns and both feature maps have 4 bytes.
    """
    sizes = [4, 4] if draw is None else [draw.randint(3, 6), draw.randint(3, 6)]
    times_ns = [2] * 6 if draw is None else [draw.randint(1, 2) for _ in range(6)]
    peaks = [sizes[0], sum(sizes), sizes[1], sizes[0], sum(sizes), sizes[1]]
    works = list(zip(times_ns, peaks, strict=True))
    maps = [(sizes[0], 0, 0), (sizes[1], 2, 2)]
    models = hand_made(works[:3], works[3:], maps, swap_ns=1, recompute_ns=100)
    return MultiModelTraining(models, sum(sizes), Link.half_duplex(GB))


def test_crossing_copies_cost_what_the_half_duplex_link_takes_for_both() -> None:
    # Full-duplex: f0 until 2, the first leaves until 6, f1 until 8, f2 until 10. The first comes
    # back from 8 to 12, the second leaves from 10 to 14; b0 runs from 12, b1 from 14 to 16, the
    # second comes back until 20, and b2 ends at 22. Half-duplex: from 10 on 2 bytes of the first
    # are left, at half a byte per ns, until 14. Then 2 of the second are, until 16, where b0 ends
    # too. So b2 ends at 24.
    problem = crossing()
    assert least_alone_ns(replace(problem, bandwidth=GB), 1) == 22
    assert least_alone_ns(problem, 1) == 24
    assert solve_with(problem, "local-search", OPTIONS).time_ns == 24


def test_no_bound_is_above_the_fastest_of_all_lists_and_no_method_below() -> None:
    draw = random.Random(64)
    for case in range(2):
        problem = crossing(draw)
        least_ns = least_alone_ns(problem, 1)
        assert least_ns is not None
        for method in METHODS:
            result = solve_with(problem, method.name, OPTIONS)
            assert all(bound.time_ns <= least_ns for bound in result.bounds), (case, method.name)
            assert result.time_ns is None or result.time_ns >= least_ns, (case, method.name)
