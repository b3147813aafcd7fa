from __future__ import annotations
import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
import numpy as np
from jettison.instances.chain import Chain
from jettison.solvers import _kernels


def raw(chain, memory_bytes, bytes_per_s, slots=50, most_labels=1000, most_bytes=250*2**20, recomputes=True, exact=False, time_limit_s=None):
    beta = Fraction(bytes_per_s) / 10**9
    n, d = beta.numerator, beta.denominator
    scale = 1 if memory_bytes == 0 else slots // math.gcd(slots, memory_bytes * d)
    tick = n * scale
    unit = d * scale
    N = len(chain)
    def arr(f, times): return np.array([times * f(k) for k in range(N + 1)], dtype=np.int64)
    memory = memory_bytes * unit
    if memory == 0:
        memory = slots; unit = 2*slots
    out = _kernels.pofo_program(
        arr(lambda k: chain.stage(k).forward_ns if k else 0, tick),
        arr(lambda k: chain.stage(k).backward_ns if k else 0, tick),
        arr(chain.activation_bytes, unit),
        arr(lambda k: chain.stage(k).saved_bytes if k else chain.input_bytes, unit),
        arr(lambda k: chain.stage(k).forward_overhead_bytes if k else 0, unit),
        arr(lambda k: chain.stage(k).saved_bytes + chain.stage(k).output_bytes + chain.backward_output_bytes(k) + chain.stage(k).backward_overhead_bytes if k else 0, unit),
        memory, slots, most_labels, most_bytes, recomputes, exact, time_limit_s)
    lo, t, *rest = out
    return (None if lo is None else Fraction(lo, tick), None if t is None else Fraction(t, tick), *rest)
