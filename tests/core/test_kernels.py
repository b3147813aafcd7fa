"""The native kernels at their edge with Python: what they refuse, and what can stop them."""

from __future__ import annotations

import math
import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jettison.solvers import _kernels

FORWARD_ALL, FORWARD_CHECKPOINT, FORWARD_NONE, BACKWARD = range(4)


def _program(count: int, *budgets: int, **changed: object) -> dict[str, Any]:
    """Return arguments of `persistent_program`: stages of 1 ns each way that take 1 slot each."""
    return {
        "forward_ns": np.ones(count, np.int64),
        "backward_ns": np.ones(count, np.int64),
        "input_slots": np.ones(count, np.int32),
        "saved_slots": np.ones(count, np.int32),
        "forward_all_need": np.ones((count, count), np.int32),
        "forward_none_need": np.ones((count, count), np.int32),
        "budgets": list(budgets),
        **changed,
    }


def _least(count: int, **changed: object) -> dict[str, Any]:
    return {
        "input_bytes": np.ones(count, np.int64),
        "saved_bytes": np.ones(count, np.int64),
        "forward_all_need": np.ones((count, count), np.int64),
        "forward_none_need": np.ones((count, count), np.int64),
        **changed,
    }


# 1.3 billion splits: far longer than the time limits and the interruption below.
LONG = _program(2000, 10)


def test_operations_are_numbered_in_the_order_of_the_kernel() -> None:
    # Two slots hold both stages: 2 forwards and 2 backwards.
    assert _kernels.persistent_program(**_program(2, 2)) == [
        (4, [(FORWARD_ALL, 1), (FORWARD_ALL, 2), (BACKWARD, 2), (BACKWARD, 1)])
    ]


def test_passing_through_a_stage_is_numbered_too() -> None:
    # Stage 3 needs all 3 slots to itself: neither ā^1, nor ā^2, nor a^1 may be there, only a^2,
    # which takes none here. Six operations of 1 ns, and F 1 and F 2 a second time.
    arguments = _program(3, 3, input_slots=np.array([1, 1, 0], np.int32))
    arguments["forward_all_need"][2, 2] = 3
    sequence = [
        (FORWARD_CHECKPOINT, 1),
        (FORWARD_NONE, 2),
        (FORWARD_ALL, 3),
        (BACKWARD, 3),
        (FORWARD_ALL, 1),
        (FORWARD_ALL, 2),
        (BACKWARD, 2),
        (BACKWARD, 1),
    ]
    assert _kernels.persistent_program(**arguments) == [(8, sequence)]


def test_a_program_without_a_schedule_returns_nothing() -> None:
    assert _kernels.persistent_program(**_program(2, 0)) == [None]


def test_each_budget_gets_its_answer_in_the_order_asked() -> None:
    # Stage 2 takes both slots: with one of them for its input nothing fits in two. In three, a^1
    # is kept and F 1 runs twice; in four, everything is saved.
    arguments = _program(2, 3, 2, 4, 3, saved_slots=np.array([2, 2], np.int32))
    arguments["forward_all_need"] = np.full((2, 2), 2, np.int32)
    answers = _kernels.persistent_program(**arguments)
    assert [None if answer is None else answer[0] for answer in answers] == [5, None, 4, 5]


def _random_program(
    source: np.random.Generator, count: int, longest_ns: int, *budgets: int
) -> dict[str, Any]:
    """Return a program whose sizes, some of them zero, leave much to decide in 90 slots."""
    return _program(
        count,
        *budgets,
        forward_ns=source.integers(0, longest_ns, count),
        backward_ns=source.integers(0, longest_ns, count),
        input_slots=source.integers(0, 4, count).astype(np.int32),
        saved_slots=source.integers(0, 9, count).astype(np.int32),
        forward_all_need=source.integers(0, 12, (count, count)).astype(np.int32),
        forward_none_need=source.integers(0, 12, (count, count)).astype(np.int32),
    )


