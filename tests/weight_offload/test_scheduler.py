"""Algorithm 2: valid schedules on any chain, the numbers of Table 1, and the corrections."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import WeightOffload
from jettison.instances.generators.published_transformers import (
    PUBLISHED_ROWS,
    PublishedRow,
    published_chain,
)
from jettison.schedules.core.replay import Rule
from jettison.solvers.weight_offload.greedy.selection import Absence, Choice, select_choices
from jettison.solvers.weight_offload.scheduler import (
    Discount,
    WeightScheduler,
    schedule_selection,
)
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule
from tests.weight_offload.cases import chain_of, random_problems

NS_PER_MS = 10**6
BOTH = (Absence.AFTER_BACKWARD, Absence.AFTER_FORWARD)


def published(row: PublishedRow, mib_per_s: int = 12_000) -> WeightOffload:
    return WeightOffload(published_chain(row), f"{row.memory_mib}MiB", f"{mib_per_s}MiB/s")


def start_of(schedule: CyclicSchedule, kind: str, layer: int) -> int:
    return next(
        event.start_ns for event in schedule.events if event.kind == kind and event.layer == layer
    )


def moved(schedule: CyclicSchedule, kind: str, layer: int, start_ns: int) -> CyclicSchedule:
    """The schedule with one event at another time; before all others of that time."""
    event = next(item for item in schedule.events if item.kind == kind and item.layer == layer)
    rest = [item for item in schedule.events if item is not event]
    later = [item for item in rest if item.start_ns >= start_ns]
    early = rest[: len(rest) - len(later)]
    return replace(
        schedule, events=(*early, CyclicEvent(event.kind, event.layer, start_ns), *later)
    )


def rules(problem: WeightOffload, schedule: CyclicSchedule) -> set[Rule]:
    replay = schedule.replay(problem.cycle, problem.link, problem.memory_bytes)
    return {violation.rule for violation in replay.violations}


@pytest.mark.parametrize("row", PUBLISHED_ROWS, ids=lambda row: row.name)
def test_table_1_comes_out_within_a_millisecond(row: PublishedRow) -> None:
    problem = published(row)
    choices = select_choices(problem)
    assert choices is not None
    for discount, printed_ms in (
        (Discount.USED, row.greedy_ms),
        (Discount.NOT_USED, row.greedy_no_discount_ms),
    ):
        schedule = schedule_selection(problem, choices, discount)
        assert schedule is not None
        assert rules(problem, schedule) == set()
        # The table is in whole milliseconds.
        assert abs(schedule.period_ns - printed_ms * NS_PER_MS) < NS_PER_MS


@pytest.mark.parametrize(
    ("mib_per_s", "ratio"), [(2_000, 1.010), (4_000, 1.005), (8_000, 1.002), (12_000, 1.002)]
)
def test_the_gpt_2_of_figure_4_hardly_waits_on_fast_links(mib_per_s: int, ratio: float) -> None:
    # Computed once by another program for the same reading of the algorithms.
    problem = published(PUBLISHED_ROWS[0], mib_per_s)
    period_ns = WeightScheduler(problem).period_ns(select_choices(problem) or ())
    assert period_ns is not None
    assert period_ns / problem.instance.base_time_ns == pytest.approx(ratio, abs=6e-4)


def test_schedules_of_any_chain_are_valid_and_take_the_base_time_in_plenty_of_memory() -> None:
    seen = dict.fromkeys(Discount, 0)
    for problem in random_problems(250):
        scheduler = WeightScheduler(problem)
        choices = select_choices(problem)
        assert choices is not None
        for discount in Discount:
            schedule = scheduler.schedule(choices, discount)
            assert schedule is not None
            assert rules(problem, schedule) == set()
            assert schedule.period_ns == scheduler.period_ns(choices, discount)
            base_ns = problem.instance.base_time_ns
            assert schedule.period_ns >= base_ns
            if not choices:
                assert schedule.period_ns == base_ns
            seen[discount] += schedule.period_ns > base_ns
    assert min(seen.values()) > 100


def test_more_choices_than_are_needed_are_valid_too() -> None:
    for problem in random_problems(60, seed=3):
        layers = range(1, problem.cycle.num_layers + 1)
        everything = [Choice(layer, absence) for layer in layers for absence in BOTH]
        for choices in (everything, everything[::2], everything[1::2]):
            schedule = schedule_selection(problem, choices)
            assert schedule is None or rules(problem, schedule) == set()
        assert schedule_selection(problem, everything) is not None


def test_choices_that_do_not_fit_have_no_schedule() -> None:
    # 4 layers of 10 bytes and a gradient of 10 need 50 bytes.
    problem = WeightOffload(chain_of(*[(5, 5, 10)] * 4), 49, "1GB/s")
    assert schedule_selection(problem, ()) is None
    assert WeightScheduler(problem).period_ns(()) is None


def test_an_early_upload_starts_no_earlier_than_its_own_backward_ends() -> None:
    # One byte per ns. B_2 lasts from 0 to 500, and the link is free all the time: w_2 is uploaded
    # at 500. When the link was free for the first time it was not changed yet: at 0 it runs.
    chain = chain_of((500, 500, 0), (500, 500, 100))
    problem = WeightOffload(chain, 200, "1GB/s")
    schedule = schedule_selection(problem, [Choice(2, Absence.AFTER_FORWARD)])
    assert schedule is not None
    assert start_of(schedule, "upload", 2) == 500
    assert rules(problem, schedule) == set()
    assert Rule.IN_USE in rules(problem, moved(schedule, "upload", 2, 0))


def test_whether_an_early_upload_fits_is_asked_of_times() -> None:
    # 1000 bytes take 100 ns; the link has been free for 500 ns when B_2 ends. As bytes, 1000 are
    # not fewer than 500, and the upload would start when F_2 ends, at 2000.
    chain = chain_of((500, 500, 0), (500, 500, 1000))
    schedule = schedule_selection(
        WeightOffload(chain, 2000, "10GB/s"), [Choice(2, Absence.AFTER_FORWARD)]
    )
    assert schedule is not None
    assert start_of(schedule, "upload", 2) == 500


def test_a_backward_waits_for_the_memory_of_its_gradient() -> None:
    # A byte per ns. B_1 needs 40 + 40 bytes, so that w_2 has to leave: uploaded from the end of B_2
    # at 10 to 40. B_1, whose weights are there, waits until then; at 10 it would need 110 bytes.
    problem = WeightOffload(chain_of((10, 10, 40), (10, 10, 30)), 100, "1GB/s")
    choices = select_choices(problem)
    assert choices == (Choice(2, Absence.AFTER_BACKWARD),)
    schedule = schedule_selection(problem, choices)
    assert schedule is not None
    assert rules(problem, schedule) == set()
    assert start_of(schedule, "B", 1) == start_of(schedule, "delete", 2) == 40
    assert Rule.OUT_OF_MEMORY in rules(problem, moved(schedule, "B", 1, 10))


def test_what_is_on_the_host_is_deleted_though_the_link_is_busy() -> None:
    # A byte per ns. w_3 is on the host when F_3 ends at 600, and is deleted then. The upload of
    # w_2 starts when F_2 ends, 10 ns before, and takes 300 ns: the print waits for it.
    chain = chain_of((10, 10, 0), (10, 10, 300), (10, 10, 40))
    problem = WeightOffload(chain, 2000, "1GB/s")
    choices = [Choice(2, Absence.AFTER_FORWARD), *(Choice(3, absence) for absence in BOTH)]
    schedule = schedule_selection(problem, choices)
    assert schedule is not None
    assert rules(problem, schedule) == set()
    forward_ns = start_of(schedule, "F", 3)
    assert start_of(schedule, "upload", 2) == forward_ns
    assert CyclicEvent(CyclicEventKind.DELETE, 3, forward_ns + 10) in schedule.events


def test_deletion_after_the_forward_needs_an_upload_of_its_own_without_the_discount() -> None:
    chain = chain_of((50, 50, 40), (50, 50, 40))
    problem = WeightOffload(chain, 500, "1GB/s")
    choices = [Choice(2, absence) for absence in BOTH]
    uploads = {}
    for discount in Discount:
        schedule = schedule_selection(problem, choices, discount)
        assert schedule is not None
        assert rules(problem, schedule) == set()
        uploads[discount] = sum(event.kind is CyclicEventKind.UPLOAD for event in schedule.events)
    assert uploads == {Discount.USED: 1, Discount.NOT_USED: 2}


def test_steps_without_any_duration_take_the_time_of_their_transfers() -> None:
    # Two layers of 10 bytes, 20 bytes of memory, a byte per ns: w_1 is absent at B_2 and w_2 at
    # B_1, as a gradient needs 10. Between B_2 and B_1, and between F_1 and F_2, one is uploaded
    # while the other is prefetched: 10 ns each.
    problem = WeightOffload(chain_of((0, 0, 10), (0, 0, 10)), 20, "1GB/s")
    choices = select_choices(problem)
    schedule = schedule_selection(problem, choices or ())
    assert schedule is not None
    assert rules(problem, schedule) == set()
    assert schedule.period_ns == 20


def test_times_beyond_64_bits_are_refused() -> None:
    problem = WeightOffload(chain_of((1, 1, 2**52), (1, 1, 2**52)), "70%", 1)
    with pytest.raises(OverflowError):
        WeightScheduler(problem)


def test_the_largest_sizes_are_scheduled_exactly() -> None:
    # As many bytes as the link carries in a second; otherwise as two layers of 10 bytes above.
    size = 2**52 - 1
    problem = WeightOffload(chain_of((0, 0, size), (0, 0, size)), 2 * size, size)
    schedule = schedule_selection(problem, select_choices(problem) or ())
    assert schedule is not None
    assert rules(problem, schedule) == set()
    assert schedule.period_ns == 2 * 10**9


def test_the_time_limit_ends_the_cuts() -> None:
    problem = WeightOffload(chain_of(*[(1, 1, 10)] * 50), "40%", "1GB/s")
    choices = select_choices(problem)
    assert choices is not None
    with pytest.raises(TimeoutError):
        WeightScheduler(problem).schedule(choices, time_limit_s=1e-9)
