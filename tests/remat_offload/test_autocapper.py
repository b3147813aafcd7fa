"""capper and autocapper: by hand, and against what they must never lose to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from jettison import Chain, Link, RematOffloadChain, solve
from jettison.remat_offload import OffloadSchedule, Transfers
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.result import replay_schedule
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.memory_grid import Bracket
from jettison.solvers.remat_chain.rotor import persistent_curve
from jettison.solvers.remat_offload import autocapper
from jettison.solvers.remat_offload.autocapper import (
    AutocapperParams,
    capper_gaps,
    capper_memories,
    solve_autocapper,
)
from jettison.solvers.remat_offload.tensor_lifetimes import Gap, TensorLifetimes
from tests.drawing.chains import chain_of, random_chain
from tests.remat_offload.cases import LINKS, offload_cases
from tests.remat_offload.sequences import sequence
from tests.tiny import UNIFORM

INPUT = Tensor(TensorKind.PLAIN, 0)
SAVED_1 = Tensor(TensorKind.SAVED, 1)
SAVED_2 = Tensor(TensorKind.SAVED, 2)

# Three equal layers that save 2 bytes, with outputs and an input of 1 byte, and a loss of 3.
CHAIN = chain_of(1, (5, 1, 2, 0, 0), (5, 1, 2, 0, 0), (5, 1, 2, 0, 0), (1, 0, 3, 0, 0))
SAVING = TensorLifetimes(
    CHAIN, sequence("F_all 1, F_all 2, F_all 3, F_all 4, B 4, B 3, B 2, B 1").computations
)


def test_capper_offloads_the_lowest_stage_from_the_first_largest_need() -> None:
    # a0 1, ā1-ā3 2 each, ā4 3: 10, and δ3 1: 11 at the backward of the loss. After it 8, B 3 takes
    # δ2: 9, B 2 6 - 3 + 1, ...
    assert SAVING.needs_bytes == [3, 5, 7, 10, 11, 9, 7, 5]
    # Not read there: a0, ā1 and ā2. a0 is enough for 10 bytes.
    input_gap, first_gap = Gap(INPUT, 0, 7), Gap(SAVED_1, 1, 6)
    assert capper_gaps(SAVING, 11) == []
    assert capper_gaps(SAVING, 10) == [input_gap]
    # For 9 ā1 goes as well; it is 2 bytes.
    assert capper_gaps(SAVING, 9) == [input_gap, first_gap]
    assert capper_gaps(SAVING, 8) == [input_gap, first_gap]
    # Without them: 3, 4, 4, 7, 8, 6, 6 (ā1 is read by B 2), 5. Then ā2, from F 3 to B 3.
    assert capper_gaps(SAVING, 7) == [input_gap, first_gap, Gap(SAVED_2, 2, 5)]
    # 3, 4, 4, 5, 6, 6, 6, 5: nothing else is unused at B 4.
    assert capper_gaps(SAVING, 6) == [input_gap, first_gap, Gap(SAVED_2, 2, 5)]
    assert capper_gaps(SAVING, 5) is None


def test_the_memories_go_from_what_there_is_to_what_saving_everything_takes() -> None:
    # 11 bytes save everything.
    memories = capper_memories(CHAIN, 7)
    assert len(memories) == 40
    assert (memories[0], memories[-1]) == (7, 11)
    assert memories == sorted(memories)
    assert set(capper_memories(CHAIN, 20)) == {20}


def test_a_fast_link_leaves_no_recomputation() -> None:
    # In 7 bytes everything is saved, and three tensors leave: 1000 bytes per ns take 1 ns each.
    problem = RematOffloadChain(CHAIN, 7, Link(10**12))
    result = solve(problem, "autocapper")
    assert result.time_ns is not None
    assert CHAIN.base_time_ns <= result.time_ns <= CHAIN.base_time_ns + 6
    rotor = solve(problem, "rotor")
    assert rotor.time_ns is not None
    # Without the link a forward of 5 ns has to be repeated at least.
    assert rotor.time_ns >= CHAIN.base_time_ns + 5


def test_a_slow_link_is_not_used() -> None:
    # A byte takes a second.
    problem = RematOffloadChain(CHAIN, 7, Link(1))
    result = solve(problem, "autocapper")
    assert result.time_ns == solve(problem, "rotor").time_ns
    assert result.replay is not None
    assert result.replay.transfers == ()


def test_it_can_fit_where_no_schedule_without_transfers_does() -> None:
    problem = RematOffloadChain(CHAIN, 6, "1GB/s")
    fits = [size for size in range(12) if _solved(replace(problem, memory=size), "rotor")]
    capped = [size for size in range(12) if _solved(replace(problem, memory=size), "autocapper")]
    assert min(capped) < min(fits)


def _solved(problem: RematOffloadChain, method: str) -> bool:
    return solve(problem, method).schedule is not None


@pytest.mark.parametrize("transfers", Transfers)
def test_it_is_never_slower_than_the_schedule_without_transfers(transfers: Transfers) -> None:
    generator = random.Random(7)
    for _ in range(25):
        chain = random_chain(generator, generator.randint(2, 8))
        memory_bytes = generator.randint(1, chain.store_all_peak_bytes + 1)
        problem = RematOffloadChain(chain, memory_bytes, generator.choice(LINKS), transfers)
        capped, alone = solve(problem, "autocapper"), solve(problem, "rotor")
        if alone.time_ns is not None:
            assert capped.time_ns is not None
            assert capped.time_ns <= alone.time_ns


def test_fluid_transfers_cost_no_more_than_transfers_at_once() -> None:
    generator = random.Random(8)
    for _ in range(25):
        chain = random_chain(generator, generator.randint(2, 8))
        memory_bytes = generator.randint(1, chain.store_all_peak_bytes)
        at_once = RematOffloadChain(chain, memory_bytes, generator.choice(LINKS))
        fluid = replace(at_once, transfers=Transfers.FLUID)
        slow, fast = solve(at_once, "autocapper"), solve(fluid, "autocapper")
        if slow.time_ns is not None:
            assert fast.time_ns is not None
            assert fast.time_ns <= slow.time_ns


def test_the_needs_are_met_whenever_gaps_are_found() -> None:
    for _, case in offload_cases(seed=9, count=100):
        gaps = capper_gaps(case.lifetimes, case.memory_bytes)
        needs = list(case.lifetimes.needs_bytes)
        for gap in gaps or ():
            for position in range(gap.start + 1, gap.end):
                needs[position] -= gap.tensor.size_bytes(case.chain)
        assert gaps is None or max(needs) <= case.memory_bytes


def test_more_memory_can_cost_it_time() -> None:
    # Found by search. All 40 sizes of memory are other ones, and so are the sequences between them.
    chain = chain_of(
        3,
        (9, 9, 21, 0, 0),
        (9, 8, 16, 2, 0),
        (1, 10, 23, 2, 1),
        (9, 9, 11, 2, 2),
        (9, 5, 7, 2, 0),
        (3, 2, 5, 2, 1),
        (8, 1, 16, 2, 2),
        (1, 11, 11, 1, 0),
        (1, 0, 1, 0, 0),
    )
    problem = RematOffloadChain(chain, 67, "1GB/s")
    times = [solve(replace(problem, memory=size), "autocapper").time_ns for size in (67, 68)]
    assert times == [85, 86]


def test_progress_is_told_and_ctrl_c_keeps_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[Progress] = []
    problem = RematOffloadChain(UNIFORM, 12, "1GB/s")

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(autocapper, "offer_capped", interrupted)
    outcome = solve_autocapper(problem, SolveOptions(on_progress=told.append))
    assert outcome.termination is Termination.INTERRUPTED
    assert isinstance(outcome.schedule, OffloadSchedule)
    assert told[-1].time_ns == replay_schedule(problem, outcome.schedule).time_ns


def test_its_table_is_as_coarse_as_memory_demands(monkeypatch: pytest.MonkeyPatch) -> None:
    # 7 stages have 28 rows; 200 slots are 201 entries of 8 bytes in each.
    asked: list[int] = []

    def noted(chain: Chain, memories: Sequence[int], slots: int, *rest: Any) -> list[Bracket]:
        asked.append(slots)
        return persistent_curve(chain, memories, slots, *rest)

    monkeypatch.setattr(autocapper, "persistent_curve", noted)
    outcome = solve_autocapper(
        RematOffloadChain(UNIFORM, 12, "1GB/s"),
        SolveOptions(),
        AutocapperParams(largest_table_bytes=28 * 201 * 8),
    )
    assert outcome.termination is Termination.COMPLETED
    assert asked == [200]


def test_a_time_limit_ends_the_search() -> None:
    problem = RematOffloadChain(UNIFORM, 12, "1GB/s")
    outcome = solve_autocapper(problem, SolveOptions(time_limit_s=1e-9))
    assert outcome.termination is Termination.TIME_LIMIT
