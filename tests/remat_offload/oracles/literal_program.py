r"""The dynamic program of POFO's Theorem 1 as it is written: all states, memory counted in slots.

The memory is scaled so that it has S slots. Sizes are rounded up to whole slots, and so are what is
still to leave and what has to be back after each part; idle times are not. So a plan of the program
fits, and no value is below the optimum. There are tables for all :math:`C(i, j, A, D)` and all
:math:`OC_x(i, A, \Delta_F, \Delta_B)`, each index from 0 to S, with the readings of
`solvers/remat_offload/pofo/program.py`. Nothing is pruned, and nothing is shared with the programs
that this one is compared with.

More than S slots never have to move at a time: what exceeds S waits in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jettison import Chain
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.plan import OffloadPlan
from tests.drawing.overheads import saving_overhead

Times = NDArray[np.float64]
_NEVER = np.inf
# Times are floats: an amount that is whole but for their rounding is whole.
_TOLERANCE = 1e-9


class LiteralProgram:
    """OC and C on one chain, with every index in slots.

    Parameters
    ----------
    chain, memory_bytes, bytes_per_ns
        The problem.
    slots
        Slots of the memory, S.
    """

    def __init__(self, chain: Chain, memory_bytes: int, bytes_per_ns: Fraction, slots: int) -> None:
        self._last, self._slots = len(chain), slots

        def in_slots(size_bytes: int) -> int:
            return -(-size_bytes * slots // memory_bytes)

        self._slot_ns = float(Fraction(memory_bytes, slots) / bytes_per_ns)
        self._output = [in_slots(chain.activation_bytes(k)) for k in range(self._last + 1)]
        self._saved = [0, *(in_slots(stage.saved_bytes) for stage in chain)]
        self._forward = [0, *(stage.forward_ns for stage in chain)]
        self._backward = [0, *(stage.backward_ns for stage in chain)]
        self._overhead = [0, *(in_slots(stage.forward_overhead_bytes) for stage in chain)]
        self._saving_overhead = [0, *(in_slots(saving_overhead(stage)) for stage in chain)]
        self._back = [0] + [
            in_slots(stage.saved_bytes)
            + in_slots(stage.output_bytes)
            + in_slots(chain.backward_output_bytes(k))
            + in_slots(stage.backward_overhead_bytes)
            for k, stage in enumerate(chain, start=1)
        ]
        self._index = np.arange(slots + 1)
        self._parts: dict[tuple[int, int], Times] = {}
        self._states: dict[tuple[int, int], Times] = {}
        for length in range(self._last):
            for i in range(1, self._last - length + 1):
                self._parts[i, i + length] = self._part(i, i + length)
        for i in range(self._last, 0, -1):
            for x in (0, 1) if i > 1 else (0,):
                self._states[i, x] = self._state(i, x)

    @property
    def states(self) -> int:
        """The number of states of both programs."""
        tables = (*self._parts.values(), *self._states.values())
        return sum(table.size for table in tables)

    @property
    def time_ns(self) -> float:
        """The value of the program; infinite where nothing fits in slots."""
        return float(self._states[1, 0][0, 0, 0])

    def _moved(self, times: Times | float) -> Times:
        """Return the slots that the link moves in some time."""
        return np.asarray(times, dtype=np.float64) / self._slot_ns

    def _left(self, slots: Times) -> NDArray[np.int64]:
        """Return what is left to move, rounded up to slots."""
        return np.ceil(np.maximum(slots, 0) - _TOLERANCE).astype(np.int64).clip(0)

    def _run(self, i: int, j: int) -> int:
        return sum(self._forward[i : j + 1])

    def _passing(self, i: int, k: int) -> int:
        """Return F0(k) within a run that starts at i, without the gradient."""
        held = self._output[k - 1] if k > i else 0
        return held + self._output[k] + self._overhead[k]

    # C, shape (A, D).

    def _part(self, i: int, j: int) -> Times:
        best = np.full((self._slots + 1, self._slots + 1), _NEVER)
        for _, times in self._choices_of_part(i, j):
            np.minimum(best, times, out=best)
        return best

    def _choices_of_part(self, i: int, j: int) -> Iterator[tuple[int, Times]]:
        """Yield the times of all first choices: 0 for `all`, else the last stage of the run."""
        left = (self._slots - self._index)[:, None]
        d = self._index[None, :]
        own = self._forward[i] + self._backward[i]
        saving = self._output[j] + self._saved[i] + self._saving_overhead[i]
        idle_back = np.maximum(self._back[i] - left + d, 0)
        arriving = self._left(d - idle_back - self._moved(self._backward[i]))
        if i < j:
            inner = _at(self._parts[i + 1, j], self._index[:, None] + self._saved[i], arriving)
        else:
            inner = np.zeros_like(arriving, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            late = np.maximum(arriving - self._moved(inner), 0)
            idle = idle_back + np.maximum(saving - left + late, 0)
        times = own + inner + idle * self._slot_ns
        fits = (saving <= left) & (self._back[i] <= left)
        yield 0, np.where(fits & np.isfinite(inner), times, _NEVER)
        for k in range(i, j):
            needs = [self._output[j] + self._passing(i, stage) for stage in range(i, k + 1)]
            lower = self._parts[i, k]
            rest = self._left(d - self._moved(np.where(np.isfinite(lower), lower, 0)))
            upper = _at(self._parts[k + 1, j], self._index[:, None] + self._output[k], rest)
            widest = max(
                need - float(self._moved(self._run(stage + 1, k)))
                for stage, need in enumerate(needs, start=i)
            )
            both = lower + upper
            with np.errstate(invalid="ignore"):
                late = np.maximum(rest - self._moved(upper), 0)
                idle = np.maximum(widest - left + late, 0)
            times = self._run(i, k) + both + idle * self._slot_ns
            yield k, np.where((max(needs) <= left) & np.isfinite(both), times, _NEVER)

    # OC, shape (A, DF, DB).

    def _state(self, i: int, x: int) -> Times:
        best = np.full((self._slots + 1,) * 3, _NEVER)
        for _, _, times in self._choices_of_state(i, x, self._index):
            np.minimum(best, times, out=best)
        return best

    def _choices_of_state(
        self, i: int, x: int, kept: NDArray[np.int64]
    ) -> Iterator[tuple[int, bool, Times]]:
        """Yield the times of all choices where so much is kept: as above, and if it offloads."""
        size = self._saved[i - 1] if x else self._output[i - 1]
        left = (self._slots - kept - size)[:, None]
        amount = self._index[None, :]
        idle_back = np.maximum(self._back[i] - left + amount, 0)
        back = self._backward[i] + idle_back * self._slot_ns
        saving = self._saved[i] + self._saving_overhead[i]
        forward = self._forward[i] + np.maximum(saving - left + amount, 0) * self._slot_ns
        fits = (saving <= left) & (self._back[i] <= left)
        forward, back = (np.where(fits, times, _NEVER) for times in (forward, back))
        if i == self._last:
            ends = [
                times + np.maximum(amount * self._slot_ns - times, 0) for times in (forward, back)
            ]
            yield 0, False, ends[0][:, :, None] + ends[1][:, None, :]
            return
        yield from self._either(0, (i + 1, 1), size, kept, forward, back)
        for j in range(i, self._last):
            needs = [self._passing(i, k) for k in range(i, j + 1)]
            if max(needs) > self._slots:
                return
            widest = max(
                need - float(self._moved(self._run(i, k - 1)))
                for k, need in enumerate(needs, start=i)
            )
            forward = self._run(i, j) + np.maximum(widest - left + amount, 0) * self._slot_ns
            forward = np.where(max(needs) <= left, forward, _NEVER)
            back = _at(self._parts[i, j], kept[:, None] + size, amount)
            yield from self._either(j, (j + 1, 0), size, kept, forward, back)

    def _either(
        self,
        part: int,
        place: tuple[int, int],
        size: int,
        kept: NDArray[np.int64],
        forward: Times,
        back: Times,
    ) -> Iterator[tuple[int, bool, Times]]:
        """Yield the times if the input is kept, and if it is offloaded."""
        following = self._states[place]
        amount = self._index[None, :]
        run, returned = (np.where(np.isfinite(t), self._moved(t), 0) for t in (forward, back))
        for offloads in (False, True):
            moved = size if offloads else 0
            leaving = self._left(amount + moved - run)
            coming = self._left(amount - returned) + moved
            after = kept + size - moved
            over = (leaving - self._slots).clip(0)[:, :, None]
            over = (over + (coming - self._slots).clip(0)[:, None, :]) * self._slot_ns
            times = following[
                after.clip(0, self._slots)[:, None, None],
                leaving.clip(0, self._slots)[:, :, None],
                coming.clip(0, self._slots)[:, None, :],
            ]
            times = times + forward[:, :, None] + back[:, None, :] + over
            times[after > self._slots] = _NEVER
            yield part, offloads, times

    # The plan.

    def plan(self) -> OffloadPlan:
        """Return a plan of this value; call it only where that is finite."""
        operations: list[ChainOperation] = []
        backwards: list[list[ChainOperation]] = []
        offloaded: list[Tensor] = []
        i = x = a = df = db = 0
        i = 1
        while i <= self._last:
            kept = np.array([a])
            choices = self._choices_of_state(i, x, kept)
            last, offloads, _ = min(choices, key=lambda choice: choice[2][0, df, db])
            size = self._saved[i - 1] if x else self._output[i - 1]
            left = self._slots - a - size
            if last == 0:
                operations.append(ChainOperation(ChainOperationKind.FORWARD_ALL, i))
                backwards.append([ChainOperation(ChainOperationKind.BACKWARD, i)])
                need = float(self._saved[i] + self._saving_overhead[i])
                forward = float(self._forward[i])
                back = self._backward[i] + max(self._back[i] - left + db, 0) * self._slot_ns
            else:
                operations += _pass(i, last)
                backwards.append(self._operations_of_part(i, last, a + size, db))
                need = max(
                    self._passing(i, k) - float(self._moved(self._run(i, k - 1)))
                    for k in range(i, last + 1)
                )
                forward = float(self._run(i, last))
                back = float(self._parts[i, last][a + size, db])
            forward += max(need - left + df, 0) * self._slot_ns
            moved = size if offloads else 0
            if offloads:
                offloaded.append(Tensor(TensorKind.SAVED if x else TensorKind.PLAIN, i - 1))
            a += size - moved
            df = min(int(self._left(df + moved - self._moved(forward))), self._slots)
            db = min(int(self._left(db - self._moved(back))) + moved, self._slots)
            i, x = (i + 1, 1) if last == 0 else (last + 1, 0)
        for part in reversed(backwards):
            operations += part
        return OffloadPlan(ChainSchedule(tuple(operations)), tuple(offloaded))

    def _operations_of_part(self, i: int, j: int, a: int, d: int) -> list[ChainOperation]:
        choices = self._choices_of_part(i, j)
        last, _ = min(choices, key=lambda choice: float(choice[1][a, d]))
        if last == 0:
            left = self._slots - a
            idle = max(self._back[i] - left + d, 0)
            rest = int(self._left(d - idle - self._moved(self._backward[i])))
            inner = self._operations_of_part(i + 1, j, a + self._saved[i], rest) if i < j else []
            save, back = (
                ChainOperation(kind, i)
                for kind in (ChainOperationKind.FORWARD_ALL, ChainOperationKind.BACKWARD)
            )
            return [save, *inner, back]
        rest = int(self._left(d - self._moved(self._parts[i, last][a, d])))
        upper = self._operations_of_part(last + 1, j, a + self._output[last], rest)
        return [*_pass(i, last), *upper, *self._operations_of_part(i, last, a, d)]


def _pass(i: int, j: int) -> list[ChainOperation]:
    kinds = [ChainOperationKind.FORWARD_CHECKPOINT, *([ChainOperationKind.FORWARD_NONE] * (j - i))]
    return [ChainOperation(kind, k) for k, kind in enumerate(kinds, start=i)]


def _at(table: Times, kept: NDArray[np.int64], amount: NDArray[np.int64]) -> Times:
    """Return entries of a table of parts; infinite where more is kept than there is."""
    slots = len(table) - 1
    found = table[kept.clip(0, slots), amount.clip(0, slots)]
    return np.where(kept <= slots, found, _NEVER)
