"""Schedules without transfers for problems with a link."""

from __future__ import annotations

import random

import pytest

from jettison import RematChain, RematOffloadChain, solve
from jettison.remat_offload import Transfers
from tests.drawing.chains import random_chain
from tests.tiny import UNIFORM


@pytest.mark.parametrize("transfers", Transfers)
def test_rotor_is_the_persistent_optimum_whatever_the_link(transfers: Transfers) -> None:
    generator = random.Random(3)
    for _ in range(20):
        chain = random_chain(generator, generator.randint(1, 6))
        memory_bytes = generator.randint(0, chain.store_all_peak_bytes + 1)
        alone = solve(RematOffloadChain(chain, memory_bytes, "1GB/s", transfers), "rotor")
        exact = solve(RematChain(chain, memory_bytes), "rotor-exact")
        assert alone.time_ns == exact.time_ns
        # No bound without transfers holds with them, nor does a proof that nothing fits.
        assert [bound.method for bound in alone.bounds] == ["base-time"]
        assert alone.infeasibility is None


def test_saving_everything_needs_its_peak() -> None:
    # An input of 1 byte, six layers that save 2, and two gradients of 1: 15 bytes.
    peak = UNIFORM.store_all_peak_bytes
    assert peak == 15
    assert solve(RematOffloadChain(UNIFORM, peak, 1), "store-all").status == "optimal"
    result = solve(RematOffloadChain(UNIFORM, peak - 1, 1), "store-all")
    assert result.status == "not-found"
    assert result.note == "store-all needs 15 B (15 bytes) on this instance"


def test_rotor_names_the_memory_that_it_needs() -> None:
    result = solve(RematOffloadChain(UNIFORM, 3, 1), "rotor")
    assert result.note is not None
    assert result.note.startswith("rotor needs ")
