r"""The least period of a tiny step with offloaded weights, by search over moments.

Written from the rules below alone. It reads the fields of an instance and shares no code with
schedules, replays or solvers.

A state is one moment of a schedule: which operation comes next and what is left of the running one,
which weights are in memory, of which the host has the newest copy, and what is left of the transfer
in each direction.

* Operations run one at a time, :math:`B_L, \dots, B_1, F_1, \dots, F_L` and again, each with the
  weights of its layer in memory, all of them. A backward makes the host's copy old.
* One transfer at a time in each direction; x bytes take :math:`\lceil x / \beta \rceil` ns. Weights
  on their way from the host occupy memory from the start. An upload reads weights that are in
  memory, all of them, and not while their backward runs.
* Weights that nothing uses or moves may leave memory if the host has the newest copy.
* Memory holds the weights, and what the running operation needs, or between operations what the
  last one has left.
* At one moment things that have lasted until then end; then anything may start, one thing after the
  other, and what takes no time ends at once.

A step that repeats with period :math:`T` is a closed walk: it takes :math:`T` ticks, runs every
operation once and ends in the state in which it began. All closed walks are searched at once: each
state at time :math:`t` carries the set of the starting states that lead to it in :math:`t`. The
walk may be cut anywhere; here it is where the operation starts at which the fewest states fit.

Left out without loss: transfers and deletions of weights of no bytes, for they free nothing; and
uploads of what the host has already. A valid schedule stays valid without them.

Time and memory are exponential: for three layers with a few nanoseconds each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from jettison.instances.remat_chain.chain import Stage
from jettison.instances.weight_offload.problem import WeightOffload
from tests.drawing.overheads import saving_overhead


@dataclass(frozen=True, slots=True)
class Moment:
    """A state. Layers are numbered from 0, sets of layers are words, None is an idle link."""

    started: int
    running_ns: int
    resident: int
    hosted: int
    up: tuple[int, int] | None = None
    down: tuple[int, int] | None = None


# What starts: a kind and a layer from 1, in the words of the schedules.
Start = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TimedStart:
    """Something that starts at a moment of the period."""

    kind: str
    layer: int
    start_ns: int


class Walks:
    """The moves of one problem, its operations counted from the one at which walks are cut."""

    def __init__(self, problem: WeightOffload) -> None:
        chain = problem.instance
        self.weights = [stage.weight_bytes for stage in chain]
        self.limit = problem.memory_bytes
        rate = Fraction(problem.link.bytes_per_s, 10**9)
        self.transfer_ns = [math.ceil(size / rate) for size in self.weights]
        count = len(chain)
        # (kind, layer, duration, bytes while it runs, bytes after it), weights apart.
        self.operations: list[tuple[str, int, int, int, int]] = []
        stored = chain.input_bytes + sum(stage.saved_bytes for stage in chain)
        for layer in reversed(range(count)):
            stage = chain.stages[layer]
            incoming = _gradient_bytes(chain.stages[layer - 1]) if layer else 0
            output = 0 if chain.backward_overhead_holds_gradient else incoming
            if layer == 0 and not chain.backward_overhead_holds_gradient:
                output = chain.input_bytes
            extra = max(output + stage.backward_overhead_bytes, incoming)
            running = stored + _gradient_bytes(stage) + extra + stage.weight_bytes
            stored -= stage.saved_bytes
            self.operations.append(("B", layer, stage.backward_ns, running, stored + incoming))
        for layer, stage in enumerate(chain):
            stored += stage.saved_bytes
            running = stored + saving_overhead(stage)
            self.operations.append(("F", layer, stage.forward_ns, running, stored))
        self.size = [
            sum(size for layer, size in enumerate(self.weights) if word >> layer & 1)
            for word in range(1 << count)
        ]
        self.fits = all(
            need + self.weights[layer] <= self.limit for _, layer, _, need, _ in self.operations
        )
        if not self.fits:
            return
        unrotated = self.operations
        rotations = [unrotated[k:] + unrotated[:k] for k in range(len(unrotated))]
        counts = []
        for rotation in rotations:
            self.operations = rotation
            counts.append(len(self.beginnings()))
        self.operations = rotations[counts.index(min(counts))]

    def beginnings(self) -> list[Moment]:
        """All states in which the first operation can start at once."""
        layers = range(len(self.weights))
        every = (1 << len(layers)) - 1
        empty = sum(1 << layer for layer in layers if self.weights[layer] == 0)
        found = []
        for resident in range(every + 1):
            for hosted in range(every + 1):
                # Absent weights are on the host; weights of no bytes stay and count as copied.
                if (resident | hosted) != every or (empty & ~resident) or (empty & ~hosted):
                    continue
                ups: list[tuple[int, int] | None] = [None]
                ups += [
                    (layer, left)
                    for layer in layers
                    if resident & ~hosted & 1 << layer
                    for left in range(1, self.transfer_ns[layer] + 1)
                ]
                downs: list[tuple[int, int] | None] = [None]
                downs += [
                    (layer, left)
                    for layer in layers
                    if resident & hosted & ~empty & 1 << layer
                    for left in range(1, self.transfer_ns[layer] + 1)
                ]
                for up in ups:
                    for down in downs:
                        state = Moment(0, 0, resident, hosted, up, down)
                        if self._computed(state) is not None:
                            found.append(state)
        return found

    def _in_use(self, state: Moment) -> int:
        """Bytes in memory."""
        _, _, _, running, resting = self.operations[state.started - 1]
        return self.size[state.resident] + (running if state.running_ns else resting)

    def _computed(self, state: Moment) -> Moment | None:
        """The state after the next operation has started, or None if it cannot."""
        kind, layer, duration, running, _ = self.operations[state.started]
        bit = 1 << layer
        if state.running_ns or not state.resident & bit:
            return None
        if state.down is not None and state.down[0] == layer:
            return None
        if self.size[state.resident] + running > self.limit:
            return None
        hosted = state.hosted
        if kind == "B":
            if state.up is not None and state.up[0] == layer:
                return None
            if self.weights[layer]:
                hosted &= ~bit
        return replace(state, started=state.started + 1, running_ns=duration, hosted=hosted)

    def starts(self, state: Moment) -> Iterator[tuple[Start, Moment]]:
        """Everything that can start now, with the state after it."""
        if state.started < len(self.operations):
            after = self._computed(state)
            if after is not None:
                kind, layer, *_ = self.operations[state.started]
                yield (kind, layer + 1), after
        runs, backward = -1, False
        if state.running_ns:
            kind, runs, *_ = self.operations[state.started - 1]
            backward = kind == "B"
        for layer, size in enumerate(self.weights):
            if size == 0:
                continue
            bit = 1 << layer
            if not state.resident & bit:
                if state.down is None and self._in_use(state) + size <= self.limit:
                    arriving = (layer, self.transfer_ns[layer])
                    after = replace(state, resident=state.resident | bit, down=arriving)
                    yield ("prefetch", layer + 1), after
            elif state.down is None or state.down[0] != layer:
                if state.hosted & bit:
                    if runs != layer:
                        yield ("delete", layer + 1), replace(state, resident=state.resident & ~bit)
                elif state.up is None and not (backward and runs == layer):
                    leaving = (layer, self.transfer_ns[layer])
                    yield ("upload", layer + 1), replace(state, up=leaving)

    def tick(self, state: Moment) -> Moment:
        """The state one nanosecond later."""
        hosted, up, down = state.hosted, state.up, state.down
        if up is not None:
            up = (up[0], up[1] - 1)
            if up[1] == 0:
                hosted, up = hosted | 1 << state.up[0], None
        if down is not None:
            down = (down[0], down[1] - 1) if down[1] > 1 else None
        running = max(state.running_ns - 1, 0)
        return Moment(state.started, running, state.resident, hosted, up, down)

    def spread(self, reached: dict[Moment, int]) -> None:
        """Add to the states of a moment all that can start at it."""
        waiting = list(reached)
        while waiting:
            state = waiting.pop()
            origins = reached[state]
            for _, after in self.starts(state):
                known = reached.get(after, 0)
                if origins & ~known:
                    reached[after] = known | origins
                    waiting.append(after)


def closed_walk(walks: Walks, problem: WeightOffload) -> tuple[int, Moment] | None:
    """Return the least period of a closed walk and its first state, None if nothing fits."""
    if not walks.fits:
        return None
    beginnings = walks.beginnings()
    cycle = len(walks.operations)
    ends = [replace(state, started=cycle) for state in beginnings]
    reached = {state: 1 << number for number, state in enumerate(beginnings)}
    # One operation after the other, each with its weights brought for it, fits and takes this long.
    longest = sum(operation[2] for operation in walks.operations) + 3 * sum(walks.transfer_ns)
    for now in range(longest + 1):
        walks.spread(reached)
        for number, end in enumerate(ends):
            if reached.get(end, 0) >> number & 1:
                return now, beginnings[number]
        later: dict[Moment, int] = {}
        for state, origins in reached.items():
            # A walk that has run all operations and cannot be closed yet may still be later.
            after = walks.tick(state)
            later[after] = later.get(after, 0) | origins
        reached = later
    raise AssertionError(f"no closed walk of {problem} within {longest} ns")


def least_period_ns(problem: WeightOffload) -> int | None:
    """Return the least integer period of any valid schedule, None if nothing fits."""
    found = closed_walk(Walks(problem), problem)
    return None if found is None else found[0]


def fastest_step(problem: WeightOffload) -> tuple[int, list[TimedStart]] | None:
    """Return the least period and one step that has it, which begins with the last backward."""
    walks = Walks(problem)
    found = closed_walk(walks, problem)
    if found is None:
        return None
    period_ns, beginning = found
    cycle = len(walks.operations)
    end = replace(beginning, started=cycle)
    # Where each state at each time came from: the state before, and what started (None: a tick).
    origin: dict[tuple[int, Moment], tuple[int, Moment, Start | None] | None] = {}
    origin[0, beginning] = None
    front = [beginning]
    for now in range(period_ns + 1):
        waiting = list(front)
        everything = list(front)
        while waiting:
            state = waiting.pop()
            for start, after in walks.starts(state):
                if (now, after) not in origin:
                    origin[now, after] = (now, state, start)
                    waiting.append(after)
                    everything.append(after)
        if now == period_ns:
            break
        front = []
        for state in everything:
            after = walks.tick(state)
            if (now + 1, after) not in origin:
                origin[now + 1, after] = (now, state, None)
                front.append(after)
    steps: list[TimedStart] = []
    place = origin[period_ns, end]
    while place is not None:
        now, state, start = place
        if start is not None:
            steps.append(TimedStart(*start, now))
        place = origin[now, state]
    steps.reverse()
    first = ("B", len(walks.weights))
    cut = next(k for k, step in enumerate(steps) if (step.kind, step.layer) == first)
    shift = steps[cut].start_ns
    return period_ns, [
        *(replace(step, start_ns=step.start_ns - shift) for step in steps[cut:]),
        *(replace(step, start_ns=step.start_ns - shift + period_ns) for step in steps[:cut]),
    ]


def _gradient_bytes(stage: Stage) -> int:
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
