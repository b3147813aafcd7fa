"""Gradients of other sizes than the outputs: every method against the brute forces, and the replay.

Gradients are absent, of no size, smaller, or larger than the outputs, up to several times the
largest output.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from jettison import Chain, RematChain, ScheduleClass, solve
from jettison.instances.remat_chain.smaller_gradients import (
    has_larger_gradients,
    with_smaller_gradients,
)
from jettison.remat_chain import ChainSchedule
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.contents_search import search_fastest, search_smallest
from jettison.solvers.remat_chain.methods import METHODS
from jettison.solvers.remat_chain.proof.drop_steps import DropSteps
from jettison.solvers.remat_chain.proof.persistent_steps import PersistentSteps
from jettison.solvers.remat_chain.rotor import solve_rotor_curve
from jettison.solvers.remat_chain.rotor_drops import solve_rotor_drops_curve
from tests.certificates.chain_claims import ChainClaims
from tests.drawing.chains import chain_of, random_chain, with_random_gradients
from tests.remat_chain.oracles.brute_force import Front, fastest_in, persistent_front
from tests.remat_chain.oracles.drop_referee import Referee
from tests.remat_chain.oracles.drops_brute_force import (
    persistent_trade_off_with_drops,
    trade_off_with_drops,
)
from tests.remat_chain.random_sequences import random_sequence

HEURISTICS = ("store-all", "revolve", "periodic", "chen-sqrt", "recompute-all")
# A persistent schedule runs F_all 1 before B 2: after it, the gradient of a^1, of 6 bytes, leaves
# 4 bytes of 10, and F 1 needs 3 + 3 of them. F 2 needs 1 + 8 bytes beside a^1, so that stage 1
# cannot have been saved on the way.
PLAIN = chain_of(0, (1, 1, 3, 3, 0), (1, 0, 1, 8, 0))
LARGER = replace(PLAIN, stages=(replace(PLAIN.stages[0], output_gradient_bytes=6), PLAIN.stages[1]))


class Judged(NamedTuple):
    """A chain, and its trade-offs between memory and time by brute force."""

    chain: Chain
    persistent: Front
    with_drops: Front
    all_schedules: Front

    @property
    def memories(self) -> range:
        return range(self.all_schedules[-1][0] - 1, self.chain.store_all_peak_bytes + 2)


@cache
def judged(seed: int, count: int) -> tuple[Judged, ...]:
    return tuple(_judged(seed, count))


def _judged(seed: int, count: int) -> Iterator[Judged]:
    generator = random.Random(seed)
    for number in range(count):
        chain = random_chain(generator, generator.choice((1, 2, 2, 3, 3, 4)))
        chain = with_random_gradients(generator, chain, (3, 14)[number % 2])
        yield Judged(
            chain,
            persistent_front(chain),
            persistent_trade_off_with_drops(chain),
            trade_off_with_drops(chain),
        )


def random_schedule(generator: random.Random, chain: Chain) -> ChainSchedule:
    sequence = random_sequence(len(chain), generator, transfers=False, drops=True)
    return ChainSchedule(tuple(sequence))


def test_all_schedules_are_searched_to_the_end() -> None:
    for item in judged(1, 400):
        chain = item.chain
        for memory in item.memories:
            best = fastest_in(item.all_schedules, memory)
            found = search_fastest(RematChain(chain, memory))
            assert found.is_complete
            assert (found.schedule is None) == (best is None), (chain, memory)
            if found.schedule is not None:
                replay = found.schedule.replay(chain, memory)
                assert replay.valid, (chain, memory)
                assert replay.time_ns == best == found.lower_bound, (chain, memory)
        smallest = search_smallest(chain, chain.store_all_peak_bytes + 1)
        assert smallest.lower_bound == item.all_schedules[-1][0], chain


@pytest.mark.parametrize(
    ("method", "front"),
    [("rotor", "persistent"), ("rotor-exact", "persistent"), ("rotor-drops", "with_drops")],
)
def test_persistent_programs_are_exact_or_honest_brackets(method: str, front: str) -> None:
    exact = brackets = 0
    for item in judged(1, 400):
        chain = item.chain
        is_larger = has_larger_gradients(chain)
        for memory in item.memories[:: 1 + len(item.memories) // 4]:
            result = solve(RematChain(chain, memory), method, gap=0)
            best = fastest_in(getattr(item, front), memory)
            # A class that holds the persistent schedules is no slower than they are.
            persistent = fastest_in(item.persistent, memory)
            least = min((time for time in (best, persistent) if time is not None), default=None)
            if best is None:
                assert result.time_ns is None, (chain, memory)
                continue
            assert result.infeasibility is None, (chain, memory)
            for bound in result.bounds:
                within = bound.valid_for is not ScheduleClass.ALL
                limit = least if within else fastest_in(item.all_schedules, memory)
                assert limit is not None
                assert bound.time_ns <= limit, (chain, memory, bound)
            if not is_larger:
                assert result.time_ns == best, (chain, memory)
                assert result.status.startswith("optimal"), (chain, memory)
                exact += 1
            else:
                assert result.time_ns is None or result.time_ns >= best, (chain, memory)
                brackets += result.time_ns != best
    assert exact > 200
    # Where gradients are larger the programs miss the best schedule at times.
    assert brackets < exact / 50


def test_bounds_exact_times_and_heuristics_are_in_this_order() -> None:
    found = 0
    for item in judged(2, 400):
        chain = item.chain
        for memory in item.memories[:: 1 + len(item.memories) // 3]:
            best = fastest_in(item.all_schedules, memory)
            persistent = fastest_in(item.persistent, memory)
            problem = RematChain(chain, memory)
            bound = solve(problem, "cut-bound")
            if best is None:
                assert solve(problem, "unrestricted").status == "infeasible"
                continue
            assert bound.infeasibility is None
            assert all(item.time_ns <= best for item in bound.bounds), (chain, memory)
            assert solve(problem, "unrestricted", gap=0).time_ns == best, (chain, memory)
            for method in HEURISTICS:
                time_ns = solve(problem, method).time_ns
                if time_ns is not None:
                    assert persistent is not None
                    assert best <= persistent <= time_ns, (chain, memory, method)
                    found += 1
    assert found > 1000


def test_no_method_is_left_out() -> None:
    tested = {"unrestricted", "rotor-exact", "rotor", "rotor-drops", "cut-bound", *HEURISTICS}
    assert {method.name for method in METHODS} == tested


def test_the_peaks_of_the_baselines_are_those_of_their_replays() -> None:
    for item in judged(2, 400):
        chain = item.chain
        for method, peak_bytes in (
            ("store-all", chain.store_all_peak_bytes),
            ("recompute-all", chain.recompute_all_peak_bytes),
        ):
            replay = solve(RematChain(chain, peak_bytes), method).replay
            assert replay is not None
            assert replay.peak_bytes == peak_bytes, (chain, method)


def test_the_replay_agrees_with_a_second_judge() -> None:
    generator = random.Random(3)
    for item in judged(3, 400):
        schedule = random_schedule(generator, item.chain)
        replay = schedule.replay(item.chain)
        words = [(str(operation.kind), operation.stage) for operation in schedule.operations]
        judge = Referee(item.chain, words)
        assert (replay.time_ns, replay.peak_bytes) == (judge.time_ns, judge.peak_bytes), item.chain
        assert str(replay.schedule_class) == judge.schedule_class


@pytest.mark.parametrize(
    ("claims", "front"),
    [
        (ChainClaims("persistent-bellman", "persistent", PersistentSteps), "persistent"),
        (ChainClaims("drops-bellman", "persistent with drops", DropSteps), "with_drops"),
    ],
    ids=["persistent", "drops"],
)
def test_certificates_prove_the_optimum_of_smaller_gradients_and_no_more(
    tmp_path: Path, claims: ChainClaims, front: str
) -> None:
    proved = 0
    for item in judged(4, 120):
        smaller = with_smaller_gradients(item.chain)
        fronts = {
            "persistent": persistent_front(smaller),
            "with_drops": persistent_trade_off_with_drops(smaller),
        }
        for memory in item.memories[:: 1 + len(item.memories) // 3]:
            best = fastest_in(fronts[front], memory)
            true = fastest_in(getattr(item, front), memory)
            assert claims.holds(tmp_path, item.chain, memory, best), (item.chain, memory)
            if best is None:
                assert true is None
                continue
            assert true is None or best <= true
            assert not claims.holds(tmp_path, item.chain, memory, best + 1)
            assert not claims.holds(tmp_path, item.chain, memory, None)
            proved += best > item.chain.base_time_ns
    assert proved > 20


def test_smaller_gradients_change_no_backward_and_lessen_forwards() -> None:
    generator = random.Random(5)
    lessened = 0
    for item in judged(5, 400):
        chain, smaller = item.chain, with_smaller_gradients(item.chain)
        assert not has_larger_gradients(smaller)
        assert (smaller == chain) == (not has_larger_gradients(chain))
        schedule = random_schedule(generator, chain)
        before, after = schedule.replay(chain), schedule.replay(smaller)
        assert after.peak_bytes <= before.peak_bytes, chain
        assert (after.time_ns, after.schedule_class) == (before.time_ns, before.schedule_class)
        lessened += after.peak_bytes < before.peak_bytes
    assert lessened > 5


@pytest.mark.parametrize("method", ["rotor", "rotor-exact"])
def test_with_a_larger_gradient_no_persistent_schedule_is_denied(method: str) -> None:
    # By hand: F_ck 1, F_all 2, F_all 1, B 2, B 1 fit into 10 bytes, for 3 + 2 ns.
    assert fastest_in(persistent_front(LARGER), 10) == 5
    result = solve(RematChain(LARGER, 10), method)
    assert (result.schedule, result.infeasibility) == (None, None)
    assert result.note is not None
    assert "larger than outputs" in result.note
    # The search over all schedules has no order of its own.
    best = solve(RematChain(LARGER, 10), "unrestricted")
    assert (best.time_ns, best.status) == (5, "optimal")
    # From that schedule the program proves what it can, and does not contradict it.
    again = solve(RematChain(LARGER, 10), method, start=best.schedule)
    assert all(bound.time_ns <= 5 for bound in again.bounds)
    # A byte less is too little for any schedule, which is proved.
    assert fastest_in(trade_off_with_drops(LARGER), 9) is None
    assert solve(RematChain(LARGER, 9), method).infeasibility is not None


def test_with_a_drop_the_program_has_a_schedule_there() -> None:
    # F_ck 1, F_all 2, D 1, F_all 1, B 2, B 1: a drop lets the same order be one of its class.
    result = solve(RematChain(LARGER, 10), "rotor-drops")
    assert (result.time_ns, result.status) == (5, "optimal")


def test_several_memories_of_a_chain_with_larger_gradients_are_solved_one_by_one() -> None:
    problems = [RematChain(LARGER, memory) for memory in (9, 10, 11, 12, 13)]
    for curve, method in ((solve_rotor_curve, "rotor"), (solve_rotor_drops_curve, "rotor-drops")):
        for problem, outcome in zip(problems, curve(problems, SolveOptions()), strict=True):
            alone = solve(problem, method)
            assert (outcome.schedule is None) == (alone.schedule is None)
            # That of all operations once is added to every answer.
            assert set(outcome.bounds) <= set(alone.bounds)
