"""POFO as a method: its plans replayed, its floor, the cut bound, and the fallback."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from fractions import Fraction
from unittest.mock import patch

import pytest

from jettison import Chain, RematOffloadChain, Result, ScheduleClass, solve
from jettison.remat_offload import Transfers
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket, pofo_exact
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets
from jettison.solvers.remat_offload.pofo.phases import ProgramSearch
from jettison.solvers.remat_offload.pofo.program import PofoProgram, Recomputation
from tests.drawing.chains import chain_of, random_chain
from tests.remat_offload.oracles.brute_force import fastest
from tests.remat_offload.oracles.samples import offload_samples
from tests.tiny import UNEVEN

EXACT = SolveOptions(gap=0, time_limit_s=30)
FEW_CHANGES = {"idle_changes": 1}
LONG = random_chain(random.Random(3), 40, largest_output_bytes=20)
LITTLE = (least_memory_with_offloading(LONG) + LONG.store_all_peak_bytes) // 2


def _solve(chain: Chain, memory_bytes: int, rate: int, transfers: Transfers) -> Result:
    return solve_with(RematOffloadChain(chain, memory_bytes, rate, transfers), "pofo", EXACT)


def test_with_fluid_transfers_it_is_the_brute_force_as_the_replay_counts_it() -> None:
    checked = 0
    for sample in offload_samples(11, 150):
        best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        found = _solve(sample.chain, sample.memory_bytes, sample.bytes_per_s, Transfers.FLUID)
        if best is None:
            assert found.status != "optimal-pofo"
            continue
        checked += 1
        # Another schedule, found by the way, may do without POFO's assumptions.
        assert found.replay is not None
        if found.replay.schedule_class is ScheduleClass.POFO:
            assert found.time_ns == -(-best.numerator // best.denominator)
            assert found.status in {"optimal", "optimal-pofo"}
    assert checked > 50


def test_the_replay_of_a_plan_takes_the_time_that_the_program_says() -> None:
    generator = random.Random(2)
    compared = 0
    for _ in range(60):
        chain = random_chain(generator, generator.randint(3, 9), largest_output_bytes=20)
        memory_bytes = generator.randint(
            chain.store_all_peak_bytes // 2, chain.store_all_peak_bytes
        )
        rate = generator.choice([5 * 10**8, 10**9, 2 * 10**9, 7 * 10**9 // 3])
        bracket = pofo_exact(chain, memory_bytes, rate)
        if bracket.plan_ns is None:
            continue
        found = _solve(chain, memory_bytes, rate, Transfers.FLUID)
        assert found.time_ns is not None
        assert Fraction(found.time_ns - 1) < bracket.plan_ns
        # A baseline that is not bound to POFO's assumptions may be faster.
        compared += found.time_ns >= bracket.plan_ns
    assert compared > 20


def test_at_once_is_bracketed_by_the_bounds_and_by_every_heuristic() -> None:
    generator = random.Random(5)
    for _ in range(10):
        chain = random_chain(generator, generator.randint(2, 8), largest_output_bytes=10)
        memory_bytes = generator.randint(
            least_memory_with_offloading(chain), chain.store_all_peak_bytes
        )
        problem = RematOffloadChain(chain, memory_bytes, 10**9)
        found = solve_with(problem, "pofo", EXACT)
        assert found.time_ns is not None
        assert all(bound.time_ns <= found.time_ns for bound in found.bounds)
        capped = solve(problem, "autocapper")
        if capped.time_ns is not None:
            assert found.time_ns <= capped.time_ns


def test_with_fluid_transfers_it_is_no_worse_than_rotor_where_rounding_loses_plans() -> None:
    # Sizes of 10^14 bytes beside a link of less than a byte per ns need more than 60 bits, and what
    # fits to the byte is lost.
    wide = 10**14
    chain = chain_of(0, (9, 0, 0, wide, 0), (9, 1, 1, wide + 1, 2), (9, 0, 0, wide + 1, 0))
    problem = RematOffloadChain(chain, wide + 2, 27_210_884, Transfers.FLUID)
    rotor = solve(problem, "rotor")
    found = solve(problem, "pofo")
    assert rotor.time_ns is not None
    assert found.time_ns is not None
    assert found.time_ns <= rotor.time_ns
    stored = RematOffloadChain(chain, chain.store_all_peak_bytes, 27_210_884, Transfers.FLUID)
    assert solve(stored, "offload-only").time_ns == chain.base_time_ns


@pytest.mark.parametrize("transfers", Transfers)
def test_within_a_short_limit_and_without_good_plans_it_is_no_slower_than_rotor(
    transfers: Transfers,
) -> None:
    generator = random.Random(8)
    compared = 0
    # Chains whose memory is counted to the byte and in slots, with parameters that make bad plans.
    for stages in (6, 20, 36):
        chain = random_chain(generator, stages, largest_output_bytes=50)
        for percent in (30, 75):
            memory_bytes = chain.store_all_peak_bytes * percent // 100
            problem = RematOffloadChain(chain, memory_bytes, 2 * 10**9, transfers)
            rotor = solve(problem, "rotor")
            if rotor.time_ns is None:
                continue
            options = SolveOptions(gap=0, time_limit_s=0.8)
            few = {"most_slots_of_plans": 50, "most_labels": 1, "exact_labels": 1}
            found = solve_with(problem, "pofo", options, few)
            assert found.time_ns is not None
            assert found.time_ns <= rotor.time_ns, (stages, percent)
            compared += 1
    assert compared >= 4


def test_with_transfers_at_once_the_bracket_has_the_time_that_the_plans_leave() -> None:
    problem = RematOffloadChain(LONG, LITTLE, 10**9, Transfers.AT_ONCE)
    left_s: list[float] = []
    refine = PofoBrackets.refine

    def first_time_out(
        brackets: PofoBrackets, options: SolveOptions, clock: Clock
    ) -> Iterator[PofoBracket]:
        left_s.append(clock.left_s)
        if len(left_s) == 1:
            brackets.why_open = "the time ended"
            raise TimeoutError
        yield from refine(brackets, options, clock)

    with (
        patch("jettison.solvers.remat_offload.pofo.method.offer_seeds"),
        patch.object(ProgramSearch, "plans", lambda *_: iter(())),
        patch.object(ProgramSearch, "is_closed", False),
        patch.object(PofoBrackets, "refine", first_time_out),
    ):
        found = solve_with(problem, "pofo", SolveOptions(gap=0, time_limit_s=20), FEW_CHANGES)
    # All but the share of the cut bound, and then the whole.
    assert left_s[0] <= 14 < left_s[1]
    assert any(bound.method == "pofo" for bound in found.bounds)


def test_where_no_plan_fits_everything_is_moved() -> None:
    least = least_memory_with_offloading(UNEVEN)
    found = _solve(UNEVEN, least, 10**9, Transfers.AT_ONCE)
    assert found.schedule is not None
    assert found.peak_bytes == least
    refused = _solve(UNEVEN, least - 1, 10**9, Transfers.AT_ONCE)
    assert refused.status == "infeasible"


@pytest.mark.parametrize("transfers", Transfers)
def test_an_interrupt_keeps_the_best_so_far(transfers: Transfers) -> None:
    with patch.object(PofoProgram, "refine", side_effect=KeyboardInterrupt):
        found = _solve(LONG, LITTLE, 10**9, transfers)
    assert found.termination is Termination.INTERRUPTED
    assert found.schedule is not None


def test_an_interrupt_of_the_bound_leaves_a_schedule_too() -> None:
    stopped = Outcome(termination=Termination.INTERRUPTED)
    with patch(
        "jettison.solvers.remat_offload.pofo.method.bound_offload_cut", return_value=stopped
    ):
        found = _solve(UNEVEN, UNEVEN.store_all_peak_bytes - 1, 10**9, Transfers.AT_ONCE)
    assert found.termination is Termination.INTERRUPTED
    assert found.schedule is not None


def test_a_limit_is_not_said_to_prove_that_nothing_fits() -> None:
    with patch.object(PofoProgram, "refine", side_effect=TimeoutError):
        found = solve(RematOffloadChain(UNEVEN, 30, 1), "offload-only")
    assert found.schedule is None
    assert found.note == "stopped before a schedule that fits was found"


def test_where_no_bracket_ends_in_time_the_other_plans_are_tried() -> None:
    chain = random_chain(random.Random(3), 40, largest_output_bytes=20)
    memory_bytes = (least_memory_with_offloading(chain) + chain.store_all_peak_bytes) // 2
    problem = RematOffloadChain(chain, memory_bytes, 10**9, Transfers.FLUID)
    with patch.object(PofoProgram, "refine", side_effect=TimeoutError):
        found = solve_with(problem, "pofo", EXACT)
    capped = solve(problem, "autocapper")
    assert found.termination is Termination.TIME_LIMIT
    assert found.time_ns is not None
    assert capped.time_ns is not None
    assert found.time_ns <= capped.time_ns


def test_long_chains_are_counted_in_more_slots_while_the_gap_is_open() -> None:
    generator = random.Random(9)
    chain = random_chain(generator, 33, largest_output_bytes=1000)
    memory_bytes = (chain.recompute_all_peak_bytes + chain.store_all_peak_bytes) // 2
    problem = RematOffloadChain(chain, memory_bytes, 10**9, Transfers.FLUID)
    options = SolveOptions(gap=0, time_limit_s=None)
    found = solve_with(problem, "pofo", options, {"most_slots": 200})
    assert found.work["slots"] <= 200
    floor = next(bound for bound in found.bounds if bound.method == "pofo")
    assert floor.valid_for is ScheduleClass.POFO
    assert found.time_ns is not None
    assert floor.time_ns <= found.time_ns


def test_offloading_alone_computes_nothing_twice() -> None:
    generator = random.Random(6)
    for transfers in Transfers:
        for _ in range(20):
            chain = random_chain(generator, generator.randint(2, 7))
            memory_bytes = generator.randint(1, chain.store_all_peak_bytes)
            problem = RematOffloadChain(chain, memory_bytes, 10**9, transfers)
            found = solve(problem, "offload-only")
            if found.replay is not None:
                assert not any(step.repeated for step in found.replay.steps)


class _Sudden(Clock):
    """A clock that runs out after it was asked so often what is left."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    @property
    def left_s(self) -> float:
        self.looks -= 1
        return 60.0 if self.looks >= 0 else 0.0


