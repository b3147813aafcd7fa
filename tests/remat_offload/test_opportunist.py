"""opportunist, by hand and where it has no schedule."""

from __future__ import annotations

import random

import pytest

from jettison import Chain, Link, RematOffloadChain, solve
from jettison.remat_chain import Stage
from jettison.remat_offload import Transfers
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.solvers.remat_offload.opportunist import opportunist_plan
from tests.drawing.chains import chain_of, random_chain
from tests.remat_offload.cases import BYTE_PER_NS, LINKS
from tests.remat_offload.sequences import sequence


def _layers(count: int) -> Chain:
    """Layers of 2 + 2 ns with outputs of 1 byte that save 2, an input of 1 byte, a free loss."""
    layer = {"forward_ns": 2, "backward_ns": 2, "output_bytes": 1, "saved_bytes": 2}
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0)
    return Chain("l", 1, (*(Stage(name=f"s{k}", **layer) for k in range(count)), loss))


INPUT = Tensor(TensorKind.PLAIN, 0)
SAVED_1 = Tensor(TensorKind.SAVED, 1)


def test_a_group_lasts_as_long_as_its_copies_are_on_their_way() -> None:
    # The last m layers are saved in 1 + 2 m + 2 bytes beside their input: the backward of the last
    # layer finds 1 + 2 m, δ, and makes another. Four layers take 11 bytes, two 7.
    # F 1 0-2: the link has a0 from 0 to 1, ā1 from 2 to 4. At 2, three layers do not fit beside ā1:
    # F 2 runs without being saved. Then two fit: the tail is 3, 4 and the loss, and its input a2
    # stays. Beside a0 and ā1 there are 4 bytes for layer 2, which needs 4.
    chain = _layers(4)
    plan = opportunist_plan(chain, BYTE_PER_NS, 7)
    assert plan is not None
    assert (
        plan.computations
        == sequence(
            "F_all 1, F_ck 2, F_all 3, F_all 4, F_all 5, B 5, B 4, B 3, F_all 2, B 2, B 1"
        ).computations
    )
    assert plan.offloaded == (INPUT, SAVED_1)
    # Forwards until 8. B 4 8-10 fills the memory. ā1 comes back from 10 to 12, while B 3 runs; a0
    # from 12 to 13, while F 2 runs again. B 2 14-16, B 1 16-18.
    result = solve(RematOffloadChain(chain, 7, BYTE_PER_NS), "opportunist")
    assert result.time_ns == 18
    assert result.replay is not None
    assert [(item.operation, item.start_ns) for item in result.replay.transfers] == [
        ("O 0", 0),
        ("O_all 1", 2),
        ("P_all 1", 10),
        ("P 0", 12),
    ]


def test_a_group_has_a_second_stage_however_fast_the_link_is() -> None:
    # A copy takes 1 ns: ā1 is on its way from 2 to 3, when F 2 starts at 2, but not at 4.
    plan = opportunist_plan(_layers(6), Link(10**12), 7)
    assert plan is not None
    assert (
        plan.computations
        == sequence(
            "F_all 1, F_ck 2, F_all 3, F_ck 4, F_all 5, F_all 6, F_all 7, B 7, B 6, B 5, "
            "F_all 4, B 4, B 3, F_all 2, B 2, B 1"
        ).computations
    )
    a2, saved_3 = Tensor(TensorKind.PLAIN, 2), Tensor(TensorKind.SAVED, 3)
    assert plan.offloaded == (a2, saved_3, INPUT, SAVED_1)


def test_stages_without_a_size_are_groups_of_their_own() -> None:
    chain = chain_of(1, (2, 0, 0, 0, 0), (2, 9, 9, 0, 15), (2, 1, 1, 0, 0), (1, 0, 0, 0, 0))
    # a0 leaves from 0 to 1, ā1 has no size: at 2 the link is idle. B 2 takes 9 + 9 + 15 bytes, too
    # many for the tail, so that F 2 starts a group. It reads ā1, and B 3 takes 9 + 1 + 1 + 9.
    plan = opportunist_plan(chain, BYTE_PER_NS, 25)
    assert plan is not None
    assert (
        plan.computations
        == sequence("F_all 1, F_all 2, F_all 3, F_all 4, B 4, B 3, B 2, B 1").computations
    )
    saved_2 = Tensor(TensorKind.SAVED, 2)
    assert plan.offloaded == (SAVED_1, saved_2, INPUT, SAVED_1)


def test_in_plenty_of_memory_everything_is_the_tail() -> None:
    chain = _layers(4)
    plan = opportunist_plan(chain, BYTE_PER_NS, 11)
    assert plan is not None
    assert plan.offloaded == ()
    assert solve(RematOffloadChain(chain, 11, BYTE_PER_NS), "opportunist").status == "optimal"


def test_it_has_no_schedule_where_no_tail_fits() -> None:
    result = solve(RematOffloadChain(_layers(4), 2, BYTE_PER_NS), "opportunist")
    assert result.status == "not-found"
    assert result.note == "opportunist's sequence does not fit in this memory"


def test_it_has_no_schedule_where_a_group_does_not_fit_beside_its_tensors() -> None:
    # 6 bytes: one layer fits as a tail, 5, and layers 2 and 3 need 4 beside the 3 of a0 and ā1.
    assert opportunist_plan(_layers(4), Link(1), 6) is None


@pytest.mark.parametrize("transfers", Transfers)
def test_what_it_finds_is_confirmed_by_the_replay(transfers: Transfers) -> None:
    generator = random.Random(11)
    found = 0
    for _ in range(80):
        chain = random_chain(generator, generator.randint(2, 9))
        memory_bytes = generator.randint(1, chain.store_all_peak_bytes)
        link = generator.choice(LINKS)
        # A result with a schedule that breaks a rule cannot be made.
        result = solve(RematOffloadChain(chain, memory_bytes, link, transfers), "opportunist")
        if result.time_ns is not None:
            found += 1
            assert result.time_ns >= chain.base_time_ns
        else:
            assert result.note
    assert found > 20
