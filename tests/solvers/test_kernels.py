"""The native kernels at their edge with Python: what they refuse, and what can stop them."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jettison.solvers import _kernels

FORWARD_ALL, FORWARD_CHECKPOINT, FORWARD_NONE, BACKWARD = range(4)


def _program(count: int, slots: int, **changed: object) -> dict[str, Any]:
    """Return arguments of `persistent_program`: stages of 1 ns each way that take 1 slot each."""
    return {
        "forward_ns": np.ones(count, np.int64),
        "backward_ns": np.ones(count, np.int64),
        "input_slots": np.ones(count, np.int32),
        "saved_slots": np.ones(count, np.int32),
        "forward_all_need": np.ones((count, count), np.int32),
        "forward_none_need": np.ones((count, count), np.int32),
        "slots": slots,
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


# 562 million splits: far longer than the time limits and the interruption below.
LONG = _program(1500, 10)


def test_operations_are_numbered_in_the_order_of_the_kernel() -> None:
    # Two slots hold both stages: 2 forwards and 2 backwards.
    assert _kernels.persistent_program(**_program(2, 2)) == (
        4,
        [(FORWARD_ALL, 1), (FORWARD_ALL, 2), (BACKWARD, 2), (BACKWARD, 1)],
    )


def test_passing_through_a_stage_is_numbered_too() -> None:
    # Stage 3 needs all 3 slots to itself: neither ā^1, nor ā^2, nor a^1 may be there, only a^2,
    # which takes none here. Six operations of 1 ns, and F 1 and F 2 a second time.
    arguments = _program(3, 3, input_slots=np.array([1, 1, 0], np.int32))
    arguments["forward_all_need"][2, 2] = 3
    assert _kernels.persistent_program(**arguments) == (
        8,
        [
            (FORWARD_CHECKPOINT, 1),
            (FORWARD_NONE, 2),
            (FORWARD_ALL, 3),
            (BACKWARD, 3),
            (FORWARD_ALL, 1),
            (FORWARD_ALL, 2),
            (BACKWARD, 2),
            (BACKWARD, 1),
        ],
    )


def test_a_program_without_a_schedule_returns_nothing() -> None:
    assert _kernels.persistent_program(**_program(2, 0)) is None


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


@pytest.mark.parametrize("time_limit_s", [0.0, 0.01, -1.0])
def test_a_time_limit_ends_a_long_run(time_limit_s: float) -> None:
    with pytest.raises(TimeoutError, match="the time limit was reached"):
        _kernels.persistent_program(**LONG, time_limit_s=time_limit_s)


@pytest.mark.parametrize("time_limit_s", [60.0, 1e12, float("inf"), float("nan"), None])
def test_a_limit_that_is_far_away_or_none_ends_nothing(time_limit_s: float | None) -> None:
    assert _kernels.persistent_program(**_program(2, 2), time_limit_s=time_limit_s) is not None


def test_ctrl_c_ends_a_long_run() -> None:
    # Without a look at the signals the kernel would run into its time limit first.
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            _kernels.persistent_program(**LONG, time_limit_s=3.0)
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
