from __future__ import annotations

from fractions import Fraction

import pytest

from jettison import InputError, Link
from jettison.instances.tensor_programs.device_mesh import DeviceMesh, MeshDimension, v100_mesh

# One byte in two nanoseconds, between four devices.
FOUR = MeshDimension(devices=4, latency_ns=7, link=Link(500_000_000))


def test_collectives_follow_their_formulas() -> None:
    # b = 2 ns, n = 4, B = 1000 bytes: 3/4 of 2000 ns; twice that; (3/16)(4/2) of 2000 ns.
    assert FOUR.all_gather_ns(1000) == 7 + 1500
    assert FOUR.all_reduce_ns(1000) == 7 + 3000
    assert FOUR.all_to_all_ns(1000) == 7 + 750


def test_a_collective_takes_whole_nanoseconds_rounded_up() -> None:
    # 3/4 of one byte at 2 ns is 1.5 ns.
    assert FOUR.all_gather_ns(1) == 7 + 2


def test_one_device_has_nothing_to_send() -> None:
    alone = MeshDimension(devices=1, latency_ns=7, link=Link(1))
    assert alone.all_gather_ns(10) == alone.all_reduce_ns(10) == alone.all_to_all_ns(10) == 0


def test_a_share_takes_its_operations_and_its_bytes_and_one_nanosecond_at_least() -> None:
    mesh = v100_mesh((4,))
    # 28000 operations at 14000 a nanosecond, 4000 bytes at 800 a nanosecond: 2 + 5.
    assert mesh.compute_ns(Fraction(28_000), 4_000) == 7
    assert mesh.compute_ns(Fraction(0), 0) == 1
    # 2 + 0.00125 ns is rounded up.
    assert mesh.compute_ns(Fraction(28_000), 1) == 3


def test_of_two_dimensions_the_first_goes_between_nodes() -> None:
    between, within = v100_mesh((2, 4)).dimensions
    assert (between.latency_ns, between.link) == (30_000, Link(3_500_000_000))
    assert (within.latency_ns, within.link) == (10_000, Link(130_000_000_000))
    assert v100_mesh((4,)).dimensions == (within,)


def test_a_slowdown_divides_bandwidths_and_leaves_latencies() -> None:
    within = v100_mesh((1, 4), slowdown=100).dimensions[1]
    # 3/4 of 52 MB at 1.3 GB/s is 30 ms.
    assert within.all_gather_ns(52_000_000) == 10_000 + 30_000_000


@pytest.mark.parametrize("shape", [(), (2, 2, 2), (0, 4), (2, 5000)])
def test_a_shape_out_of_range_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        v100_mesh(shape)


@pytest.mark.parametrize("slowdown", [0, 10**5])
def test_a_slowdown_out_of_range_is_refused(slowdown: int) -> None:
    with pytest.raises(InputError, match="slowdown"):
        v100_mesh((2, 4), slowdown)


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="flops_per_s"):
        DeviceMesh(dimensions=(FOUR,), flops_per_s=0, memory_bytes_per_s=1)
