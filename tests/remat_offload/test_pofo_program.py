"""POFO against the brute force, against rotor, and at its edges."""

from __future__ import annotations

import os
import random
import signal
import threading
from fractions import Fraction

import numpy as np
import pytest

from jettison import Chain, InputError, ScheduleClass
from jettison.remat_chain import ChainOperationKind, Stage
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers import _kernels
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.rotor import persistent_bracket
from jettison.solvers.remat_offload.pofo.bracket import pofo_bracket, pofo_exact
from jettison.solvers.remat_offload.pofo.program import Recomputation
from tests.drawing.overheads import with_saving_overheads
from tests.remat_offload.oracles.brute_force import Link, Value, fastest, makespan, sequences
from tests.remat_offload.oracles.samples import OffloadSample, offload_samples

TEN_GB = 10**10
_ARRAYS = (
    *("forward", "backward", "output", "gradient", "saved"),
    *("saving_overhead", "forward_overhead", "backward_need"),
)


def _long_chain(layers: int, seed: int = 1) -> Chain:
    """Return layers of megabytes and microseconds."""
    generator = random.Random(seed)
    stages = [
        Stage(
            name=f"layer {number}",
            forward_ns=generator.randint(200_000, 900_000),
            backward_ns=generator.randint(400_000, 1_800_000),
            output_bytes=generator.randint(1_000_000, 3_000_000),
            saved_bytes=generator.randint(4_000_000, 12_000_000),
            forward_overhead_bytes=generator.randint(0, 1_000_000),
        )
        for number in range(1, layers + 1)
    ]
    loss = Stage(name="loss", forward_ns=1_000, backward_ns=1_000, output_bytes=0, saved_bytes=0)
    return with_saving_overheads(Chain("long", 1_000_000, (*stages, loss)))


def _judged_time(sample: OffloadSample, plan: OffloadPlan) -> Fraction | None:
    """Return the time of a plan as the brute force counts it."""
    wanted = [(str(step.kind), step.stage) for step in plan.computations.operations]
    away = tuple(
        Value(tensor.stage, tensor.kind is TensorKind.SAVED)
        for tensor in sorted(plan.offloaded, key=lambda tensor: tensor.stage)
    )
    link = Link(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
    for sequence in sequences(len(sample.chain)):
        if [(step.kind, step.stage) for step in sequence] == wanted:
            ticks = makespan(link, sequence, away)
            return None if ticks is None else Fraction(ticks, sample.bytes_per_ns.numerator)
    raise AssertionError(f"no such sequence: {wanted}")


def test_exact_answers_and_their_plans_are_those_of_the_brute_force() -> None:
    for sample in offload_samples(3, 900):
        best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        bracket = pofo_exact(sample.chain, sample.memory_bytes, sample.bytes_per_s)
        assert bracket.is_exact
        assert bracket.floor_ns == best
        assert bracket.plan_ns == best
        if bracket.plan is not None:
            assert _judged_time(sample, bracket.plan) == best


def test_offloading_alone_is_exact_too() -> None:
    for sample in offload_samples(4, 300):
        best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns, recomputes=False)
        bracket = pofo_exact(
            sample.chain,
            sample.memory_bytes,
            sample.bytes_per_s,
            recomputation=Recomputation.FORBIDDEN,
        )
        assert (bracket.floor_ns, bracket.plan_ns) == (best, best)


@pytest.mark.parametrize(("slots", "most_labels"), [(1, 1), (3, 1), (10, 3), (40, 100)])
def test_grids_bracket_the_brute_force(slots: int, most_labels: int) -> None:
    for sample in offload_samples(slots, 150, largest=1000):
        best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        bracket = pofo_bracket(
            sample.chain, sample.memory_bytes, sample.bytes_per_s, slots, most_labels=most_labels
        )
        if best is None:
            assert bracket.plan is None
            continue
        assert bracket.floor_ns is not None
        assert bracket.floor_ns <= best
        if bracket.plan is not None:
            assert bracket.plan_ns is not None
            assert bracket.plan_ns >= best
            judged = _judged_time(sample, bracket.plan)
            assert judged is not None
            assert judged <= bracket.plan_ns


