"""Capuchin's policy: free times on a link that one copy has at a time, and what it decides."""

from __future__ import annotations

import random

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.multi_model.capuchin import FreeTimes, Lane, capuchin_decisions
from jettison.solvers.multi_model.decisions import Fate
from tests.tiny_models import mirrored_models, random_models


def test_a_lane_gives_the_first_and_the_last_time_that_is_free() -> None:
    lane = Lane()
    lane.take(10, 10)
    lane.take(25, 5)
    # Free: until 10, from 20 to 25, and from 30 on.
    assert lane.first_from(0, 10) == 0
    assert lane.first_from(5, 5) == 5
    assert lane.first_from(5, 6) == 30
    assert lane.first_from(12, 5) == 20
    assert lane.last_until(28, 5) == 20
    assert lane.last_until(28, 6) == 4
    assert lane.last_until(40, 10) == 30


def test_free_time_is_what_two_copies_leave_between_the_uses() -> None:
    # Four forward operators of 2 ns and four backward ones of 3: z0 is made by f0 and read by b3,
    # from 2 to 8 + 9 = 17 ns; two copies of 6 leave 3. z3 is used at once, 8 to 8: -12.
    instance = mirrored_models(swap_ns=6, models=1)
    array = instance.sub_array(1)
    times = FreeTimes(array, (6,) * 4)
    assert [times.free_ns(tensor) for tensor in range(4)] == [3, -2, -7, -12]
    # z0 goes out from 2 to 8 and comes back from 11 to 17, in b1, which starts at 11. Then z1,
    # between 4 and 14, goes out from 8 to 14, and back until 11, when the link is taken: from 5.
    assert times.swap(0) == 1
    assert times.free_ns(1) == 5 - 14


def test_what_costs_less_is_done_once_free_time_is_used_up() -> None:
    # In 30 bytes two of four have to leave, as everything takes 42 and each 10. z0 has free time
    # and is swapped for nothing. Next, z1 has the most, -9: it would wait for 9 ns. Recomputing
    # takes 100 ns, and then 5.
    for recompute_ns, fate in ((100, Fate.SWAP), (5, Fate.RECOMPUTE)):
        instance = mirrored_models(swap_ns=6, recompute_ns=recompute_ns, models=1)
        found = capuchin_decisions(instance.sub_array(1), (6,) * 4, 26)
        assert found is not None
        assert found.fates[0][0] is Fate.SWAP
        assert fate in found.fates[0][1:]


def test_the_offload_charge_is_never_slower_and_the_default_is_never_slower_than_any() -> None:
    draw = random.Random(31)
    schedules = 0
    for _ in range(40):
        problem = MultiModelTraining(random_models(draw), draw.randint(8, 60))
        found = {
            method: solve_with(problem, method, SolveOptions(time_limit_s=limit_s)).time_ns
            for method, limit_s in (
                ("mu-two", 9),
                ("mu-two-both-ways", 9),
                ("hfta", 9),
                ("hfta-capuchin", 9),
                ("hfta-both-ways", 9),
                ("capuchin", 9),
                ("swap-only", 9),
                ("recompute-only", 9),
                ("local-search", 0.001),
            )
        }
        for plain, charged in (("mu-two", "mu-two-both-ways"), ("hfta-capuchin", "hfta-both-ways")):
            if found[plain] is not None:
                assert found[charged] is not None
                assert found[charged] <= found[plain]
        times_ns = [time_ns for time_ns in found.values() if time_ns is not None]
        if times_ns:
            schedules += 1
            assert found["local-search"] == min(times_ns)
    assert schedules > 20