def _times_in_plain_loops(arguments: dict[str, Any]) -> list[float]:
    """Evaluate the recurrence of `persistent_program.hpp` cell by cell; return C(1,N,m) by m."""
    forward, backward = arguments["forward_ns"].tolist(), arguments["backward_ns"].tolist()
    inputs, saved = arguments["input_slots"].tolist(), arguments["saved_slots"].tolist()
    count, most = len(forward), max(arguments["budgets"])
    times: dict[tuple[int, int], list[float]] = {}

    def time(s: int, t: int, m: int) -> float:
        return math.inf if m < 0 else times[s, t][m]

    for t in range(count):
        for s in range(t, -1, -1):
            row = []
            for m in range(most + 1):
                choices = [math.inf]
                if m >= arguments["forward_all_need"][s, t]:
                    rest = time(s + 1, t, m - saved[s]) if s < t else 0
                    choices.append(forward[s] + backward[s] + rest)
                if m >= arguments["forward_none_need"][s, t]:
                    choices += [
                        sum(forward[s:split])
                        + time(split, t, m - inputs[split])
                        + time(s, split - 1, m)
                        for split in range(s + 1, t + 1)
                    ]
                row.append(min(choices))
            times[s, t] = row
    return times[0, count - 1]


def _found(arguments: dict[str, Any], threads: int = 1) -> list[float]:
    answers = _kernels.persistent_program(**arguments, threads=threads)
    return [math.inf if answer is None else answer[0] for answer in answers]


# Around the 4 stages of a strip, the 16 splits of a block and the 16 numbers of slots of a chunk.
@pytest.mark.parametrize("count", [1, 2, 4, 5, 8, 9, 17, 18, 19])
# In the second case the first few budgets have sums that pass 2**30, in the last one all have.
@pytest.mark.parametrize("longest_ns", [10, 2**26, 2**40], ids=["32 bits", "both", "64 bits"])
def test_every_budget_is_answered_as_by_plain_loops(count: int, longest_ns: int) -> None:
    source = np.random.default_rng(count)
    for most in (0, 1, 15, 16, 31, 50):
        arguments = _random_program(source, count, longest_ns, *range(most + 1))
        assert _found(arguments) == _times_in_plain_loops(arguments)


def test_more_than_256_slots_take_a_second_group_of_chunks() -> None:
    # Sizes of up to 60 slots, so that 18 stages still have to choose above 256 slots.
    arguments = _random_program(np.random.default_rng(3), 18, 1000, *range(400))
    for name in ("input_slots", "saved_slots"):
        arguments[name] *= 7
    times = _found(arguments)
    assert times == _times_in_plain_loops(arguments)
    assert times[256] > times[399]


def test_several_budgets_are_answered_as_each_alone() -> None:
    arguments = _random_program(np.random.default_rng(1), 40, 1000, *range(0, 90, 7))
    together = _kernels.persistent_program(**arguments)
    alone = [
        _kernels.persistent_program(**{**arguments, "budgets": [budget]})[0]
        for budget in arguments["budgets"]
    ]
    assert together == alone


@pytest.mark.parametrize("count", [1, 3, 40, 75])
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_any_number_of_threads_finds_the_same_sequences(count: int, threads: int) -> None:
    arguments = _random_program(np.random.default_rng(count), count, 1000, 20, 45, 90)
    assert _kernels.persistent_program(**arguments, threads=threads) == _kernels.persistent_program(
        **arguments
    )


def test_the_least_memory_comes_with_its_sequence() -> None:
    # One byte at a time: the input of stage 2, 1, beside what stage 2 needs, 1.
    assert _kernels.least_memory(**_least(2)) == (
        2,
        [(FORWARD_ALL, 1), (FORWARD_ALL, 2), (BACKWARD, 2), (BACKWARD, 1)],
    )


