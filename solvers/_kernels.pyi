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

class PersistentSearch:
    def __init__(
        self,
        forward_ns: NDArray[np.int64],
        backward_ns: NDArray[np.int64],
        input_bytes: NDArray[np.int64],
        saved_bytes: NDArray[np.int64],
        forward_all_need: NDArray[np.int64],
        forward_none_need: NDArray[np.int64],
        available_bytes: int,
        known_time_ns: int,
        first_slots: int,
        most_slots: int,
        most_bytes: int,
    ) -> None: ...
    def refine(self, time_limit_s: float | None = None) -> None: ...
    @property
    def lower_bound_ns(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def sequence(self) -> list[tuple[int, int]]: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def slots(self) -> int: ...
    @property
    def states(self) -> int: ...
