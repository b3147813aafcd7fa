from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Alpha, Amount, Memory, Share, parse_memory


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("4GiB", Amount(4 * 2**30)),
        ("1000B", Amount(1000)),
        ("60%", Share(Fraction(3, 5))),
        ("12.5 %", Share(Fraction(1, 8))),
        ("150%", Share(Fraction(3, 2))),
        ("0%", Share(Fraction(0))),
        ("alpha=0.2", Alpha(Fraction(1, 5))),
        ("alpha=1", Alpha(Fraction(1))),
        ("alpha=.5", Alpha(Fraction(1, 2))),
        (".5GiB", Amount(2**29)),
        (".5%", Share(Fraction(1, 200))),
    ],
)
def test_each_form_of_memory_is_read_exactly(text: str, memory: Memory) -> None:
    assert parse_memory(text) == memory


def test_an_integer_is_a_number_of_bytes() -> None:
    assert parse_memory(4096) == Amount(4096)


def test_memory_that_has_been_read_stays_as_it_is() -> None:
    share = Share(Fraction(1, 3))
    assert parse_memory(share) is share


def test_memory_without_a_unit_is_refused_and_the_message_shows_all_forms() -> None:
    with pytest.raises(InputError) as info:
        parse_memory("4096")
    assert str(info.value) == (
        "memory: '4096' has no unit; "
        "write an amount (4GiB or 4G; 4GB, MB and kB are powers of 1000), a share of the no-saving "
        "peak (60%), alpha=0.2, or "
        "card=96GiB:resident=3GiB"
    )


@pytest.mark.parametrize(
    "text", ["", "lots", "-5%", "-4GiB", "60 percent", "alpha=-0.1", "alpha=", "alpha=x", "nan%"]
)
def test_text_that_is_none_of_the_three_forms_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^memory: .*; write an amount"):
        parse_memory(text)


def test_a_ratio_above_one_is_refused() -> None:
    with pytest.raises(InputError, match=r"^memory: alpha = 6/5; write a ratio from 0 to 1$"):
        parse_memory("alpha=1.2")


@pytest.mark.parametrize("value", [4096.0, True, None, b"4GiB"])
def test_memory_of_another_type_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"^memory: .* is not text"):
        parse_memory(value)  # type: ignore[arg-type]


def test_a_negative_number_of_bytes_is_refused() -> None:
    with pytest.raises(InputError, match=r"^memory: -1 is negative"):
        parse_memory(-1)


def test_a_negative_share_is_refused() -> None:
    with pytest.raises(InputError, match=r"^memory: -1/2 is negative"):
        Share(Fraction(-1, 2))


def test_a_share_beyond_what_the_models_hold_is_refused() -> None:
    assert parse_memory("400%") == Share(Fraction(4))
    with pytest.raises(InputError, match=r"^memory: 400.1% of the no-saving peak"):
        parse_memory("400.1%")


@pytest.mark.parametrize(
    ("memory", "text"),
    [
        (Amount(3 * 2**29), "1.50 GiB"),
        (Share(Fraction(3, 5)), "60%"),
        (Alpha(Fraction(1, 5)), "alpha=0.2"),
    ],
)
def test_memory_is_written_as_people_write_it(memory: Memory, text: str) -> None:
    assert str(memory) == text


@pytest.mark.parametrize(
    ("problem", "instance", "link"),
    [
        (jt.RematChain, "resnet18-b4-224-cpu", {}),
        (jt.RematOffloadChain, "resnet18-b4-224-cpu", {"bandwidth": "12GB/s"}),
        (jt.WeightOffload, "resnet18-b4-224-cpu", {"bandwidth": "12GB/s"}),
        (jt.RematGraph, "resnet18-graph-b8-64-cpu", {}),
        (jt.RematSharding, "encoder-4l-mesh1x4", {}),
        (jt.MultiModelTraining, "vit-x8", {}),
    ],
)
def test_a_percentage_without_its_sign_is_not_taken_for_bytes(
    problem: Callable[..., Any], instance: str, link: dict[str, str]
) -> None:
    loaded = jt.load(instance)
    with pytest.raises(InputError, match=r'memory: 50 is a number of bytes.*write "50%" for'):
        problem(loaded, memory=50, **link)
    assert problem(loaded, memory="50 B", **link).memory_bytes == 50
    assert problem(loaded, memory=101, **link).memory_bytes == 101
