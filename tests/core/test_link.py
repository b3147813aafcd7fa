from __future__ import annotations

from fractions import Fraction

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, parse_link


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
