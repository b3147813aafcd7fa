"""The schedule that fits wherever any does."""

from __future__ import annotations

import random

from jettison import RematOffloadChain, solve
from jettison.schedules.core.replay import Rule
from jettison.solvers.core.result import replay_schedule
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from jettison.solvers.remat_offload.offload_everything import offload_everything
from tests.drawing.chains import chain_of, random_chain
from tests.tiny import CHAINS, UNIFORM


def test_it_attains_the_least_memory_that_was_proved_to_be_needed() -> None:
    generator = random.Random(8)
    chains = [*CHAINS, *(random_chain(generator, 1 + k % 6) for k in range(200))]
    for chain in chains:
        least = least_memory_with_offloading(chain)
        replay = replay_schedule(
            RematOffloadChain(chain, least, "1GB/s"), offload_everything(chain)
        )
        assert replay.valid
        assert replay.peak_bytes == least


def test_the_loss_alone_does_not_wait_for_a_copy_of_its_input() -> None:
    # Beside a0, 8 bytes, the loss takes 3 bytes, which hold its output: 11 in all. The copy of a0
    # at 1 byte per s would keep a0 in memory, and the output beside it takes 8.
    chain = chain_of(8, (9, 0, 0, 0, 3), holds_gradient=True)
    result = solve(RematOffloadChain(chain, 11, 1), "offload-all")
    assert result.time_ns == chain.base_time_ns


def test_in_less_memory_it_is_refused_for_all_schedules() -> None:
    least = least_memory_with_offloading(UNIFORM)
    problem = RematOffloadChain(UNIFORM, least - 1, "1GB/s")
    assert solve(problem, "offload-all").status == "infeasible"
    replay = replay_schedule(problem, offload_everything(UNIFORM))
    assert {violation.rule for violation in replay.violations} == {Rule.OUT_OF_MEMORY}


def test_a_chain_of_one_layer_is_worked_out_by_hand() -> None:
    # Forwards of 2 and 1 ns, backwards of 1 ns; a0 and a1 take 1 byte, ā1 2, a byte per ns.
    chain = chain_of(1, (2, 1, 2, 0, 0), (1, 0, 0, 0, 0))
    result = solve(RematOffloadChain(chain, 100, "1GB/s"), "offload-all")
    # F_ck 1 0-2; a1 leaves 2-3 and comes back 3-4 beside F_all 1, 2-4, whose ā1 leaves 4-6. The
    # loss 4-5 and 5-6, beside which a0 comes back; ā1 6-8; B 1 8-9.
    assert result.time_ns == 9
    assert result.replay is not None
    assert [(item.operation, item.start_ns, item.end_ns) for item in result.replay.transfers] == [
        ("O 0", 0, 1),
        ("O 1", 2, 3),
        ("O_all 1", 4, 6),
        ("P 1", 3, 4),
        ("P 0", 5, 6),
        ("P_all 1", 6, 8),
    ]