def test_where_a_program_ends_with_the_time_that_is_a_limit_and_no_error() -> None:
    problem = RematOffloadChain(LONG, LITTLE, 10**8, Transfers.AT_ONCE)
    brackets = PofoBrackets(problem, Recomputation.ALLOWED)
    with pytest.raises(TimeoutError):
        list(brackets.refine(EXACT, _Sudden(looks=1)))
    assert brackets.best.floor_ns is not None
    assert brackets.why_open is not None
    assert brackets.why_open.startswith("the time ended the program with")


def test_no_part_has_more_time_than_is_left_of_the_whole() -> None:
    given: list[float | None] = []

    def late(*_: object) -> None:
        time.sleep(1.6)

    def asked(problem: RematOffloadChain, options: SolveOptions, params: Params) -> Outcome:
        given.append(options.time_limit_s)
        return Outcome(termination=Termination.COMPLETED)

    problem = RematOffloadChain(LONG, LITTLE, 10**8, Transfers.AT_ONCE)
    with (
        patch("jettison.solvers.remat_offload.pofo.method.offer_seeds", late),
        patch("jettison.solvers.remat_offload.pofo.method.bound_offload_cut", asked),
        patch.object(ProgramSearch, "first", lambda *_: iter(())),
    ):
        solve_with(problem, "pofo", SolveOptions(gap=0, time_limit_s=2))
    # Three tenths of the whole would be .6.
    [limit_s] = given
    assert limit_s is not None
    assert limit_s < 0.4


def test_with_transfers_at_once_a_note_says_what_was_timed() -> None:
    found = _solve(UNEVEN, UNEVEN.store_all_peak_bytes - 1, 10**9, Transfers.AT_ONCE)
    assert found.termination is Termination.COMPLETED
    assert found.time_ns is not None
    if found.time_ns > UNEVEN.base_time_ns:
        plans = "all plans for less memory and slower links, exact, were timed"
        assert found.note == f"{plans}; there may be a better one"
    long = random_chain(random.Random(3), 60, largest_output_bytes=10**6)
    problem = RematOffloadChain(long, long.store_all_peak_bytes // 3, 10**9, Transfers.AT_ONCE)
    stopped = solve_with(problem, "pofo", SolveOptions(gap=0, time_limit_s=0.5))
    assert stopped.termination is Termination.TIME_LIMIT
    assert stopped.note is not None
    assert stopped.note.startswith("the time ended")
