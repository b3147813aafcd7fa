"""The replay of a step that repeats: what it allows, and every rule that it finds broken."""

from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.schedules.core.replay import Replay, Rule
from tests.weight_offload.cyclic_events import cyclic, layers

BYTE_PER_NS = Link(10**9)


# Two layers, 3 ns forward and 4 ns backward, 1 byte saved, 5 and 2 bytes of weights.
TWO = layers((3, 4, 1, 5), (3, 4, 1, 2))
KEEP_ALL = "B2@0, B1@4, F1@8, F2@11"


def rules(replay: Replay) -> list[Rule]:
    return [violation.rule for violation in replay.violations]


def test_keeping_all_weights_takes_no_more_than_the_operations() -> None:
    replay = cyclic(14, KEEP_ALL).replay(TWO, BYTE_PER_NS)
    assert replay.valid
    assert replay.time_ns == 14
    # B 1: all weights 7, its gradient 5, a^1 saved 1. B 2: 7 + 2 + 1 + 1.
    assert [step.during_bytes for step in replay.steps] == [11, 13, 8, 9]
    assert replay.peak_bytes == 13
    # After B 1 nothing is saved; after F 1 one byte, after F 2 two.
    assert replay.memory_profile == ((0, 11), (4, 13), (8, 8), (11, 9), (14, 9))


def test_an_offload_frees_memory_from_the_deletion_to_the_prefetch() -> None:
    # w^2 is uploaded during B 1 (2 ns), deleted, and prefetched during F 1.
    replay = cyclic(14, "B2@0, B1@4, upload2@4, delete2@6, F1@8, prefetch2@9, F2@11").replay(
        TWO, BYTE_PER_NS, 13
    )
    assert replay.valid
    assert replay.peak_bytes == 13
    assert (6, 11) in replay.memory_profile
    assert (9, 8) in replay.memory_profile
    assert [(item.start_ns, item.end_ns, item.to_host) for item in replay.transfers] == [
        (4, 6, True),
        (9, 11, False),
    ]


def test_one_upload_allows_deletions_until_the_next_backward() -> None:
    text = "B2@0, prefetch1@0, B1@5, upload1@9, delete1@14, prefetch1@14, F1@19, delete1@22, F2@22"
    replay = cyclic(25, text).replay(TWO, BYTE_PER_NS)
    assert replay.valid
    # Without the upload no deletion is covered.
    broken = cyclic(25, text.replace("upload1@9, ", "")).replay(TWO, BYTE_PER_NS)
    assert rules(broken) == [Rule.NO_COPY, Rule.NO_COPY]


def test_an_upload_before_the_forward_serves_the_deletion_after_it() -> None:
    text = "B2@0, prefetch1@0, B1@5, upload1@9, F1@9, delete1@14, F2@14"
    assert cyclic(17, text).replay(TWO, BYTE_PER_NS).valid


def test_a_transfer_may_straddle_the_end_of_the_period() -> None:
    # w^1 leaves after F 1 and comes back from 13 on, four nanoseconds into the next period.
    text = "B2@0, B1@4, upload1@8, F1@8, delete1@13, F2@13, prefetch1@15"
    replay = cyclic(16, text).replay(TWO, BYTE_PER_NS)
    assert replay.valid
    assert replay.transfers[-1].end_ns == 20
    # In flight at the start of every period: w^1 occupies memory there.
    assert replay.memory_profile[0] == (0, 11)


def test_what_takes_no_time_happens_in_the_order_of_the_list() -> None:
    free = layers((0, 0, 0, 4), (0, 0, 0, 4))
    fits = "B2@0, upload2@0, delete2@4, prefetch1@4, B1@8, upload1@8, F1@12, delete1@12"
    fits += ", prefetch2@12, F2@16"
    replay = cyclic(16, fits).replay(free, BYTE_PER_NS, 8)
    assert replay.valid
    assert replay.peak_bytes == 8
    # Listed before the deletion of w^1, the prefetch of w^2 still fits: 4 + 4. Beside a third it
    # would not.
    swapped = fits.replace("delete1@12, prefetch2@12", "prefetch2@12, delete1@12")
    assert cyclic(16, swapped).replay(free, BYTE_PER_NS, 8).valid
    assert rules(cyclic(16, swapped).replay(free, BYTE_PER_NS, 7)) == [Rule.OUT_OF_MEMORY] * 3


@pytest.mark.parametrize(
    ("period_ns", "text", "broken"),
    [
        (14, "B1@0, B2@4, F1@8, F2@11", [Rule.OUT_OF_ORDER, Rule.OUT_OF_ORDER, Rule.OUT_OF_ORDER]),
        (14, "B2@0, B1@4, F1@8", [Rule.UNFINISHED]),
        (14, "B2@0, B1@3, F1@8, F2@11", [Rule.BUSY]),
        # F 2 runs on into the next period, where B 2 starts.
        (13, KEEP_ALL, [Rule.BUSY]),
        (14, "B2@0, B1@4, upload2@4, upload1@5, F1@8, F2@11", [Rule.IN_USE, Rule.BUSY]),
        # The copy of w^1 is overtaken by the backward that changes it.
        (14, "B2@0, upload1@0, B1@4, F1@8, F2@11", [Rule.IN_USE]),
        (
            14,
            "B2@0, B1@4, upload1@8, F1@8, F2@11, prefetch1@13",
            [Rule.IN_MEMORY_ALREADY, Rule.NOT_PERIODIC],
        ),
        (14, "B2@0, B1@4, upload1@8, F1@8, F2@11, delete1@13", [Rule.NOT_IN_MEMORY] * 4),
        # The upload is under way until 6.
        (
            14,
            "B2@0, B1@4, upload2@4, delete2@5, F1@8, prefetch2@9, F2@11",
            [Rule.IN_USE, Rule.NO_COPY],
        ),
        (14, "B2@0, B1@4, upload2@4, delete2@6, F1@8, prefetch2@10, F2@11", [Rule.NOT_IN_MEMORY]),
        (14, "B2@0, B1@4, delete2@6, F1@8, prefetch2@9, F2@11", [Rule.NO_COPY]),
        # Uploaded before its backward, the copy is old.
        (14, "upload2@0, B2@2, B1@6, delete2@7, prefetch2@8, F1@10, F2@13", [Rule.NO_COPY]),
        (14, "B2@0, B1@4, F1@8, F2@11, prefetch3@12", [Rule.UNKNOWN_OPERATION]),
    ],
)
def test_every_broken_rule_is_named(period_ns: int, text: str, broken: list[Rule]) -> None:
    replay = cyclic(period_ns, text).replay(TWO, BYTE_PER_NS)
    assert sorted(rules(replay)) == sorted(broken)


def test_what_does_not_fit_is_told_with_its_excess() -> None:
    replay = cyclic(14, KEEP_ALL).replay(TWO, BYTE_PER_NS, 12)
    (violation,) = replay.violations
    assert (violation.rule, violation.operation, violation.bytes_over) == (
        Rule.OUT_OF_MEMORY,
        "B 1",
        1,
    )


@pytest.mark.parametrize(
    ("period_ns", "text"), [(14, "B2@0, B1@4, F1@15"), (14, "B2@4, B1@0"), (-1, "B2@0")]
)
def test_times_out_of_order_or_range_are_refused(period_ns: int, text: str) -> None:
    with pytest.raises(InputError, match=r"by start time|at least 0"):
        cyclic(period_ns, text)
