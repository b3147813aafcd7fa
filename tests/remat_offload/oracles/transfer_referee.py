"""Checks when things happened against what a device can do, without replaying anything.

It is told when each operation started and ended, and works out from Table 1 of POFO alone which
tensor takes memory from when to when. Then it adds up what is in use at every time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from jettison import Chain, Link
from jettison.core import Replay
from jettison.remat_chain import ChainOperation
from jettison.remat_offload import OffloadSchedule
from tests.drawing.overheads import saving_overhead


@dataclass
class Held:
    """One tensor in memory: since when, complete from when on, needed until when."""

    size: int
    since: int
    ready: int
    until: int = 0


@dataclass
class Referee:
    """Reads a schedule with its times; every claim that fails is an AssertionError."""

    chain: Chain
    link: Link
    held: dict[str, Held] = field(default_factory=dict)
    hosted: dict[str, int] = field(default_factory=dict)
    usage: list[tuple[int, int]] = field(default_factory=list)

    def peak_bytes(self, schedule: OffloadSchedule, replay: Replay) -> int:
        """Check the times of a replay; return the most memory in use for longer than no time."""
        self._hold("a0", self.chain.input_bytes, 0, 0)
        self._hold(f"d{len(self.chain)}", 0, 0, 0)
        computed = offloaded = prefetched = 0
        steps, moves = list(replay.steps), list(replay.transfers)
        for item in schedule.operations:
            if isinstance(item, ChainOperation):
                step = steps.pop(0)
                assert step.start_ns >= computed, "one computation at a time"
                computed = step.end_ns
                self._compute(str(item), step.start_ns, step.end_ns)
                continue
            kind, number = str(item).split()
            name = ("A" if kind.endswith("_all") else "a") + number
            if kind[0] == "D":
                self._free(name, 0)
                continue
            move = moves.pop(0)
            size = self._size(name)
            ticks = Fraction(size * 10**9, self.link.bytes_per_s)
            assert move.size_bytes == size
            assert move.end_ns - move.start_ns == math.ceil(ticks)
            if kind[0] == "O":
                assert move.start_ns >= offloaded, "one offload at a time"
                offloaded = move.end_ns
                self._read(name, move.start_ns, move.end_ns)
                self.hosted.setdefault(name, move.end_ns)
            else:
                assert move.start_ns >= prefetched, "one prefetch at a time"
                prefetched = move.end_ns
                assert move.start_ns >= self.hosted[name], "the copy is complete"
                self._hold(name, size, move.start_ns, move.end_ns)
        assert not steps
        assert not moves
        assert list(self.held) == ["d0"], "nothing but the last gradient is left"
        self._free("d0", computed)
        in_use = most = 0
        for _, change in sorted(self.usage):
            # Of changes at the same time the returns come first.
            in_use += change
            most = max(most, in_use)
        assert in_use == 0
        return most

    def _compute(self, text: str, start: int, end: int) -> None:
        kind, word = text.split()
        number = int(word)
        stage = self.chain.stage(number)
        given = f"a{number - 1}" if f"a{number - 1}" in self.held else f"A{number - 1}"
        if kind == "B":
            assert end - start == stage.backward_ns
            for name in (given, f"A{number}", f"d{number}"):
                self._read(name, start, end)
            # Where the overhead holds the gradient, it only takes memory of its own afterwards.
            is_apart = not self.chain.backward_overhead_holds_gradient
            made = f"d{number - 1}"
            self._hold(made, self._size(made), start if is_apart else end, end)
            self._use(start, end, stage.backward_overhead_bytes)
            self._free(f"A{number}", end)
            self._free(f"d{number}", end)
            if given.startswith("a"):
                self._free(given, end)
            return
        assert end - start == stage.forward_ns
        self._read(given, start, end)
        extra = saving_overhead(stage) if kind == "F_all" else stage.forward_overhead_bytes
        self._use(start, end, extra)
        made = f"A{number}" if kind == "F_all" else f"a{number}"
        self._hold(made, self._size(made), start, end)
        if kind == "F_none":
            self._free(given, end)

    def _size(self, name: str) -> int:
        number = int(name[1:])
        if name[0] == "A":
            return self.chain.stage(number).saved_bytes
        if number == 0:
            return self.chain.input_bytes
        slope = self.chain.stage(number).output_gradient_bytes
        if name[0] == "d" and slope is not None:
            return slope
        return self.chain.stage(number).output_bytes

    def _hold(self, name: str, size: int, since: int, ready: int) -> None:
        assert name not in self.held, f"{name} twice"
        self.held[name] = Held(size, since, ready, ready)

    def _read(self, name: str, start: int, end: int) -> None:
        assert self.held[name].ready <= start, f"{name} is read before it is there"
        self.held[name].until = max(self.held[name].until, end)

    def _free(self, name: str, when: int) -> None:
        held = self.held.pop(name)
        until = max(held.until, when, self.hosted.get(name, 0))
        self._use(held.since, until, held.size)

    def _use(self, since: int, until: int, size: int) -> None:
        self.usage += [(since, size), (until, -size)]
