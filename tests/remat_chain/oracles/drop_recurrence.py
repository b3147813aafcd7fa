"""The four tables of the persistent program with drops, written down as they stand, and misread.

One memoised function per table, in exact bytes, for chains of a few stages. `Reading` names what
can be got wrong: each has a case in which it promises a time that no schedule has, or misses one
that some schedule has. Nothing here is shared with the kernels or with the thresholds they are
given.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from functools import cache

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead


class Reading(Enum):
    """Reading of the recurrence."""

    RIGHT = auto()
    WITHOUT_DROPS = auto()  # rotor: C_0 without its third line
    TWO_TABLES = auto()  # E begins with F_all
    SAVED_NOT_COUNTED = auto()  # thresholds of p = 1 without what the last stage saved
    INPUT_NOT_NEEDED = auto()  # thresholds of E without its input
    INPUT_NOT_SUBTRACTED = auto()  # parts of E as if its input were not there
    GRADIENT_NOT_COUNTED = auto()  # n without the gradient and the output of t
    WRITTEN_NOT_COUNTED = auto()  # B without the gradient that it writes
    NO_DROP_WITHIN_E = auto()  # E without its third line
    NO_DROP_WITHIN_RETURN = auto()  # C_1 without its third line
    NO_DROP_AT_THE_END = auto()  # no E_0(t,t)


def time_by_recurrence(
    chain: Chain, memory_bytes: int, reading: Reading = Reading.RIGHT
) -> int | None:
    """Return C_0(1, N, M - a^0), or None where it is infinite; O(N^3) per memory that occurs."""
    count = len(chain)
    a = [chain.input_bytes, *(stage.output_bytes for stage in chain)]
    gradient = [
        chain.input_bytes,
        *(
            stage.output_bytes
            if stage.output_gradient_bytes is None
            else stage.output_gradient_bytes
            for stage in chain
        ),
    ]
    saved = [0, *(stage.saved_bytes for stage in chain)]
    forward_extra = [0, *(stage.forward_overhead_bytes for stage in chain)]
    saving_extra = [0, *(saving_overhead(stage) for stage in chain)]
    forward = [0, *(stage.forward_ns for stage in chain)]
    backward = [0, *(stage.backward_ns for stage in chain)]

    def beta(s: int) -> int:
        written = 0 if reading is Reading.WRITTEN_NOT_COUNTED else gradient[s - 1]
        extra = chain.stages[s - 1].backward_overhead_bytes
        if chain.backward_overhead_holds_gradient:
            written = 0
        return saved[s] + gradient[s] + written + extra

    def waiting(p: int, t: int) -> int:
        return gradient[t] + (0 if reading is Reading.SAVED_NOT_COUNTED else p * saved[t])

    def to_save(p: int, s: int, t: int) -> int:
        return waiting(p, t) + saved[s] + saving_extra[s]

    def to_pass(p: int, s: int, t: int) -> int:
        passing = max(
            a[s] + forward_extra[s],
            *(a[j - 1] + a[j] + forward_extra[j] for j in range(s + 1, t)),
            0,
        )
        if reading is Reading.GRADIENT_NOT_COUNTED:
            return passing + waiting(p, t) - gradient[t]
        return passing + waiting(p, t)

    def run(s: int, k: int) -> int:
        return sum(forward[s:k])

    @cache
    def whole(p: int, s: int, t: int, m: int) -> float:
        if s == t:
            if p == 1:
                return backward[s] if m >= beta(s) else math.inf
            fits = m >= max(to_save(0, s, s), beta(s))
            return forward[s] + backward[s] if fits else math.inf
        best = math.inf
        if m >= max(to_save(p, s, t), beta(s)):
            best = forward[s] + backward[s] + whole(p, s + 1, t, m - saved[s])
        if m < to_pass(p, s, t):
            return best
        for k in range(s + 1, t + 1):
            time = run(s, k) + whole(p, k, t, m - a[k - 1]) + whole(0, s, k - 1, m)
            best = min(best, time)
        if reading is Reading.WITHOUT_DROPS:
            return best
        if reading is Reading.NO_DROP_WITHIN_RETURN and p == 1:
            return best
        for k in range(s + 1, t - p + 1):
            best = min(best, run(s, k) + dropping(p, k, t, m) + whole(1, s, k, m))
        return best

    @cache
    def dropping(p: int, s: int, t: int, m: int) -> float:
        counted = 0 if reading is Reading.INPUT_NOT_NEEDED else a[s - 1]
        if s == t:
            ends = p == 0 and reading is not Reading.NO_DROP_AT_THE_END
            return forward[s] if ends and m >= to_save(0, s, s) + counted else math.inf
        best = math.inf
        if m >= to_save(p, s, t) + counted:
            best = forward[s] + whole(p, s + 1, t, m - saved[s])
        if reading is Reading.TWO_TABLES or m < to_pass(p, s, t) + counted:
            return best
        held = 0 if reading is Reading.INPUT_NOT_SUBTRACTED else a[s - 1]
        for k in range(s + 1, t + 1):
            time = run(s, k) + whole(p, k, t, m - held - a[k - 1]) + dropping(0, s, k - 1, m)
            best = min(best, time)
        if reading is Reading.NO_DROP_WITHIN_E:
            return best
        for k in range(s + 1, t - p + 1):
            best = min(best, run(s, k) + dropping(p, k, t, m - held) + dropping(1, s, k, m))
        return best

    time_ns = whole(0, 1, count, memory_bytes - chain.input_bytes)
    return None if math.isinf(time_ns) else int(time_ns)