@pytest.mark.parametrize("bytes_per_s", [3 * 10**9, 10**10])
def test_grids_bracket_the_exact_answer_on_longer_chains(bytes_per_s: int) -> None:
    # Long enough for curves of so many breaks that the grids simplify them.
    chain = _long_chain(14)
    memory_bytes = chain.store_all_peak_bytes * 2 // 5
    exact = pofo_exact(chain, memory_bytes, bytes_per_s)
    assert exact.is_exact
    assert exact.floor_ns is not None
    for slots in (20, 150):
        bracket = pofo_bracket(chain, memory_bytes, bytes_per_s, slots)
        assert bracket.floor_ns is not None
        assert bracket.plan_ns is not None
        assert bracket.floor_ns <= exact.floor_ns <= bracket.plan_ns


def test_numbers_beyond_60_bits_are_rounded_to_the_safe_side() -> None:
    # 10^10 and 10^10 + 1 bytes per second are 10 and 10.000000001 bytes per ns. The second has a
    # denominator of 10^9, so that the units that make everything an integer need over 64 bits.
    chain = _long_chain(8)
    memory_bytes = chain.store_all_peak_bytes // 2
    exact = pofo_exact(chain, memory_bytes, TEN_GB)
    slower, faster = (pofo_exact(chain, memory_bytes, TEN_GB + more) for more in (-1, 1))
    assert exact.is_exact
    assert exact.floor_ns is not None
    assert slower.plan is not None
    assert faster.floor_ns is not None
    assert faster.floor_ns <= exact.floor_ns <= slower.plan_ns
    assert slower.plan_ns - faster.floor_ns < 1


def test_numbers_beyond_60_bits_leave_the_memory_as_it_is() -> None:
    # Rounding sizes up and memory down would lose what fits to the byte.
    chain = _long_chain(8)
    found = pofo_exact(chain, chain.store_all_peak_bytes, TEN_GB + 1)
    assert found.plan_ns == chain.base_time_ns


def test_a_link_that_moves_nothing_leaves_rotor() -> None:
    # One byte per second: what is offloaded costs more than computing everything again.
    chain = _long_chain(9)
    memory_bytes = chain.store_all_peak_bytes // 2
    rotor = persistent_bracket(chain, memory_bytes, 4000)
    found = pofo_exact(chain, memory_bytes, 1)
    assert found.plan is not None
    assert found.plan.offloaded == ()
    assert rotor.floor_ns is not None
    assert rotor.schedule is not None
    assert found.plan_ns >= rotor.floor_ns
    assert found.floor_ns is not None
    assert found.floor_ns <= rotor.schedule.replay(chain).time_ns
    replay = found.plan.computations.replay(chain, memory_bytes)
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.PERSISTENT


def test_a_link_that_moves_everything_at_once_leaves_the_base_time() -> None:
    # A petabyte per second moves a stage's 12 MB in 12 ns, of 200 000 that the stage takes.
    chain = _long_chain(40)
    memory_bytes = chain.store_all_peak_bytes // 4
    found = pofo_bracket(chain, memory_bytes, 10**15, 50, recomputation=Recomputation.FORBIDDEN)
    assert found.is_exact
    assert found.plan_ns == chain.base_time_ns
    assert found.plan is not None
    kinds = [step.kind for step in found.plan.computations.operations]
    assert kinds == [ChainOperationKind.FORWARD_ALL] * 41 + [ChainOperationKind.BACKWARD] * 41


def test_more_memory_and_a_faster_link_never_cost_time() -> None:
    for sample in offload_samples(5, 60, most_stages=5):
        times = [
            pofo_exact(sample.chain, sample.memory_bytes + more, sample.bytes_per_s).plan_ns
            for more in (0, 1, 4)
        ]
        times.append(pofo_exact(sample.chain, sample.memory_bytes + 4, 10**10).plan_ns)
        finite = [time for time in times if time is not None]
        assert times[len(times) - len(finite) :] == finite
        assert finite == sorted(finite, reverse=True)


def test_nothing_is_offloaded_where_everything_fits() -> None:
    chain = _long_chain(20)
    found = pofo_bracket(chain, chain.store_all_peak_bytes, TEN_GB, 50)
    assert found.plan is not None
    assert found.plan.offloaded == ()
    assert found.plan_ns == found.floor_ns == chain.base_time_ns


