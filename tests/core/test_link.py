from __future__ import annotations

from fractions import Fraction

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, SharedTotal, parse_link
from jettison.schedules.core.shared_link import SharedLink


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("12GB/s", 12 * 10**9),
        (" 1.5 GiB/s ", 3 * 2**29),
        ("7B/s", 7),
        (5, 5),
        (Link(8), 8),
    ],
)
def test_a_bandwidth_is_read_with_its_unit(text: str | int | Link, bytes_per_s: int) -> None:
    assert parse_link(text) == Link(bytes_per_s)


@pytest.mark.parametrize(
    "bandwidth", ["12GB", "12", "fast", "-1GB/s", "12Gbit/s", "0GB/s", "0.5B/s", 0, -3, 1.5, True]
)
def test_what_is_no_bandwidth_is_refused_with_an_example(bandwidth: object) -> None:
    with pytest.raises(InputError) as caught:
        parse_link(bandwidth)  # type: ignore[arg-type]
    assert caught.value.field == "bandwidth"
    assert caught.value.expected


def test_a_transfer_takes_its_exact_time_rounded_up_to_nanoseconds() -> None:
    # 12 bytes per ns: 24 bytes take 2 ns, 25 bytes 2.083 ns.
    link = parse_link("12GB/s")
    assert link.bytes_per_ns == Fraction(12)
    assert [link.transfer_ns(size) for size in (0, 1, 24, 25)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("bytes_per_s", "text"), [(12 * 10**9, "12 GB/s"), (1_500_000, "1.5 MB/s"), (7, "7 B/s")]
)
def test_a_link_is_written_as_people_do(bytes_per_s: int, text: str) -> None:
    assert str(Link(bytes_per_s)) == text


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("12GB/s:half-duplex", Link(12 * 10**9, SharedTotal(12 * 10**9))),
        ("12GB/s:total=14GB/s", Link(12 * 10**9, SharedTotal(14 * 10**9))),
        (" 12GB/s : total = 14GB/s ", Link(12 * 10**9, SharedTotal(14 * 10**9))),
        ("v100-sxm2-16gb-x8", Link.half_duplex(3_080_000_000)),
    ],
)
def test_a_shared_link_is_read_and_written(text: str, link: Link) -> None:
    assert parse_link(text) == link
    assert parse_link(link.text) == link


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("12GB/s:half", "'12GB/s:half' is not a link"),
        ("12GB/s:total=fast", "'12GB/s:total=fast' is not a rate"),
        # Less than one direction has alone, and more than both have.
        ("12GB/s:total=11GB/s", "a total of 11000000000 bytes per second, with 12000000000"),
        ("12GB/s:total=25GB/s", "a total of 25000000000 bytes per second, with 12000000000"),
        ("h100", "'h100' is not a rate"),
    ],
)
def test_what_is_no_shared_link_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_link(text)
    assert caught.value.field == "bandwidth"


def test_a_total_of_twice_the_rate_is_full_duplex() -> None:
    link = parse_link("12GB/s:total=24GB/s")
    assert not link.is_shared
    assert link.always_available == link.full_duplex == Link(12 * 10**9)
    assert parse_link("12GB/s:total=14GB/s").always_available == Link(7 * 10**9)


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (Link.half_duplex(12 * 10**9), "12 GB/s half-duplex"),
        (Link(12 * 10**9, SharedTotal(14 * 10**9)), "12 GB/s, both ways 14 GB/s"),
    ],
)
def test_a_shared_link_says_what_both_directions_have(link: Link, text: str) -> None:
    assert str(link) == text


def test_both_directions_share_the_total_in_equal_parts_while_both_work() -> None:
    # 6 bytes to the host from 0, at 1 byte per ns alone: 4 are left at 2, when 3 bytes start in the
    # other direction. With half a byte per ns each these end at 8, with 1 byte left of the others,
    # which is alone and ends at 9.
    link = SharedLink(Link.half_duplex(10**9))
    link.start(True, 6, 0)
    assert link.next_end() == (6, True)
    link.start(False, 3, 2)
    assert link.next_end() == (8, False)
    link.end(False, 8)
    assert link.next_end() == (9, True)
    link.end(True, 9)
    assert link.next_end() is None


# MiB to the device and to the host at once, and the milliseconds that eight A100 took for it.
A100_BOTH_WAYS = [(88, 88, 25.29), (64, 64, 18.35), (88, 64, 22.44), (88, 40, 19.70)]


@pytest.mark.parametrize(("to_device", "to_host", "measured_ms"), A100_BOTH_WAYS)
def test_the_measured_a100_link_predicts_what_was_measured(
    to_device: int, to_host: int, measured_ms: float
) -> None:
    link = SharedLink(parse_link("a100-sxm4-40gb-x8"))
    link.start(False, to_device * 2**20, 0)
    link.start(True, to_host * 2**20, 0)
    ended_ns = 0
    while (upcoming := link.next_end()) is not None:
        ended_ns, direction = upcoming
        link.end(direction, ended_ns)
    # Within 1 % of what was measured; full-duplex, 88 MiB would take 14.9 ms.
    assert abs(ended_ns / 1e6 - measured_ms) < 0.01 * measured_ms
