"""The cut bound: below every schedule, above the base time, and what each of its parts is worth."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

import pytest
from hypothesis import given

from jettison import Chain, RematChain, ScheduleClass, load
from jettison.formulations.remat_chain.cut import bytes_beside_stage
from jettison.remat_chain import Stage
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.solve import compare_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.cut_bound import ChainCuts, bound_chain_cut
from tests.drawing.chains import even_chain, remat_chains
from tests.drawing.overheads import with_saving_overheads
from tests.remat_chain.oracles.brute_force import fastest, fastest_in
from tests.remat_chain.oracles.drops_brute_force import trade_off_with_drops
from tests.remat_chain.oracles.judged_chains import JudgedChain, judged_chains

OPTIONS = SolveOptions(time_limit_s=None)


def bound_ns(chain: Chain, memory_bytes: int) -> int | None:
    """Return the bound, or None if the method refuses the memory."""
    bounds = bound_chain_cut(RematChain(chain, memory_bytes), OPTIONS).bounds
    return bounds[0].time_ns if bounds else None


@cache
def bounds_of_judged_chains() -> tuple[tuple[JudgedChain, tuple[int | None, ...]], ...]:
    """Return each judged chain with the bound in every memory from 0 to more than is of use."""
    return tuple(
        (judged, tuple(bound_ns(judged.chain, memory) for memory in range(judged.memories().stop)))
        for judged in judged_chains()
    )


def test_what_does_not_fit_beside_one_backward_is_computed_again() -> None:
    # B 2 needs its own 3 bytes, two gradients of 1, and a^1 saved (3) or plain (1): 8 or 6 bytes.
    # In 6 or 7, F 1 runs again after it: 10 ns. That suffices: F_ck 1, F_all 2, F_all 3, B 3, B 2,
    # F_all 1, B 1.
    chain = even_chain(2)
    assert chain.base_time_ns == 40
    assert [bound_ns(chain, memory) for memory in (6, 7, 8)] == [50, 50, 40]
    assert [fastest(chain, memory) for memory in (6, 7, 8)] == [50, 50, 40]


def test_a_cut_adds_what_the_cuts_below_it_force() -> None:
    # In 6 bytes, B 3 leaves room for a^2 and nothing else: F 1 and F 2 run again, 20 ns. Then B 2
    # leaves room for a^1 only, and F 1 runs a third time: 30 ns. That suffices.
    chain = even_chain(3)
    assert bound_ns(chain, 6) == chain.base_time_ns + 30
    assert fastest(chain, 6) == chain.base_time_ns + 30


def test_one_cut_alone_sees_each_stage_run_again_once() -> None:
    # The same chain: each cut on its own proves that F 1 and F 2 run again, and no more.
    cuts = ChainCuts(even_chain(3), 6)
    assert [cuts.rerun_ns(number, [0] * number) for number in (1, 2, 3, 4)] == [0, 10, 20, 20]


def test_the_forward_that_saves_counts_as_a_cut_as_well() -> None:
    # F_all 2 needs its 3 bytes, 4 bytes of overhead, and a^1 saved or plain: 10 or 8 bytes, where
    # no backward needs more than 8.
    first, second, loss = even_chain(2).stages
    wide = Stage(
        name="wide",
        forward_ns=second.forward_ns,
        backward_ns=second.backward_ns,
        output_bytes=1,
        saved_bytes=3,
        forward_overhead_bytes=4,
    )
    chain = Chain("wide", 0, (first, wide, loss))
    assert [bound_ns(chain, memory) for memory in (8, 9, 10)] == [50, 50, 40]
    assert [fastest(chain, memory) for memory in (8, 9, 10)] == [50, 50, 40]


def test_the_bound_is_in_exact_arithmetic_and_holds_for_all_schedules() -> None:
    outcome = bound_chain_cut(RematChain(even_chain(3), 6), OPTIONS)
    assert outcome.termination is Termination.COMPLETED
    assert outcome.schedule is None
    (bound,) = outcome.bounds
    assert bound.valid_for is ScheduleClass.ALL
    assert bound.evidence is Evidence.EXACT


def test_no_schedule_of_any_class_is_faster_in_any_memory() -> None:
    for judged, bounds in bounds_of_judged_chains():
        for memory_bytes, found_ns in enumerate(bounds):
            best_ns = fastest_in(judged.all_schedules, memory_bytes)
            if best_ns is not None:
                assert found_ns is not None
                assert found_ns <= best_ns, (judged.chain, memory_bytes)


def test_the_bound_starts_at_the_base_time_and_falls_with_memory() -> None:
    for judged, bounds in bounds_of_judged_chains():
        known = [found_ns for found_ns in bounds if found_ns is not None]
        assert known == sorted(known, reverse=True)
        assert known[-1] == judged.chain.base_time_ns


def test_most_of_what_must_be_recomputed_is_proved() -> None:
    # 0.71 of the overhead on average, all of it in 390 of 855 memories that force an overhead.
    shares = []
    for judged, bounds in bounds_of_judged_chains():
        base_ns = judged.chain.base_time_ns
        for memory_bytes, found_ns in enumerate(bounds):
            best_ns = fastest_in(judged.all_schedules, memory_bytes)
            if best_ns is not None and best_ns > base_ns:
                assert found_ns is not None
                shares.append((found_ns - base_ns) / (best_ns - base_ns))
    assert sum(shares) > 0.7 * len(shares)
    assert shares.count(1.0) > 0.4 * len(shares)


@given(remat_chains())
def test_no_schedule_is_faster_on_drawn_chains(problem: RematChain) -> None:
    best_ns = fastest_in(trade_off_with_drops(problem.instance), problem.memory_bytes)
    found_ns = bound_ns(problem.instance, problem.memory_bytes)
    assert best_ns is None or (found_ns is not None and found_ns <= best_ns)


def test_memory_below_a_single_operation_is_refused_for_all_schedules() -> None:
    # B 2 of the even chain needs 6 bytes, whatever else is dropped.
    outcome = bound_chain_cut(RematChain(even_chain(2), 5), OPTIONS)
    assert outcome.bounds == ()
    assert outcome.infeasibility is not None
    assert outcome.infeasibility.valid_for is ScheduleClass.ALL


def test_at_the_time_limit_the_cut_at_the_loss_counts() -> None:
    # That cut alone proves 20 ns of the 30, see above.
    problem = RematChain(even_chain(3), 6)
    outcome = bound_chain_cut(problem, SolveOptions(time_limit_s=1e-9))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.bounds[0].time_ns == problem.instance.base_time_ns + 20
    assert outcome.work == {"cuts": 0}


def test_an_interrupt_leaves_the_best_bound_so_far() -> None:
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    problem = RematChain(even_chain(3), 6)
    outcome: Outcome = bound_chain_cut(problem, SolveOptions(on_progress=stop))
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.bounds[0].time_ns == problem.instance.base_time_ns + 20


def test_merged_steps_only_lower_the_bound() -> None:
    for judged in judged_chains()[::5]:
        count = len(judged.chain)
        for memory_bytes in judged.memories():
            exact = rerun_bounds(ChainCuts(judged.chain, memory_bytes), count)
            for most_steps in (1, 2, 3):
                merged = rerun_bounds(ChainCuts(judged.chain, memory_bytes, most_steps), count)
                assert all(low <= high for low, high in zip(merged, exact, strict=True))


def rerun_bounds(cuts: ChainCuts, count: int) -> list[int]:
    """Return the rerun bounds of all stages, 0 where a stage fits in no way."""
    found = [0]
    for number in range(1, count + 1):
        found.append(cuts.rerun_ns(number, found) or 0)
    return found


def rerun_by_enumeration(chain: Chain, memory_bytes: int, number: int, below_ns: list[int]) -> int:
    """Return W of a cut over everything that may be held at it; -1 if nothing may."""
    stages = chain.stages[: number - 1]
    available = bytes_beside_stage(chain, memory_bytes, number)
    best_ns = -1
    for held in product(("dropped", "plain", "saved"), repeat=len(stages)):
        size_bytes = sum(
            {"dropped": 0, "plain": stage.output_bytes, "saved": stage.saved_bytes}[how]
            for stage, how in zip(stages, held, strict=True)
        )
        if held and held[-1] == "dropped":
            # The stage of the cut reads the output of the one before it.
            continue
        if size_bytes > available:
            continue
        missing = [k for k, how in enumerate(held, start=1) if how != "saved"]
        top = max(missing, default=0)
        # The last stage below the topmost missing one whose output is at hand, or the input.
        start = max((k for k in range(1, top) if held[k - 1] != "dropped"), default=0)
        path_ns = sum(stage.forward_ns for stage in stages[start:top])
        rest_ns = sum(stages[k - 1].forward_ns for k in missing if k <= start)
        time_ns = path_ns + max(rest_ns, below_ns[top]) if top else 0
        best_ns = time_ns if best_ns < 0 else min(best_ns, time_ns)
    return best_ns


def random_chain(generator: random.Random, count: int) -> Chain:
    stages = [
        Stage(
            name=f"stage {number}",
            forward_ns=generator.randint(0, 9),
            backward_ns=generator.randint(0, 9),
            output_bytes=(output_bytes := 0 if number == count else generator.randint(0, 4)),
            saved_bytes=output_bytes + generator.randint(0, 6),
            forward_overhead_bytes=generator.randint(0, 2),
            backward_overhead_bytes=generator.randint(0, 2),
        )
        for number in range(1, count + 1)
    ]
    chain = Chain("random", generator.randint(0, 3), tuple(stages))
    return with_saving_overheads(chain)


def test_each_cut_is_the_best_of_all_that_may_be_held_at_it() -> None:
    seen = 0
    for seed in range(300):
        generator = random.Random(seed)
        chain = random_chain(generator, generator.randint(1, 7))
        memory_bytes = generator.randint(0, chain.store_all_peak_bytes)
        cuts = ChainCuts(chain, memory_bytes)
        below_ns = [0]
        for number in range(1, len(chain) + 1):
            found_ns = cuts.rerun_ns(number, below_ns)
            expected_ns = rerun_by_enumeration(chain, memory_bytes, number, below_ns)
            assert found_ns == (None if expected_ns < 0 else expected_ns), (seed, number)
            below_ns.append(found_ns or 0)
            seen += below_ns[-1] > 0
    assert seen > 100


def test_merged_steps_lower_the_cuts_of_long_chains() -> None:
    lowered = 0
    for seed in range(30):
        chain = random_chain(random.Random(seed), 40)
        memory_bytes = chain.store_all_peak_bytes // 2
        unknown_ns = [0] * len(chain)
        exact_ns = ChainCuts(chain, memory_bytes).rerun_ns(len(chain), unknown_ns)
        assert exact_ns is not None
        for most_steps in (20, 7, 3, 1):
            found_ns = ChainCuts(chain, memory_bytes, most_steps).rerun_ns(len(chain), unknown_ns)
            assert found_ns is not None
            assert 0 <= found_ns <= exact_ns, (seed, most_steps)
            lowered += found_ns < exact_ns
    assert lowered > 30


def test_cuts_that_run_out_of_time_go_on_where_they_were() -> None:
    chain = random_chain(random.Random(1), 200)
    memory_bytes = chain.store_all_peak_bytes // 4
    unknown_ns = [0] * len(chain)
    cuts = ChainCuts(chain, memory_bytes)
    with pytest.raises(TimeoutError):
        cuts.rerun_ns(len(chain), unknown_ns, 0.0)
    expected_ns = ChainCuts(chain, memory_bytes).rerun_ns(len(chain), unknown_ns)
    assert cuts.rerun_ns(len(chain), unknown_ns) == expected_ns
    assert expected_ns


def test_a_bundled_transformer_is_solved_among_all_schedules_and_not_only_persistent_ones() -> None:
    chain = load("gpt2-small-b1-256-cpu")
    assert isinstance(chain, Chain)
    problem = RematChain(chain, chain.store_all_peak_bytes // 2)
    options = SolveOptions(time_limit_s=60, gap=0)
    exact, _ = compare_with(problem, ("rotor-exact", "cut-bound"), options)
    assert exact.time_ns is not None
    assert exact.time_ns > chain.base_time_ns
    assert exact.status == "optimal"
    assert exact.bound is not None
    assert exact.bound.method == "cut-bound"
