"""Columns of the event model, and the amounts of a problem in its units."""

from __future__ import annotations

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_offload.cut import Divisible, Whole
from jettison.formulations.remat_offload.intervals import Intervals, Part
from jettison.instances.remat_offload.problem import RematOffloadChain

# In the model the largest amount of either unit is at most this: solvers' tolerances are absolute.
_LARGEST_IN_MODEL = 2**10
# Amounts are multiples of the unit divided by this: what is smaller is below these tolerances, and
# with much smaller differences HiGHS 1.15 has called models infeasible that have a point.
_GRAINS = 2**19


class EventAmounts:
    """Sizes and times in units of the model, exact where the largest is at most 2^29.

    Both units are powers of two. What is too fine for a solver is rounded, coefficients down and
    limits up: coefficients of sizes and times count against a schedule, so that the model still
    relaxes all of them.

    Parameters
    ----------
    problem
        The chain, its memory and its link.
    tensors
        How tensors move; it decides how the time of a copy is rounded to nanoseconds.
    """

    def __init__(self, problem: RematOffloadChain, tensors: Divisible | Whole) -> None:
        self._problem = problem
        self._tensors = tensors
        largest = max(
            problem.instance.input_bytes, *(stage.saved_bytes for stage in problem.instance)
        )
        self.bytes_unit = _unit_of(problem.memory_bytes)
        self.time_unit_ns = _unit_of(max(problem.instance.base_time_ns, self._copy_ns(largest)))

    def byte_limit(self, size_bytes: int) -> float:
        """Return a size in units of the model, for the limit of a row."""
        return -_in_units(-size_bytes, self.bytes_unit)

    def time_limit(self, duration_ns: int) -> float:
        """Return a time in units of the model, for the limit of a row."""
        return -_in_units(-duration_ns, self.time_unit_ns)

    def in_bytes(self, size_bytes: int) -> float:
        """Return a size in units of the model, for a coefficient."""
        return _in_units(size_bytes, self.bytes_unit)

    def in_time(self, duration_ns: int) -> float:
        """Return a time in units of the model, for a coefficient."""
        return _in_units(duration_ns, self.time_unit_ns)

    def size(self, tensor: Part) -> float:
        """Return the size of a tensor in units of the model."""
        return self.in_bytes(self._size_bytes(tensor))

    def copy_time(self, tensor: Part) -> float:
        """Return the time of one copy of a tensor in units of the model."""
        return self.in_time(self._copy_ns(self._size_bytes(tensor)))

    @property
    def is_shared(self) -> bool:
        """Whether both directions of the link share a total."""
        return self._problem.link.is_shared

    def shared_time(self, tensor: Part) -> float:
        """Return the least time of one copy as a part of what both directions carry."""
        rate = self._problem.link.total_bytes_per_s
        return self.in_time(self._size_bytes(tensor) * 10**9 // rate)

    def _copy_ns(self, size_bytes: int) -> int:
        link = self._problem.link
        match self._tensors:
            case Whole() if not link.is_shared:
                return link.transfer_ns(size_bytes)
            case Divisible() | Whole():
                return int(size_bytes / link.bytes_per_ns)

    def _size_bytes(self, tensor: Part) -> int:
        chain = self._problem.instance
        if tensor.kind == "a":
            return chain.activation_bytes(tensor.stage)
        return chain.stage(tensor.stage).saved_bytes


def _in_units(amount: int, unit: int) -> float:
    """Return an amount in units, rounded down to the precision of the model."""
    grain = max(1, unit // _GRAINS)
    return amount // grain * grain / unit


def _unit_of(largest: int) -> int:
    """Return the least power of two that scales an amount down to the largest of a model."""
    return 1 << max(0, -(-largest // _LARGEST_IN_MODEL) - 1).bit_length()


class EventColumns:
    """Columns of the event model, by interval or state and by tensor or stage.

    Parameters
    ----------
    model
        Builder to which the columns are added.
    intervals
        Intervals and states of the chain.
    tensors
        How tensors move: `used` and `whole` are empty for `Divisible` ones.
    """

    def __init__(
        self, model: ArrayModelBuilder, intervals: Intervals, tensors: Divisible | Whole
    ) -> None:
        self._model, self._intervals = model, intervals
        whole = isinstance(tensors, Whole)
        each_interval = range(4 * intervals.stages)
        in_states = [(i, x) for x in intervals.tensors for i in intervals.states(x)]
        moved = [(i, x) for i in each_interval for x in intervals.held(i)]
        in_gaps = [(i, x) for i in intervals.gaps for x in intervals.moving(i)]
        again = [(i, k) for i in intervals.gaps for k in intervals.reruns(i)]

        self.device = self._parts("device", in_states)
        # Nothing of a tensor is on the host when it has just been made.
        self.host = {
            (i, x): model.add_column(f"host_{i}_{x}", upper=min(1, i - intervals.states(x).start))
            for i, x in in_states
        }
        self.sent = self._parts("sent", moved)
        self.back = self._parts("back", moved)
        self.trip = self._parts("trip", in_gaps)
        self.stay = self._parts("stay", in_gaps)
        self.rerun = self._runs("rerun", again)
        self.saving = self._runs("saving", again)
        self.first = {
            k: model.add_column(f"first_{k}", upper=1, integer=whole)
            for k in range(1, intervals.stages + 1)
        }
        self.gap = {i: model.add_column(f"gap_{i}", cost=1) for i in intervals.gaps}
        self.used = self._parts("used", in_states if whole else [], integer=True)
        self.whole = self._parts("whole", moved if whole else [], integer=True)

    def made(self, interval: int, tensor: Part) -> list[int]:
        """Return the column of a tensor's computation in a gap, if the gap can compute it."""
        runs = self.rerun if tensor.kind == "a" else self.saving
        column = runs.get((interval, tensor.stage))
        return [] if column is None else [column]

    def _parts(
        self, name: str, keys: list[tuple[int, Part]], *, integer: bool = False
    ) -> dict[tuple[int, Part], int]:
        return {
            (i, x): self._model.add_column(f"{name}_{i}_{x}", upper=1, integer=integer)
            for i, x in keys
        }

    def _runs(self, name: str, keys: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
        return {
            (i, k): self._model.add_column(f"{name}_{i}_{k}", upper=1, integer=True)
            for i, k in keys
        }
