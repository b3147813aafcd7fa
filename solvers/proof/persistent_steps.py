r"""Step functions below the persistent program, for `certificates/persistent_bellman.py` to check.

All in terms of :math:`h(s,t,m)`, what a sub-chain costs beyond all of its operations once. To prove
that the root costs at least :math:`\Delta` two passes are made.

*Up.* The step functions :math:`h(s,t,\cdot)` are merged from those of shorter sub-chains. What no
solution of a cost below :math:`\Delta` can use is left out, by two numbers that go down from the
root first: :math:`R(s,t)`, the most memory that the sub-chain can have, and :math:`D(s,t)`, what of
:math:`\Delta` is left for it when each split above it has cost the forward operations that it
repeats and nothing else. A cost of :math:`D(s,t)` or more counts as infinite.

*Down.* The root asks for :math:`\Delta`. A sub-chain that is asked for at least :math:`v` in memory
:math:`m` writes the step :math:`(m^\ast, v)`, where :math:`m^\ast` is the largest memory with a
cost of at least :math:`v`, and asks of every way to begin what it needs: of a split that repeats
:math:`U`, one part for :math:`v - U` where that part costs so much alone, else both parts. So only
what the claim rests on is written; most splits repeat too much and need nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.instances.chain import Chain
from jettison.solvers.chain_needs import ChainNeeds
from jettison.solvers.clock import Clock

# Corners of all step functions together: 16 bytes each.
MOST_CORNERS = 10_000_000
# Above every cost that counts, and small enough that three of them can be added.
_NEVER = 2**60

Integers = NDArray[np.int64]
# Of each sub-chain the costs that are asked for, each in all memories in which they are true.
Demands = dict[tuple[int, int], set[int]]


@dataclass(frozen=True, slots=True)
class StepFunction:
    """With ``memories[i]`` bytes or more the cost is ``costs[i]``; below the first one infinite."""

    memories: Integers
    costs: Integers

    def at(self, memories: Integers) -> Integers:
        """Return the costs in some memories."""
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


class PersistentSteps:
    r"""The proof that the persistent schedules of a chain cost at least some amount.

    Stages are counted from 0 here, as `ChainNeeds` has them.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    extra_ns
        What is to be proved, :math:`\Delta`: the time beyond all operations once; None to prove
        that nothing fits.
    clock
        When to give up.

    Raises
    ------
    TimeoutError
        If the time is up, or the step functions have too many corners to go on.
    """

    def __init__(self, chain: Chain, memory_bytes: int, extra_ns: int | None, clock: Clock) -> None:
        self._needs = ChainNeeds(chain)
        self._count = len(chain)
        self._memory = memory_bytes - chain.input_bytes
        # That nothing fits is the claim of a cost of 1 where all durations are 0.
        self._goal = 1 if extra_ns is None else extra_ns
        durations = [0 if extra_ns is None else stage.forward_ns for stage in chain]
        self._before_ns: list[int] = [0, *np.cumsum(np.array(durations, dtype=object)).tolist()]
        self._inputs = [int(size) for size in self._needs.input_bytes]
        self._saved = [int(size) for size in self._needs.saved_bytes]
        self._clock = clock
        self._corners = 0
        self._functions: dict[tuple[int, int], StepFunction] = {}
        if self._memory >= 0 and self._goal > 0:
            self._room, self._left = self._limits()
            self._fill()

    @property
    def is_true(self) -> bool:
        """Whether the persistent schedules do cost as much."""
        return self.cost >= self._goal

    @property
    def cost(self) -> int:
        r"""What the persistent schedules cost if it is less than :math:`\Delta`, else as much."""
        if self._memory < 0 or self._goal <= 0:
            return self._goal
        return min(self._function(0, self._count - 1).value(self._memory), self._goal)

    def records(self) -> Iterator[str]:
        """Yield the lines of the proof; only if `is_true`.

        Raises
        ------
        TimeoutError
            If the time is up.
        """
        if self._memory < 0 or self._goal <= 0:
            return
        demands: Demands = {(0, self._count - 1): {self._goal}}
        lines = []
        for length in range(self._count - 1, -1, -1):
            for s in range(self._count - length):
                t = s + length
                if asked := demands.pop((s, t), None):
                    steps = self._steps(s, t, asked)
                    for memory, cost in steps:
                        self._ask(s, t, memory, cost, demands)
                    text = " ".join(f"{memory}:{cost}" for memory, cost in steps)
                    lines.append(f"p {s + 1} {t + 1} {text}")
            self._check_time()
        # A sub-chain rests on shorter ones, which come first in the file.
        yield from reversed(lines)

    def _limits(self) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
        r"""Return :math:`R` and :math:`D` of the sub-chains that can be of use."""
        root = (0, self._count - 1)
        room, left = {root: self._memory}, {root: self._goal}

        def reach(child: tuple[int, int], memory: int, cost: int) -> None:
            if memory >= 0 and cost > 0:
                room[child] = max(room.get(child, -1), memory)
                left[child] = max(left.get(child, 0), cost)

        for length in range(self._count - 1, 0, -1):
            for s in range(self._count - length):
                t = s + length
                if (s, t) not in room:
                    continue
                memory, cost = room[s, t], left[s, t]
                reach((s + 1, t), memory - self._saved[s], cost)
                for split in range(s + 1, t + 1):
                    rest = cost - self._again(s, split)
                    if rest <= 0:
                        break
                    reach((split, t), memory - self._inputs[split], rest)
                    reach((s, split - 1), memory, rest)
            self._check_time()
        return room, left

    def _again(self, s: int, split: int) -> int:
        """Return what the forward operations take that a split repeats."""
        return self._before_ns[split] - self._before_ns[s]

    def _fill(self) -> None:
        for length in range(self._count):
            for s in range(self._count - length):
                if (s, s + length) in self._room:
                    function = self._merged(s, s + length)
                    self._functions[s, s + length] = function
                    self._corners += len(function.costs)
            self._check_time()

    def _merged(self, s: int, t: int) -> StepFunction:
        saving = int(self._needs.forward_all[s, t])
        if s == t:
            return StepFunction(np.array([saving]), np.array([0]))
        after = self._function(s + 1, t)
        memories = [np.maximum(after.memories + self._saved[s], saving)]
        costs = [after.costs]
        passing = int(self._needs.forward_none[s, t])
        for split in range(s + 1, t + 1):
            again = self._again(s, split)
            if again >= self._left[s, t]:
                break
            right, left = self._function(split, t), self._function(s, split - 1)
            held = self._inputs[split]
            places = np.concatenate((right.memories + held, left.memories))
            memories.append(np.maximum(places, passing))
            costs.append(again + right.at(places - held) + left.at(places))
        return self._envelope(np.concatenate(memories), np.concatenate(costs), s, t)

    def _envelope(self, memories: Integers, costs: Integers, s: int, t: int) -> StepFunction:
        """Return the least cost in each memory, without what is of no use."""
        useful = (memories <= self._room[s, t]) & (costs < self._left[s, t])
        memories, costs = memories[useful], costs[useful]
        if not len(memories):
            return _NOWHERE
        order = np.lexsort((costs, memories))
        memories, costs = memories[order], np.minimum.accumulate(costs[order])
        falls = np.append(True, costs[1:] < costs[:-1])
        return StepFunction(memories[falls], costs[falls])

    def _function(self, s: int, t: int) -> StepFunction:
        return self._functions.get((s, t), _NOWHERE)

    def _steps(self, s: int, t: int, asked: set[int]) -> list[tuple[int, int]]:
        """Return the steps that answer all that is asked of a sub-chain, memories ascending."""
        function = self._function(s, t)
        most: dict[int, int] = {}
        for cost in asked:
            last = function.last_memory(cost)
            if last is None or last > self._room[s, t]:
                last = self._room[s, t]
            most[last] = max(most.get(last, 0), cost)
        steps: list[tuple[int, int]] = []
        for memory, cost in sorted(most.items(), reverse=True):
            if not steps or cost > steps[-1][1]:
                steps.append((memory, cost))
        return steps[::-1]

    def _ask(self, s: int, t: int, memory: int, cost: int, demands: Demands) -> None:
        """Ask the parts of every beginning for what a step needs."""
        if memory >= self._needs.forward_all[s, t]:
            _demand(demands, (s + 1, t), cost)
        if s == t or memory < self._needs.forward_none[s, t]:
            return
        for split in range(s + 1, t + 1):
            rest = cost - self._again(s, split)
            if rest <= 0:
                return
            held = memory - self._inputs[split]
            if held < 0:
                continue
            left, right = (s, split - 1), (split, t)
            left_cost = self._function(*left).value(memory)
            right_cost = self._function(*right).value(held)
            if left_cost >= rest:
                _demand(demands, left, rest)
            elif right_cost >= rest:
                _demand(demands, right, rest)
            else:
                _demand(demands, left, left_cost)
                _demand(demands, right, rest - left_cost)

    def _check_time(self) -> None:
        if self._clock.left_s <= 0 or self._corners > MOST_CORNERS:
            raise TimeoutError


def _demand(demands: Demands, part: tuple[int, int], cost: int) -> None:
    if cost > 0:
        demands.setdefault(part, set()).add(cost)
