from __future__ import annotations

import pytest

from jettison import InputError, Link, RematChain, RematOffloadChain
from jettison.remat_offload import Transfers
from tests.tiny import LADDER, UNEVEN


@pytest.mark.parametrize("memory", [50, "60%", "alpha=0.2"])
def test_memory_means_what_it_means_without_a_link(memory: str | int) -> None:
    with_link = RematOffloadChain(UNEVEN, memory, "1GB/s")
    assert with_link.memory_bytes == RematChain(UNEVEN, memory).memory_bytes


def test_transfers_are_at_once_unless_said_otherwise() -> None:
    assert RematOffloadChain(UNEVEN, 50, 10).transfers is Transfers.AT_ONCE
    assert RematOffloadChain(UNEVEN, 50, 10, "fluid").transfers is Transfers.FLUID
    assert RematOffloadChain(UNEVEN, 50, 10).link == Link(10)


def test_bad_input_names_the_field() -> None:
    with pytest.raises(InputError, match="instance"):
        RematOffloadChain(LADDER, 50, 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="bandwidth"):
        RematOffloadChain(UNEVEN, 50, "10")
    with pytest.raises(InputError, match="at-once, fluid"):
        RematOffloadChain(UNEVEN, 50, 10, "slow")
    with pytest.raises(InputError, match="memory"):
        RematOffloadChain(UNEVEN, "much", 10)
