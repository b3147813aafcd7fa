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
def least_rerun_fluid(
    device_bytes: int,
    delay_ns: int,
    plain_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_ns: NDArray[np.int64],
    later_ns: NDArray[np.int64],
    held_bytes: NDArray[np.int64],
    input_bytes: NDArray[np.int64],
    most_states: int,
) -> int | None: ...
def least_rerun_at_once(
    device_bytes: int,
    delay_ns: int,
    plain_bytes: NDArray[np.int64],
    saved_bytes: NDArray[np.int64],
    forward_ns: NDArray[np.int64],
    later_ns: NDArray[np.int64],
    slack_ns: int,
    saved_ns: NDArray[np.int64],
    plain_ns: NDArray[np.int64],
    late_ns: NDArray[np.int64],
    early_ns: NDArray[np.int64],
    path_ns: NDArray[np.int64],
    most_states: int,
) -> int | None: ...
