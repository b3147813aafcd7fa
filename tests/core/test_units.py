from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import (
    LARGEST_AMOUNT,
    checked_amount,
    format_bytes,
    format_ns,
    parse_bytes,
)


@pytest.mark.parametrize("amount", [0, 1, LARGEST_AMOUNT])
def test_an_amount_in_range_comes_back_unchanged(amount: int) -> None:
    assert checked_amount(amount, "size", "bytes") == amount


@pytest.mark.parametrize("value", [5.0, True, False, "5", None, [5], float("nan")])
def test_what_is_not_an_integer_is_refused(value: object) -> None:
    with pytest.raises(
        InputError, match="is not an integer; write a whole number of bytes"
    ) as info:
        checked_amount(value, "size", "bytes")
    assert info.value.field == "size"


def test_a_negative_amount_is_refused_with_its_value() -> None:
    with pytest.raises(InputError, match=r"^size: -7 is negative; write a whole number of bytes"):
        checked_amount(-7, "size", "bytes")


def test_an_amount_that_a_double_cannot_hold_is_refused() -> None:
    # 2**53 is the first integer whose successor is lost in a double.
    with pytest.raises(InputError, match=r"too large; .* 0 to 9007199254740991"):
        checked_amount(2**53, "size", "bytes")


@pytest.mark.parametrize(
    ("text", "amount_bytes"),
    [
        ("1000B", 1000),
        ("4GiB", 4 * 2**30),
        ("512MB", 512 * 10**6),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1KiB", 1024),
        (" 2 TiB ", 2**41),
        ("0B", 0),
        # 1.5 GiB is 1.5 x 1073741824.
        ("1.5GiB", 1610612736),
        # A tenth of a KiB is 102.4 bytes, and fractions round down.
        ("0.1KiB", 102),
    ],
)
def test_text_with_a_unit_is_read(text: str, amount_bytes: int) -> None:
    assert parse_bytes(text) == amount_bytes


def test_a_number_without_a_unit_is_not_guessed() -> None:
    with pytest.raises(InputError, match="'4096' has no unit; write a number with its unit"):
        parse_bytes("4096")


@pytest.mark.parametrize(
    ("spellings", "amount_bytes"),
    [
        (("4GiB", "4gib", "4 GIB", "4G", "4g"), 4 * 2**30),
        (("4GB", "4gb", "4Gb"), 4 * 10**9),
        (("1.5K", "1.5KiB", "1.5kib"), 1536),
        (("1.5kB", "1.5KB", "1.5kb"), 1500),
        (("7B", "7b"), 7),
    ],
)
def test_usual_spellings_of_a_unit_are_the_same(
    spellings: tuple[str, ...], amount_bytes: int
) -> None:
    assert {parse_bytes(text) for text in spellings} == {amount_bytes}


@pytest.mark.parametrize("text", ["4Gibi", "4Gbit", "4PB", "4ns"])
def test_an_unknown_unit_is_named(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text[1:]}' is not a unit of memory"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["", "GiB", "-4GiB", "1e9B", "4,5GiB", "4GiB 5MiB", "nan", "٤GiB"])
def test_what_is_no_amount_of_memory_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an amount of memory; write a number"):
        parse_bytes(text)


def test_an_amount_of_memory_beyond_any_machine_is_refused() -> None:
    # 8193 TiB is more than 2**53 bytes.
    with pytest.raises(InputError, match="too large"):
        parse_bytes("8193TiB")


@pytest.mark.parametrize(
    ("amount_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (3 * 2**19, "1.50 MiB"),
        (2**40, "1.00 TiB"),
        (-(2**30), "-1.00 GiB"),
    ],
)
def test_bytes_are_written_in_the_largest_unit_that_fits(amount_bytes: int, text: str) -> None:
    assert format_bytes(amount_bytes) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1500, "1.5 us"), (12_345_678, "12.35 ms"), (2 * 10**9, "2 s")],
)
def test_durations_are_written_in_the_largest_unit_that_fits(duration_ns: int, text: str) -> None:
    assert format_ns(duration_ns) == text
