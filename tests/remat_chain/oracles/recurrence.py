"""The recurrence of RR-9302's Theorem 1 as plain loops over bytes, for chains of any length.

Its readings can be exchanged one by one. The corrected ones are the defaults, and are compared with
the brute force where that can follow; they then stand for it on longer chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead

Pairs = Iterable[tuple[int, int]]
Table = dict[tuple[int, int, int], float]


def need_all(chain: Chain, s: int, t: int) -> int:
    """Return what F_all and B of stage s need beside the gradient of stage t: m_all(s, t)."""
    stage = chain.stages[s - 1]
    forward = _gradient_bytes(chain, t) + stage.saved_bytes + saving_overhead(stage)
    written = 0 if chain.backward_overhead_holds_gradient else _gradient_bytes(chain, s - 1)
    backward = (
        _gradient_bytes(chain, s) + stage.saved_bytes + written + stage.backward_overhead_bytes
    )
    return max(forward, backward)


def need_none(chain: Chain, s: int, t: int) -> int:
    """Return what passing from stage s to stage t needs: m_nul(s, t)."""
    widest = chain.stages[s - 1].output_bytes + chain.stages[s - 1].forward_overhead_bytes
    for j in range(s + 1, t):
        passing = _activation_bytes(chain, j - 1) + _activation_bytes(chain, j)
        widest = max(widest, passing + chain.stages[j - 1].forward_overhead_bytes)
    return _gradient_bytes(chain, t) + widest


def saved_bytes(chain: Chain, s: int) -> int:
    """Return what F_all of stage s leaves in memory."""
    return chain.stages[s - 1].saved_bytes


def ends_ascending(count: int) -> Pairs:
    """Visit the sub-chains with t ascending and s descending: each after all that it reads."""
    return ((s, t) for t in range(1, count + 1) for s in range(t - 1, 0, -1))


@dataclass(frozen=True)
class Recurrence:
    """One way to read Theorem 1 and Algorithm 1."""

    need_all: Callable[[Chain, int, int], int] = need_all
    subtracted_bytes: Callable[[Chain, int], int] = saved_bytes
    order: Callable[[int], Pairs] = ends_ascending

    def fastest(self, chain: Chain, memory_bytes: int) -> int | None:
        """Return the value of the recurrence, or None if it is infinite."""
        available = memory_bytes - chain.input_bytes
        best = self.table(chain, available).get((1, len(chain.stages), available), math.inf)
        return None if best == math.inf else int(best)

    def table(self, chain: Chain, available: int) -> Table:
        """Return the values of all sub-chains (s, t) in every memory m up to `available`."""
        count = len(chain.stages)
        table: Table = {}
        for s, stage in enumerate(chain.stages, start=1):
            for m in range(self.need_all(chain, s, s), available + 1):
                table[s, s, m] = stage.forward_ns + stage.backward_ns
        for s, t in self.order(count):
            self._fill(chain, table, s, t, available)
        return table

    def _fill(self, chain: Chain, table: Table, s: int, t: int, available: int) -> None:
        stage = chain.stages[s - 1]
        passing = list(accumulate(item.forward_ns for item in chain.stages[s - 1 : t - 1]))
        saving_need, passing_need = self.need_all(chain, s, t), need_none(chain, s, t)
        left = self.subtracted_bytes(chain, s)
        for m in range(available + 1):
            best = math.inf
            if m >= saving_need:
                rest = table.get((s + 1, t, m - left), math.inf)
                best = stage.forward_ns + stage.backward_ns + rest
            if m >= passing_need:
                for split in range(s + 1, t + 1):
                    kept = _activation_bytes(chain, split - 1)
                    after = table.get((split, t, m - kept), math.inf)
                    before = table.get((s, split - 1, m), math.inf)
                    best = min(best, passing[split - s - 1] + after + before)
            table[s, t, m] = best


def _activation_bytes(chain: Chain, number: int) -> int:
    return chain.input_bytes if number == 0 else chain.stages[number - 1].output_bytes


def _gradient_bytes(chain: Chain, number: int) -> int:
    if number == 0:
        return chain.input_bytes
    stage = chain.stages[number - 1]
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
