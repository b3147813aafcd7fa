"""Rates of devices, as people write them."""

from __future__ import annotations

import pytest

from jettison import InputError
from jettison.instances.profilers.device.rates import A100, V100, DeviceRates, parse_rates


def test_a_device_is_named_in_any_case() -> None:
    assert parse_rates("v100") == parse_rates(" V100 ") == V100
    assert parse_rates("a100") == A100


def test_rates_are_read_with_their_units() -> None:
    assert parse_rates("14TFLOP/s,900GB/s,3us") == DeviceRates(
        flops_per_ns=14_000, bytes_per_ns=900, launch_ns=3_000
    )
    assert parse_rates("0.5 PFLOP/s, 1.5TB/s, 0ns") == DeviceRates(
        flops_per_ns=500_000, bytes_per_ns=1_500, launch_ns=0
    )


def test_an_operation_takes_the_slower_of_computing_and_moving_and_a_launch() -> None:
    rates = DeviceRates(flops_per_ns=10, bytes_per_ns=3, launch_ns=7)
    assert rates.duration_ns(101, 4) == 11 + 7
    assert rates.duration_ns(1, 7) == 3 + 7
    assert rates.duration_ns(0, 0) == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h100",
        "14,900,3",
        "14TFLOP/s",
        "14TFLOP/s,900GB/s",
        "14TFLOP/s,900GB/s,3",
        "14TFLOP/s,900GB/s,3us,1",
        "14TFLOP/s,900GB,3us",
        "-1TFLOP/s,900GB/s,3us",
        "0.5GFLOP/s,900GB/s,3us",
        "14TFLOP/s,900MB/s,3us",
        "14TFLOP/s,900GB/s,-3us",
        "99999999999999PFLOP/s,900GB/s,3us",
    ],
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_rates(text)
