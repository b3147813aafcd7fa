"""The least period of events that follow one another, against all periods and all pairs."""

from __future__ import annotations

import random

from jettison.solvers.weight_offload.events.longest_paths import Arc, least_times


def is_possible(arcs: list[Arc], period_ns: int, events: int) -> bool:
    """Floyd and Warshall: no event is later than itself."""
    late = [
        [0 if first == second else -(10**9) for second in range(events)] for first in range(events)
    ]
    for arc in arcs:
        assert isinstance(arc.first, int)
        assert isinstance(arc.second, int)
        row = late[arc.first]
        row[arc.second] = max(row[arc.second], arc.lasts_ns - arc.periods * period_ns)
    for middle in range(events):
        for first in range(events):
            for second in range(events):
                around = late[first][middle] + late[middle][second]
                late[first][second] = max(late[first][second], around)
    return all(late[event][event] <= 0 for event in range(events))


def test_the_period_is_the_longest_cycle_for_each_period_in_it() -> None:
    # 3 from A to B and 4 back to A of the next period; or to A of the one after that.
    assert least_times([Arc("A", "B", 3, 0), Arc("B", "A", 4, 1)], 0) == (7, {"A": 0, "B": 3})
    found = least_times([Arc("A", "B", 3, 0), Arc("B", "A", 4, 2)], 0)
    # 7 in two periods: 3.5, and in whole nanoseconds 4.
    assert found is not None
    assert found[0] == 4
    assert least_times([Arc("A", "B", 3, 0), Arc("B", "A", 4, 1)], 9) == (9, {"A": 0, "B": 3})


def test_what_precedes_itself_in_one_period_has_no_times() -> None:
    assert least_times([Arc("A", "B", 1, 0), Arc("B", "A", 0, 0)], 0) is None


def test_random_rules_have_the_least_period_and_times_that_keep_them() -> None:
    chance = random.Random(1)
    refused = 0
    for _ in range(200):
        events = chance.randint(2, 5)
        arcs = [
            Arc(
                chance.randrange(events),
                chance.randrange(events),
                chance.randint(-3, 9),
                chance.choice((0, 1, 1, 2)),
            )
            for _ in range(chance.randint(2, 9))
        ]
        found = least_times(arcs, 0)
        # Nothing takes more than 9 arcs of 9.
        first = next((n for n in range(100) if is_possible(arcs, n, events)), None)
        if found is None:
            refused += 1
            assert first is None
            continue
        period_ns, times_ns = found
        assert period_ns == first
        for arc in arcs:
            after_ns = times_ns[arc.first] + arc.lasts_ns - arc.periods * period_ns
            assert times_ns[arc.second] >= after_ns
        assert min(times_ns.values()) >= 0
    assert 0 < refused < 200