@pytest.mark.parametrize(
    "name", ["backward_ns", "input_slots", "saved_slots", "forward_all_need", "forward_none_need"]
)
def test_an_array_of_another_length_than_the_chain_is_refused(name: str) -> None:
    short = _program(1, 1)[name]
    with pytest.raises(ValueError, match=name):
        _kernels.persistent_program(**_program(2, 1, **{name: short}))


@pytest.mark.parametrize("name", ["saved_bytes", "forward_all_need", "forward_none_need"])
def test_the_least_memory_checks_the_lengths_too(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        _kernels.least_memory(**_least(2, **{name: _least(1)[name]}))


@pytest.mark.parametrize("name", ["forward_ns", "backward_ns", "input_slots", "saved_slots"])
def test_a_negative_amount_is_refused(name: str) -> None:
    array: NDArray[Any] = _program(2, 1)[name]
    array[1] = -1
    with pytest.raises(ValueError, match=f"{name}: negative"):
        _kernels.persistent_program(**_program(2, 1, **{name: array}))


@pytest.mark.parametrize("name", ["input_bytes", "saved_bytes"])
def test_the_least_memory_refuses_negative_sizes_too(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: negative"):
        _kernels.least_memory(**_least(2, **{name: np.array([1, -1])}))


def test_negative_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="slots"):
        _kernels.persistent_program(**_program(2, -1))


def test_no_budgets_are_refused() -> None:
    with pytest.raises(ValueError, match="no budgets"):
        _kernels.persistent_program(**_program(2))


def test_no_threads_are_refused() -> None:
    with pytest.raises(ValueError, match="no threads"):
        _kernels.persistent_program(**_program(2, 1), threads=0)


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        _kernels.persistent_program(**_program(0, 1))
    with pytest.raises(ValueError, match="empty"):
        _kernels.least_memory(**_least(0))


@pytest.mark.parametrize(
    "array",
    [
        np.ones(2, np.int64),
        np.ones(2),
        np.ones((2, 1), np.int32),
        np.ones(4, np.int32)[::2],
        [1, 1],
    ],
    ids=["64 bits", "floats", "two dimensions", "with gaps", "a list"],
)
def test_an_array_of_another_type_rank_or_layout_is_refused(array: object) -> None:
    with pytest.raises(TypeError):
        _kernels.persistent_program(**_program(2, 1, saved_slots=array))


def test_a_table_beyond_all_memory_is_an_error_and_no_crash() -> None:
    # 500 stages with 2^31 - 1 slots each would take 2 PB.
    with pytest.raises(MemoryError):
        _kernels.persistent_program(**_program(500, 2**31 - 2))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("time_limit_s", [0.0, 0.01, -1.0])
def test_a_time_limit_ends_a_long_run(time_limit_s: float, threads: int) -> None:
    with pytest.raises(TimeoutError, match="the time limit was reached"):
        _kernels.persistent_program(**LONG, time_limit_s=time_limit_s, threads=threads)


@pytest.mark.parametrize("time_limit_s", [60.0, 1e12, float("inf"), float("nan"), None])
def test_a_limit_that_is_far_away_or_none_ends_nothing(time_limit_s: float | None) -> None:
    assert _kernels.persistent_program(**_program(2, 2), time_limit_s=time_limit_s) != [None]


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_ends_a_long_run(threads: int) -> None:
    # Without a look at the signals the kernel would run into its time limit first.
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            _kernels.persistent_program(**LONG, time_limit_s=3.0, threads=threads)
    finally:
        timer.join()
    assert caught.value.__context__ is None


def test_other_threads_run_while_a_kernel_does() -> None:
    # The timer's thread can only set the event while the kernel has let go of the interpreter.
    woken = threading.Event()
    timer = threading.Timer(0.05, woken.set)
    timer.start()
    with pytest.raises(TimeoutError):
        _kernels.persistent_program(**LONG, time_limit_s=1.0)
    was_woken = woken.is_set()
    timer.join()
    assert was_woken
