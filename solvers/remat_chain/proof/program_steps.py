r"""Step functions that bound a dynamic program over sub-chains from below, for certificates.

`certificates/remat_chain/bellman.py` checks them.

Costs are :math:`h(x,s,t,m)`: the time of a sub-chain beyond one run of each of its operations, in
each table :math:`x` of the program. Two passes prove that the root costs at least :math:`\Delta`.

*Up.* The step functions :math:`h(x,s,t,\cdot)` are merged from those of shorter sub-chains. Steps
that no solution of a cost below :math:`\Delta` can use are left out. Two numbers, computed first
from the root downwards, tell which: :math:`R(x,s,t)`, the most memory that the sub-chain can have,
and :math:`D(x,s,t)`, the part of :math:`\Delta` that is left for it when each beginning above it
has cost only the forward operations that it repeats. A cost of :math:`D(x,s,t)` or more counts as
infinite.

*Down.* The root asks for :math:`\Delta`. A sub-chain that is asked for at least :math:`v` in memory
:math:`m` writes the step :math:`(m^\ast, v)`, where :math:`m^\ast` is the largest memory with a
cost of at least :math:`v`, and asks the parts of every beginning for what this step needs: of a
split that repeats :math:`U`, one part for :math:`v - U` where that part alone costs as much, else
both parts. So only what the claim rests on is written; most splits repeat more than :math:`v` and
ask for nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_chain.chain import Chain
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params

# Above every cost that counts, and small enough that three of them can be added.
_NEVER = 2**60

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ProgramProofParams(Params):
    """Parameters of the certificates of the persistent programs.

    Attributes
    ----------
    share_of_program
        Share of the time for the program; the cut beside it needs little.
    most_corners
        Most corners of all step functions together, 16 bytes each.
    """

    share_of_program: float = 0.9
    most_corners: int = 10_000_000


PROGRAM_PROOF = ProgramProofParams()


class Key(NamedTuple):
    """Sub-problem: a table, and the first and the last stage of a sub-chain, counted from 0."""

    table: int
    s: int
    t: int


class Beginning(NamedTuple):
    """First decision of a sub-chain, possible from some memory on, and the parts that it leaves.

    Each part has the memory that is there but for what is held beside it.
    """

    needs_bytes: int
    again_ns: int
    parts: tuple[tuple[Key, int], ...]


# The costs that are asked of each sub-chain; each is proved for all memories in which it holds.
Demands = dict["Key", set[int]]


@dataclass(frozen=True, slots=True)
class StepFunction:
    """Step function of memory: ``costs[i]`` from ``memories[i]`` bytes on, infinite before that."""

    memories: Integers
    costs: Integers

    def at(self, memories: Integers) -> Integers:
        """Return the costs in an array of memories."""
        places = np.searchsorted(self.memories, memories, "right") - 1
        return np.where(places < 0, _NEVER, self.costs[places])

    def value(self, memory: int) -> int:
        """Return the cost in one memory."""
        place = int(self.memories.searchsorted(memory, "right")) - 1
        return _NEVER if place < 0 else int(self.costs[place])

    def last_memory(self, cost: int) -> int | None:
        """Return the largest memory with at least this cost; None if there is no largest."""
        place = int((-self.costs).searchsorted(-cost, "right"))
        return None if place == len(self.costs) else int(self.memories[place]) - 1


_NOWHERE = StepFunction(np.array([_NEVER]), np.array([_NEVER]))


class ProgramSteps(ABC):
    r"""Proof that the schedules of a class cost at least a given time on a chain.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    extra_ns
        The claim :math:`\Delta`: time beyond one run of each operation; None to prove that nothing
        fits.
    clock
        The time limit.
    params
        The limit on corners.

    Attributes
    ----------
    tables
        The names of the tables; the first has the root.
    order
        The tables in an order in which one sub-chain rests only on those before.

    Raises
    ------
    TimeoutError
        If the time is up, or the step functions have too many corners to go on.
    """

    tables: ClassVar[tuple[str, ...]]
    order: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        chain: Chain,
        memory_bytes: int,
        extra_ns: int | None,
        clock: Clock,
        params: ProgramProofParams,
    ) -> None:
        self._count = len(chain)
        self._memory = memory_bytes - chain.input_bytes
        # "Nothing fits" is proved as a cost of at least 1 where all durations are 0.
        self._goal = 1 if extra_ns is None else extra_ns
        durations = [0 if extra_ns is None else stage.forward_ns for stage in chain]
        self._before_ns: list[int] = [0, *np.cumsum(np.array(durations, dtype=object)).tolist()]
        self._clock = clock
        self._params = params
        self._corners = 0
        self._root = Key(0, 0, self._count - 1)
        self._functions: dict[Key, StepFunction] = {}
        if self._memory >= 0 and self._goal > 0:
            self._room, self._left = self._limits()
            self._fill()

    @abstractmethod
    def _beginnings(self, key: Key) -> Iterator[Beginning]:
        """Yield the possible beginnings of a sub-chain, those that repeat least first."""

    @property
    def is_true(self) -> bool:
        """Whether the claim holds."""
        return self.cost >= self._goal

    @property
    def cost(self) -> int:
        r"""The least cost of a schedule, or :math:`\Delta` if that is less."""
        if self._memory < 0 or self._goal <= 0:
            return self._goal
        return min(self._function(self._root).value(self._memory), self._goal)

    def records(self) -> Iterator[str]:
        """Yield the lines of the proof; only if `is_true`.

        Raises
        ------
        TimeoutError
            If the time is up.
        """
        if self._memory < 0 or self._goal <= 0:
            return
        demands: Demands = {self._root: {self._goal}}
        lines = []
        for key in self._keys_downwards():
            if asked := demands.pop(key, None):
                steps = self._steps(key, asked)
                for memory, cost in steps:
                    self._ask(key, memory, cost, demands)
                text = " ".join(f"{memory}:{cost}" for memory, cost in steps)
                lines.append(f"{self.tables[key.table]} {key.s + 1} {key.t + 1} {text}")
        # A sub-chain rests on shorter ones, which come first in the file.
        yield from reversed(lines)

    def _keys_downwards(self) -> Iterator[Key]:
        """Yield all sub-chains, each before those that it rests on."""
        for length in range(self._count - 1, -1, -1):
            for table in reversed(self.order):
                for s in range(self._count - length):
                    yield Key(table, s, s + length)
            self._check_time()

    def _limits(self) -> tuple[dict[Key, int], dict[Key, int]]:
        r"""Return :math:`R` and :math:`D` of the sub-chains that a cheap solution can use."""
        room, left = {self._root: self._memory}, {self._root: self._goal}
        for key in self._keys_downwards():
            if key not in room:
                continue
            memory, cost = room[key], left[key]
            for needs, again, parts in self._beginnings(key):
                if again >= cost:
                    break
                if memory < needs or any(memory < held for _, held in parts):
                    continue
                for part, held in parts:
                    room[part] = max(room.get(part, -1), memory - held)
                    left[part] = max(left.get(part, 0), cost - again)
        return room, left

    def _again(self, s: int, split: int) -> int:
        """Return the time of the forward operations that a split repeats."""
        return self._before_ns[split] - self._before_ns[s]

    def _fill(self) -> None:
        for count, key in enumerate(sorted(self._room, key=self._rank)):
            self._functions[key] = self._merged(key)
            self._corners += len(self._functions[key].costs)
            if count % 32 == 0:
                self._check_time()

    def _rank(self, key: Key) -> tuple[int, int, int]:
        return key.t - key.s, self.order.index(key.table), key.s

    def _merged(self, key: Key) -> StepFunction:
        memories, costs = [_NOWHERE.memories], [_NOWHERE.costs]
        for needs, again, parts in self._beginnings(key):
            if again >= self._left[key]:
                break
            if needs > self._room[key]:
                continue
            functions = [(self._function(part), held) for part, held in parts]
            places = [function.memories + held for function, held in functions]
            at = np.concatenate(places) if places else np.array([needs])
            memories.append(np.maximum(at, needs))
            costs.append(
                sum(
                    (function.at(at - held) for function, held in functions),
                    np.full(len(at), again),
                )
            )
        return self._envelope(np.concatenate(memories), np.concatenate(costs), key)

    def _envelope(self, memories: Integers, costs: Integers, key: Key) -> StepFunction:
        """Return the least cost in each memory, without steps beyond :math:`R` and :math:`D`."""
        useful = (memories <= self._room[key]) & (costs < self._left[key])
        memories, costs = memories[useful], costs[useful]
        if not len(memories):
            return _NOWHERE
        order = np.lexsort((costs, memories))
        memories, costs = memories[order], np.minimum.accumulate(costs[order])
        falls = np.append(True, costs[1:] < costs[:-1])
        return StepFunction(memories[falls], costs[falls])

    def _function(self, key: Key) -> StepFunction:
        return self._functions.get(key, _NOWHERE)

    def _steps(self, key: Key, asked: set[int]) -> list[tuple[int, int]]:
        """Return the steps that prove all costs asked of a sub-chain, memories ascending."""
        function = self._function(key)
        most: dict[int, int] = {}
        for cost in asked:
            last = function.last_memory(cost)
            if last is None or last > self._room[key]:
                last = self._room[key]
            most[last] = max(most.get(last, 0), cost)
        steps: list[tuple[int, int]] = []
        for memory, cost in sorted(most.items(), reverse=True):
            if not steps or cost > steps[-1][1]:
                steps.append((memory, cost))
        return steps[::-1]

    def _ask(self, key: Key, memory: int, cost: int, demands: Demands) -> None:
        """Ask the parts of every beginning for the costs that prove a step."""
        for needs, again, parts in self._beginnings(key):
            rest = cost - again
            if rest <= 0:
                return
            if memory < needs or any(memory < held for _, held in parts):
                continue
            costs = [self._function(part).value(memory - held) for part, held in parts]
            enough = [part for (part, _), alone in zip(parts, costs, strict=True) if alone >= rest]
            if enough:
                demands.setdefault(enough[0], set()).add(rest)
                continue
            for (part, _), alone in zip(parts, costs, strict=True):
                if (share := min(alone, rest)) > 0:
                    demands.setdefault(part, set()).add(share)
                    rest -= share

    def _check_time(self) -> None:
        if self._clock.left_s <= 0 or self._corners > self._params.most_corners:
            raise TimeoutError
