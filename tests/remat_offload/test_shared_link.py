"""Offloading on a link whose directions share a total: replay, bounds and methods."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from jettison import Chain, Link, RematOffloadChain
from jettison.instances.core.link import SharedTotal
from jettison.remat_chain import ChainOperation, ChainOperationKind
from jettison.remat_offload import (
    OffloadSchedule,
    TransferOperation,
    TransferOperationKind,
    Transfers,
)
from jettison.schedules.remat_offload.at_once_replay import AtOnceReplay
from jettison.schedules.remat_offload.shared_replay import SharedLinkReplay
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from jettison.solvers.remat_offload.event_bound import bound_offload_events
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from tests.core.link_time import moved_as_the_link_does
from tests.drawing.chains import random_chain, with_random_gradients
from tests.remat_offload.cases import CHAIN
from tests.remat_offload.oracles.shared_search import SharedSearch
from tests.remat_offload.oracles.unrestricted import OffloadSearch
from tests.remat_offload.sequences import sequence

OPTIONS = SolveOptions(time_limit_s=20, gap=0)
GB = 10**9
BOTH_WAYS = "F_all 1, O 0, O_all 1, D 0, F_all 2, D_all 1, F_all 3, P 0, B 3, P_all 1, B 2, B 1"


def crowded() -> Chain:
    """Return the chain of the cases with a loss that fills the memory."""
    loss = replace(CHAIN.stages[-1], forward_overhead_bytes=4, backward_overhead_bytes=3)
    return replace(CHAIN, stages=(*CHAIN.stages[:-1], loss))


def test_both_directions_at_once_have_half_of_the_total_each() -> None:
    # As on a full-duplex link, ā1 (6 bytes) starts to leave at 4 and F 3 ends at 9, when a0 (1
    # byte) comes back. Of ā1 1 byte is left then: at half a byte per ns each, both end at 11, where
    # B 3 finds the memory that it waits for.
    replay = sequence(BOTH_WAYS).replay(crowded(), Link.half_duplex(GB), memory_bytes=16)
    assert replay.valid
    assert [(item.start_ns, item.end_ns) for item in replay.transfers[1:3]] == [(4, 11), (9, 11)]
    assert replay.steps[3].start_ns == 11
    # With three quarters of a byte each, 1 byte takes 4/3 ns: until 10.33, rounded up.
    link = Link(GB, SharedTotal(3 * GB // 2))
    replay = sequence(BOTH_WAYS).replay(crowded(), link, memory_bytes=16)
    assert [(item.start_ns, item.end_ns) for item in replay.transfers[1:3]] == [(4, 11), (9, 11)]
    # Alone again, ā1 comes back at the full rate.
    assert replay.transfers[3].end_ns - replay.transfers[3].start_ns == 6


def random_transfers(generator: random.Random, chain: Chain) -> OffloadSchedule:
    """Draw the step that saves everything, with copies, drops and recomputations thrown in."""
    count = len(chain)
    kinds = ChainOperationKind
    operations: list[ChainOperation | TransferOperation] = [
        *(ChainOperation(kinds.FORWARD_ALL, stage) for stage in range(1, count + 1)),
        *(ChainOperation(kinds.BACKWARD, stage) for stage in range(count, 0, -1)),
    ]
    for _ in range(generator.randint(0, 5)):
        stage, suffix = generator.randint(0, count), generator.choice(("", "_all"))
        places = sorted(generator.sample(range(len(operations) + 3), 3))
        for place, letter in zip(places, "ODP", strict=True):
            kind = TransferOperationKind(letter + suffix)
            operations.insert(place, TransferOperation(kind, stage))
    if generator.random() < 0.3:
        for _ in range(3):
            stage, kind = generator.randint(1, count), generator.choice(list(kinds))
            operations.insert(generator.randint(0, len(operations)), ChainOperation(kind, stage))
    return OffloadSchedule(tuple(operations))


def test_where_nothing_is_shared_it_is_the_replay_of_a_full_duplex_link() -> None:
    generator = random.Random(41)
    valid = 0
    for case in range(1500):
        chain = random_chain(generator, generator.randint(1, 4))
        if case % 2:
            chain = with_random_gradients(generator, chain, 6)
        operations = random_transfers(generator, chain).operations
        rate = generator.choice((3, 5, 7, 10, 20)) * GB // 10
        memory_bytes = generator.choice(
            (None, chain.store_all_peak_bytes - generator.randint(0, 3))
        )
        alone = AtOnceReplay(chain, Link(rate), memory_bytes).run(operations)
        shared = SharedLinkReplay(chain, Link(rate, SharedTotal(2 * rate)), memory_bytes)
        assert shared.run(operations) == alone, case
        valid += alone.valid
    assert valid > 100


def test_transfers_take_what_the_link_gives_them() -> None:
    generator = random.Random(42)
    overlapping = 0
    for case in range(600):
        chain = random_chain(generator, generator.randint(2, 4))
        link = Link(GB, SharedTotal(generator.choice((10, 13, 17)) * GB // 10))
        schedule = random_transfers(generator, chain)
        replay = schedule.replay(chain, link, memory_bytes=chain.store_all_peak_bytes)
        assert moved_as_the_link_does(replay, link), case
        full = schedule.replay(chain, link.full_duplex, memory_bytes=chain.store_all_peak_bytes)
        overlapping += full.transfers != replay.transfers
    assert overlapping > 30


@cache
def judged() -> tuple[tuple[RematOffloadChain, int], ...]:
    """Return tiny problems on shared links, with the least time of their schedules."""
    generator = random.Random(43)
    found = []
    for number in range(60):
        chain = random_chain(generator, 1 + number % 2, largest_output_bytes=3)
        least, peak = least_memory_with_offloading(chain), chain.store_all_peak_bytes
        memory_bytes = generator.randint(least, max(least, peak - 1))
        alone, together = generator.choice(((1, 1), (2, 2), (2, 3)))
        link = Link(alone * GB, SharedTotal(together * GB))
        fastest_ns = SharedSearch(chain, memory_bytes, alone, together).fastest()
        assert fastest_ns is not None
        found.append((RematOffloadChain(chain, memory_bytes, link), fastest_ns))
    return tuple(found)


def test_a_shared_link_is_never_faster() -> None:
    for problem, fastest_ns in judged():
        rate = problem.link.bytes_per_ns
        full_ns = OffloadSearch(problem.instance, problem.memory_bytes, rate).fastest()
        assert full_ns is not None
        assert full_ns <= fastest_ns


@pytest.mark.parametrize("transfers", list(Transfers))
def test_no_schedule_is_faster_than_a_bound(transfers: Transfers) -> None:
    for problem, fastest_ns in judged()[::2]:
        posed = replace(problem, transfers=transfers)
        for bound_of in (bound_offload_cut, bound_offload_events):
            for bound in bound_of(posed, OPTIONS).bounds:
                assert bound.time_ns <= fastest_ns, (bound, problem)


@pytest.mark.parametrize("method", ["pofo", "autocapper", "opportunist", "offload-all"])
def test_no_method_is_faster_than_the_search(method: str) -> None:
    reached = 0
    for problem, fastest_ns in judged()[::3]:
        result = solve_with(problem, method, OPTIONS)
        if result.time_ns is not None:
            assert result.time_ns >= fastest_ns
            reached += result.time_ns == fastest_ns
    assert reached
