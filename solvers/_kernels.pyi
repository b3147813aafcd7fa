import numpy as np
from numpy.typing import NDArray

def persistent_program(
    forward_ns: NDArray[np.int64],
    backward_ns: NDArray[np.int64],
    input_slots: NDArray[np.int32],
    saved_slots: NDArray[np.int32],
    forward_all_need: NDArray[np.int32],
    forward_none_need: NDArray[np.int32],
    slots: int,
    time_limit_s: float | None = None,
) -> tuple[int, list[tuple[int, int]]] | None: ...
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
def pofo_program(
    forward: NDArray[np.int64],
    backward: NDArray[np.int64],
    output: NDArray[np.int64],
    saved: NDArray[np.int64],
    forward_overhead: NDArray[np.int64],
    backward_need: NDArray[np.int64],
    memory: int,
    slots: int,
    most_labels: int,
    most_bytes: int,
    recomputes: bool,
    exact: bool,
    time_limit_s: float | None = None,
) -> tuple[int | None, int | None, list[tuple[int, int]], list[tuple[int, bool]], int, int]: ...
