from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def persistent_program(
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_slots: NDArray[np.int32],
    saved_slots: NDArray[np.int32],
    forward_all_need: NDArray[np.int32],
    forward_none_need: NDArray[np.int32],
    budgets: Sequence[int],
    time_limit_s: float | None = None,
    threads: int = 1,
) -> list[tuple[int, list[tuple[int, int]]] | None]: ...
def least_memory(
    input_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_all_need: NDArray[np.int64],
    forward_none_need: NDArray[np.int64],
) -> tuple[int, list[tuple[int, int]]]: ...
def persistent_optimum(
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_all_need: NDArray[np.int64],
    forward_none_need: NDArray[np.int64],
    available_bytes: int,
    known_time_ns: int,
    slots: int,
    most_states: int,
    time_limit_s: float | None = None,
) -> tuple[int, int, list[tuple[int, int]], int, bool]: ...
