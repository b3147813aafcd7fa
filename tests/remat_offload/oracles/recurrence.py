"""The recurrence of POFO's Appendix B, word for word, in exact integers and without any pruning.

Its readings can be exchanged one by one by a subclass. The corrected ones are the defaults, and are
compared with the brute force; they then stand for it on longer chains. With a bandwidth of n / d
bytes per ns, times are counted n-fold and sizes d-fold, so that beta = 1.
"""

from __future__ import annotations

from fractions import Fraction

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead

NEVER = 10**30


def _above_zero(number: int) -> int:
    return max(number, 0)


class OffloadRecurrence:
    """OC and C on one chain, within one memory, with one link."""

    def __init__(self, chain: Chain, memory_bytes: int, bytes_per_ns: Fraction) -> None:
        times, sizes = bytes_per_ns.numerator, bytes_per_ns.denominator
        self.last = len(chain.stages)
        self.memory = memory_bytes * sizes
        self.ticks_per_ns = times
        self.output = [chain.input_bytes * sizes]
        self.gradient = [chain.input_bytes * sizes]
        self.saved = [0]
        self.forward = [0]
        self.backward = [0]
        self.forward_overhead = [0]
        self.saving_overhead = [0]
        self.need_backward = [0]
        for stage in chain.stages:
            written = 0 if chain.backward_overhead_holds_gradient else self.gradient[-1]
            given = stage.output_gradient_bytes
            slope = stage.output_bytes if given is None else given
            self.output.append(stage.output_bytes * sizes)
            self.gradient.append(slope * sizes)
            self.saved.append(stage.saved_bytes * sizes)
            self.forward.append(stage.forward_ns * times)
            self.backward.append(stage.backward_ns * times)
            self.forward_overhead.append(stage.forward_overhead_bytes * sizes)
            self.saving_overhead.append(saving_overhead(stage) * sizes)
            held = stage.saved_bytes + slope + stage.backward_overhead_bytes
            self.need_backward.append(held * sizes + written)
        self._c: dict[tuple[int, int, int, int], int] = {}
        self._oc: dict[tuple[int, int, int, int, int], int] = {}

    def fastest(self) -> Fraction | None:
        """Return the value of the recurrence in nanoseconds, or None if it is infinite."""
        best = self.oc(0, 1, 0, 0, 0)
        return None if best >= NEVER else Fraction(best, self.ticks_per_ns)

    # What the print leaves open or gets wrong.

    def gradient_in_forward_phase(self) -> int:
        """Return the size of the gradient that is in memory before the loss."""
        return 0

    def last_of_parts(self) -> int:
        """Return the last stage that an F_ck part may reach."""
        return self.last - 1

    def returned_beside_part(self, i: int, j: int, a: int, size: int, db: int) -> int:
        """Return D_B of an F_ck part whose input has the given size."""
        return self.c(i, j, a + size, db)

    def gradient_beside_save(self, i: int, j: int) -> int:
        """Return the size of the gradient that must fit beside F_all of i within (i, j)."""
        del i
        return self.gradient[j]

    def left_to_offload(self, df: int, size: int, time: int) -> int:
        """Return the new DF where an input of the given size is offloaded."""
        return _above_zero(df + size - time)

    def run(self, i: int, j: int) -> int:
        """Return the time of F_i..F_j."""
        return sum(self.forward[i : j + 1])

    def passing(self, i: int, k: int, gradient: int) -> int:
        """Return F_0(k) within a run that starts at i."""
        held = self.output[k - 1] if k > i else 0
        return gradient + held + self.output[k] + self.forward_overhead[k]

    def saving(self, i: int, gradient: int) -> int:
        """Return F_A(i)."""
        return gradient + self.saved[i] + self.saving_overhead[i]

    def c(self, i: int, j: int, a: int, d: int) -> int:
        """Return C(i, j, A, D)."""
        key = (i, j, a, d)
        if key not in self._c:
            self._c[key] = min(self._c_all(i, j, a, d), self._c_ck(i, j, a, d))
        return self._c[key]

    def _c_all(self, i: int, j: int, a: int, d: int) -> int:
        left = self.memory - a
        if self.saving(i, self.gradient_beside_save(i, j)) > left or self.need_backward[i] > left:
            return NEVER
        idle_backward = _above_zero(self.need_backward[i] - left + d)
        d1 = _above_zero(d - self.backward[i] - idle_backward)
        inner = self.c(i + 1, j, a + self.saved[i], d1) if i < j else 0
        d2 = _above_zero(d1 - inner)
        idle_forward = _above_zero(self.saving(i, self.gradient[j]) - left + d2)
        return self.forward[i] + self.backward[i] + inner + idle_backward + idle_forward

    def _c_ck(self, i: int, j: int, a: int, d: int) -> int:
        left = self.memory - a
        best = NEVER
        for split in range(i, j):
            needs = [self.passing(i, k, self.gradient[j]) for k in range(i, split + 1)]
            if max(needs) > left:
                break
            lower = self.c(i, split, a, d)
            if lower >= NEVER:
                continue
            d2 = _above_zero(d - lower)
            upper = self.c(split + 1, j, a + self.output[split], d2)
            d3 = _above_zero(d2 - upper)
            late = max(need - self.run(k + 1, split) for k, need in enumerate(needs, start=i))
            idle = _above_zero(late - left + d3)
            best = min(best, self.run(i, split) + lower + upper + idle)
        return best

    def oc(self, x: int, i: int, a: int, df: int, db: int) -> int:
        """Return OC_x(i, A, DF, DB)."""
        key = (x, i, a, df, db)
        if key not in self._oc:
            size = self.saved[i - 1] if x else self.output[i - 1]
            self._oc[key] = min(
                self._oc_all(size, i, a, df, db),
                self._oc_ck(size, i, a, df, db),
            )
        return self._oc[key]

    def _oc_all(self, size: int, i: int, a: int, df: int, db: int) -> int:
        left = self.memory - a - size
        saving = self.saving(i, self.gradient_in_forward_phase())
        if saving > left or self.need_backward[i] > left:
            return NEVER
        forward = self.forward[i] + _above_zero(saving - left + df)
        backward = self.backward[i] + _above_zero(self.need_backward[i] - left + db)
        if i == self.last:
            return forward + backward + _above_zero(df - forward) + _above_zero(db - backward)
        rest = self._either(1, i + 1, size, a, df, db, forward, backward)
        return forward + backward + rest

    def _oc_ck(self, size: int, i: int, a: int, df: int, db: int) -> int:
        left = self.memory - a - size
        best = NEVER
        for j in range(i, self.last_of_parts() + 1):
            needs = [self.passing(i, k, self.gradient_in_forward_phase()) for k in range(i, j + 1)]
            if max(needs) > left:
                break
            part = self.c(i, j, a + size, db)
            if part >= NEVER:
                continue
            early = max(need - self.run(i, k - 1) for k, need in enumerate(needs, start=i))
            forward = self.run(i, j) + _above_zero(early - left + df)
            returned = self.returned_beside_part(i, j, a, size, db)
            rest = self._either(0, j + 1, size, a, df, db, forward, returned)
            best = min(best, forward + part + rest)
        return best

    def _either(
        self, x: int, i: int, size: int, a: int, df: int, db: int, forward: int, backward: int
    ) -> int:
        returned = _above_zero(db - backward)
        return min(
            self.oc(x, i, a, self.left_to_offload(df, size, forward), returned + size),
            self.oc(x, i, a + size, _above_zero(df - forward), returned),
        )