def test_a_value_leaves_beside_one_stage_and_comes_back_beside_another() -> None:
    # ā = 4, 2, 4, 2, nothing else has a size, 8 bytes, 1 byte per ns. F 4 needs 12 bytes with all
    # of it: ā^1 leaves in 4 ns beside F 2, which takes 10. On the way back, B 4 and B 3 hold 8 and
    # 6 bytes: 2 bytes of ā^1 are back when B 3 ends, and B 2, which reads ā^1, waits 2 ns for the
    # rest.
    chain = Chain(
        "one value away",
        0,
        tuple(
            Stage(name=f"s{k}", forward_ns=10, backward_ns=10, output_bytes=0, saved_bytes=size)
            for k, size in enumerate((4, 2, 4, 2), start=1)
        ),
    )
    found = pofo_exact(chain, 8, 10**9, recomputation=Recomputation.FORBIDDEN)
    assert found.plan is not None
    assert found.plan.offloaded == (Tensor(TensorKind.SAVED, 1),)
    assert found.plan_ns == 82


@pytest.mark.parametrize("field", ["slots", "most_labels", "bytes_per_s"])
def test_nothing_to_work_with_is_refused(field: str) -> None:
    numbers = {"slots": 10, "most_labels": 10, "bytes_per_s": 10, field: 0}
    chain = _long_chain(2)
    with pytest.raises(InputError) as caught:
        pofo_bracket(
            chain, 10, numbers["bytes_per_s"], numbers["slots"], most_labels=numbers["most_labels"]
        )
    assert caught.value.field == field


def test_no_memory_holds_nothing_that_has_a_size() -> None:
    assert pofo_exact(_long_chain(2), 0, TEN_GB).floor_ns is None
    weightless = Chain(
        "none",
        0,
        (Stage(name="loss", forward_ns=2, backward_ns=3, output_bytes=0, saved_bytes=0),),
    )
    assert pofo_exact(weightless, 0, TEN_GB).plan_ns == 5


def test_less_than_the_least_memory_can_do_with_offloading_and_less_still_cannot() -> None:
    # What rotor needs at least is no limit here, but the widest operation is.
    chain = _long_chain(30)
    least = least_persistent_memory(chain)[0]
    assert pofo_bracket(chain, least, TEN_GB, 300).floor_ns is not None
    assert pofo_bracket(chain, 4_000_000, TEN_GB, 300).floor_ns is None


def test_a_budget_of_bytes_that_is_used_up_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        pofo_bracket(_long_chain(60), 100_000_000, TEN_GB, 100, most_bytes=2**21)


@pytest.mark.parametrize("time_limit_s", [0.0, 0.05])
def test_a_time_limit_ends_a_long_run(time_limit_s: float) -> None:
    chain = _long_chain(150)
    with pytest.raises(TimeoutError):
        pofo_bracket(chain, chain.store_all_peak_bytes // 4, 10**9, 400, time_limit_s=time_limit_s)


def test_ctrl_c_ends_a_long_run() -> None:
    chain = _long_chain(150)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pofo_bracket(chain, chain.store_all_peak_bytes // 4, 10**9, 400, time_limit_s=20.0)
    finally:
        timer.join()


def test_the_kernel_refuses_what_it_cannot_work_with() -> None:
    arrays = {name: np.ones(3, np.int64) for name in _ARRAYS}
    rest = {"memory": 4, "most_bytes": 2**20, "recomputes": True}
    program = _kernels.PofoProgram(**arrays, **rest)
    with pytest.raises(RuntimeError, match="no grid"):
        program.search(_kernels.Accuracy.UPPER, 1, None)
    assert program.refine(2, 2, True, None) == 4
    # Ones everywhere: two forwards and two backwards, and nothing has to leave 4 units of memory.
    floor, time, *_ = program.search(_kernels.Accuracy.EXACT, 1, None)
    assert (floor, time) == (4, 4)
    with pytest.raises(ValueError, match="slot"):
        program.refine(0, 1, True, None)
    with pytest.raises(ValueError, match="limit"):
        program.refine(1, 1, True, -1)
    with pytest.raises(ValueError, match="most_labels"):
        program.search(_kernels.Accuracy.UPPER, 0, None)
    for wrong, message in (
        ({"saved": np.ones(2, np.int64)}, "saved: wrong length"),
        ({"output": np.array([1, -1, 0])}, "output: negative"),
        ({"memory": 0}, "memory"),
    ):
        with pytest.raises(ValueError, match=message):
            _kernels.PofoProgram(**{**arrays, **rest, **wrong})
