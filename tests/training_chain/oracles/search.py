"""Oracle of training schedules: the least time per step, by a search through states of memory.

It shares no code with the replay or with any method. A state is what is on the device and what the
host has a valid copy of, what runs and moves with its remaining time, the next backward operation
and the updates to be done. Dropping and starting take no time, otherwise time goes on to the next
end: something that starts between two ends could start at the first of them, as memory changes at
ends and starts only. Each step is a layer of the search: the least time at which it can end in each
state. The increments of that time become constant, which is the least time per step.

Where the host updates a stage is fixed, and tried both ways; what the host has changed is gone from
the device at once, which loses nothing, as it can come back to the same place.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import NamedTuple

# Tensors of a stage: weights, states, gradient, all that is saved, output by itself.
W, S, G, ALL, OUT = range(5)
NAMES = ("w", "s", "g", "saved", "output")


@dataclass(frozen=True)
class Given:
    """One stage: durations and sizes, all of them integers in any unit."""

    forward: int
    backward: int
    output: int
    saved: int
    forward_overhead: int = 0
    saving_overhead: int | None = None
    backward_overhead: int = 0
    weights: int = 0
    gradient: int = 0
    states: int = 0
    update: int = 0
    host_update: int | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.weights, self.states, self.gradient, self.saved, self.output

    @property
    def trained(self) -> bool:
        return bool(self.weights or self.gradient or self.states or self.update)


class State(NamedTuple):
    """State between two moments; sets are frozen sets of (stage, tensor)."""

    device: frozenset[tuple[int, int]]
    host: frozenset[tuple[int, int]]
    pending: frozenset[int]
    next_backward: int
    compute: tuple[str, int, int] | None = None
    up: tuple[int, int, int] | None = None
    down: tuple[int, int, int] | None = None
    host_op: tuple[int, int] | None = None


class Search:
    """Search of one step, with the stages that the host updates fixed."""

    def __init__(
        self,
        stages: tuple[Given, ...],
        memory: int,
        rate: int,
        on_host: frozenset[int],
        half_duplex: bool = False,
    ) -> None:
        self.stages = (None, *stages)
        self.last = len(stages)
        self.memory = memory
        self.rate = rate
        self.on_host = on_host
        self.half_duplex = half_duplex

    def given(self, stage: int) -> Given:
        found = self.stages[stage]
        assert found is not None
        return found

    def size(self, item: tuple[int, int]) -> int:
        return self.given(item[0]).sizes[item[1]]

    def used(self, state: State) -> int:
        total = sum(map(self.size, state.device))
        if state.next_backward < self.last:
            total += self.given(state.next_backward).output if state.next_backward else 0
        if state.down is not None:
            total += self.size(state.down[:2])
        if state.compute is not None:
            name, stage, _ = state.compute
            given = self.given(stage)
            if name == "F":
                total += given.output + given.forward_overhead
            elif name == "A":
                total += given.saved
                extra = given.saving_overhead
                total += given.forward_overhead if extra is None else extra
            elif name == "B":
                below = self.given(stage - 1).output if stage > 1 else 0
                total += given.gradient + given.backward_overhead + below
        return total

    def first(self) -> State:
        host = frozenset(
            (stage, tensor)
            for stage in range(1, self.last + 1)
            for tensor in (W, S)
            if self.size((stage, tensor))
        )
        return State(frozenset(), host, frozenset(), self.last)

    def has(self, state: State, stage: int, tensor: int) -> bool:
        return not self.size((stage, tensor)) or (stage, tensor) in state.device

    def has_output(self, state: State, stage: int) -> bool:
        # An output of no bytes has to be made all the same, so that it is in the sets too.
        return stage == 0 or (stage, ALL) in state.device or (stage, OUT) in state.device

    def duration(self, size: int) -> int:
        return -(-size // self.rate)

    def in_use(self, state: State) -> set[tuple[int, int]]:
        used: set[tuple[int, int]] = set()
        if state.up is not None:
            used.add(state.up[:2])
        if state.compute is not None:
            name, stage, _ = state.compute
            if name == "U":
                used |= {(stage, W), (stage, S), (stage, G)}
            else:
                used |= {(stage, W)}
                before = (stage - 1, ALL)
                used.add(before if before in state.device else (stage - 1, OUT))
                if name == "B":
                    used.add((stage, ALL))
        return used

    def moves(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield what can be started at no time, with what has to be dropped for it.

        Nothing is dropped before memory is needed: more on the device never hurts.
        """
        for text, follower in self.starts(state):
            over = self.used(follower) - self.memory
            if over <= 0:
                yield text, follower
                continue
            busy = self.in_use(follower)
            items = [
                item
                for item in sorted(state.device - busy)
                if self.size(item)
                and item in follower.device
                and (item[1] in (ALL, OUT) or item in state.host)
            ]
            for dropped in self.least_subsets(items, over):
                drops = "".join(f"drop {NAMES[tensor]} {stage};" for stage, tensor in dropped)
                yield drops + text, follower._replace(device=follower.device - set(dropped))

    def least_subsets(
        self, items: list[tuple[int, int]], over: int
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        """Yield the sets of items that are large enough together, and with none left out not."""
        for count in range(1, len(items) + 1):
            for chosen in combinations(items, count):
                sizes = [self.size(item) for item in chosen]
                if sum(sizes) >= over and sum(sizes) - min(sizes) < over:
                    yield chosen

    def starts(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield what can be started, whether it fits or not."""
        if state.compute is None:
            yield from self.computations(state)
        one_way = self.half_duplex and (state.up is not None or state.down is not None)
        if state.up is None and not one_way:
            changing = state.compute if state.compute and state.compute[0] == "U" else None
            for item in state.device - state.host:
                stage, tensor = item
                if not self.size(item) or (changing and changing[1] == stage and tensor < ALL):
                    continue
                yield (
                    f"offload {NAMES[tensor]} {stage}",
                    state._replace(up=(stage, tensor, self.duration(self.size(item)))),
                )
        if state.down is None and not one_way:
            making = self.in_making(state)
            for item in state.host - state.device:
                stage, tensor = item
                if not self.size(item) or item == making:
                    continue
                if tensor == S and stage in self.on_host:
                    continue
                if tensor == W and state.host_op is not None and state.host_op[0] == stage:
                    continue
                yield (
                    f"prefetch {NAMES[tensor]} {stage}",
                    state._replace(down=(stage, tensor, self.duration(self.size(item)))),
                )
        if state.host_op is None:
            for stage in state.pending & self.on_host:
                given, gradient = self.given(stage), (stage, G)
                ready = not given.gradient or gradient in state.host
                moving = [item[:2] for item in (state.up, state.down) if item is not None]
                if ready and gradient not in moving:
                    assert given.host_update is not None
                    dropped = state._replace(
                        device=state.device - {gradient}, host_op=(stage, given.host_update)
                    )
                    gone = f"drop g {stage};" if gradient in state.device else ""
                    yield f"{gone}H {stage}", dropped

    def in_making(self, state: State) -> tuple[int, int] | None:
        """Return the activation that runs into memory now."""
        if state.compute is None or state.compute[0] not in "FA":
            return None
        return state.compute[1], OUT if state.compute[0] == "F" else ALL

    def computations(self, state: State) -> Iterator[tuple[str, State]]:
        for stage in range(1, self.last + 1):
            given = self.given(stage)
            if stage in state.pending:
                if stage not in self.on_host and all(
                    self.has(state, stage, tensor) for tensor in (W, S, G)
                ):
                    moving = state.up is not None and state.up[0] == stage and state.up[1] < ALL
                    if not moving:
                        yield f"U {stage}", state._replace(compute=("U", stage, given.update))
                continue
            if not self.has(state, stage, W) or not self.has_output(state, stage - 1):
                continue
            if stage > state.next_backward:
                continue
            for name, tensor in (("F", OUT), ("A", ALL)):
                item = (stage, tensor)
                arriving = state.down is not None and state.down[:2] == item
                if item not in state.device and not arriving:
                    text = "F" if name == "F" else "F_all"
                    yield (
                        f"{text} {stage}",
                        state._replace(compute=(name, stage, given.forward)),
                    )
            if stage == state.next_backward and (stage, ALL) in state.device:
                clear = (stage, G) not in state.device and (stage, G) not in state.host
                if clear:
                    yield f"B {stage}", state._replace(compute=("B", stage, given.backward))

    def ends(self, state: State) -> tuple[int, State, bool] | None:
        """Go on to the next end; return the time, the state, and whether the step is over."""
        left = [item[-1] for item in (state.compute, state.up, state.down, state.host_op) if item]
        if not left:
            return None
        step = min(left)
        over = False
        device, host, pending = set(state.device), set(state.host), set(state.pending)
        next_backward, compute, up, down, host_op = state[3:]
        if up is not None:
            up = (up[0], up[1], up[2] - step)
            if up[2] == 0:
                host.add(up[:2])
                up = None
        if down is not None:
            down = (down[0], down[1], down[2] - step)
            if down[2] == 0:
                device.add(down[:2])
                down = None
        if host_op is not None:
            host_op = (host_op[0], host_op[1] - step)
            if host_op[1] == 0:
                stage = host_op[0]
                pending.discard(stage)
                host.discard((stage, G))
                if self.given(stage).weights:
                    host.add((stage, W))
                host_op = None
        if compute is not None:
            name, stage, rest = compute
            compute = (name, stage, rest - step)
            if compute[2] == 0:
                compute = None
                if name == "F":
                    device.add((stage, OUT))
                elif name == "A":
                    device.add((stage, ALL))
                elif name == "U":
                    pending.discard(stage)
                    host -= {(stage, W), (stage, S), (stage, G)}
                    device.discard((stage, G))
                else:
                    gone = {(stage, ALL), (stage, OUT), (stage - 1, OUT)}
                    if (up is not None and up[:2] in gone) or (
                        down is not None and down[:2] in gone
                    ):
                        return None
                    device -= gone
                    host -= gone
                    given = self.given(stage)
                    if given.gradient:
                        device.add((stage, G))
                    if given.trained:
                        pending.add(stage)
                        if stage in self.on_host:
                            if up is not None and up[:2] == (stage, W):
                                return None
                            device.discard((stage, W))
                            host.discard((stage, W))
                    next_backward = stage - 1
                    if stage == 1:
                        device = {item for item in device if item[1] not in (ALL, OUT)}
                        host = {item for item in host if item[1] not in (ALL, OUT)}
                        moving = [item for item in (up, down) if item is not None]
                        if any(item[1] in (ALL, OUT) for item in moving):
                            return None
                        next_backward = self.last
                        over = True
        found = State(
            frozenset(device),
            frozenset(host),
            frozenset(pending),
            next_backward,
            compute,
            up,
            down,
            host_op,
        )
        return step, found, over

    def step(
        self, starts: dict[State, int]
    ) -> tuple[dict[State, int], dict[State, tuple[State, tuple[tuple[int, str], ...]]]]:
        """Search one step from states with their times; return the same of its end, and how."""
        best: dict[State, int] = {}
        parents: dict[State, tuple[State, str, int] | None] = {}
        queue: list[tuple[int, int, State]] = []
        count = 0
        for state, time in starts.items():
            best[state] = time
            parents[state] = None
            heapq.heappush(queue, (time, count, state))
            count += 1
        done: set[State] = set()
        found: dict[State, int] = {}
        how: dict[State, tuple[State, tuple[tuple[int, str], ...]]] = {}
        while queue:
            time, _, state = heapq.heappop(queue)
            if state in done:
                continue
            done.add(state)
            followers: list[tuple[int, State, str]] = []
            for text, follower in self.moves(state):
                followers.append((time, follower, text))
            ended = self.ends(state)
            if ended is not None:
                step, follower, over = ended
                if over:
                    if found.get(follower, time + step + 1) > time + step:
                        found[follower] = time + step
                        how[follower] = self.path(state, parents, best)
                else:
                    followers.append((time + step, follower, ""))
            for when, follower, text in followers:
                if best.get(follower, when + 1) > when:
                    best[follower] = when
                    parents[follower] = (state, text, time)
                    count += 1
                    heapq.heappush(queue, (when, count, follower))
        return found, how

    @staticmethod
    def path(
        state: State,
        parents: dict[State, tuple[State, str, int] | None],
        best: dict[State, int],
    ) -> tuple[State, tuple[tuple[int, str], ...]]:
        events: list[tuple[int, str]] = []
        while True:
            parent = parents[state]
            if parent is None:
                return state, tuple(reversed(events))
            before, text, time = parent
            events += [(time, event) for event in reversed(text.split(";")) if event]
            state = before


@dataclass(frozen=True)
class Found:
    """The least time per step, and a period of events where one step repeats itself."""

    time: int
    events: tuple[tuple[int, str], ...] | None


def least_time(
    stages: tuple[Given, ...],
    memory: int,
    rate: int,
    *,
    half_duplex: bool = False,
    steps: int = 6,
) -> Found | None:
    """Return the least time per step; None if nothing fits."""
    free = [stage for stage, given in enumerate(stages, start=1) if given.trained]
    able = [stage for stage in free if stages[stage - 1].host_update is not None]
    best: Found | None = None
    for choice in product((False, True), repeat=len(able)):
        on_host = frozenset(stage for stage, host in zip(able, choice, strict=True) if host)
        found = _least_time(Search(stages, memory, rate, on_host, half_duplex), steps)
        if found is not None and (best is None or found.time < best.time):
            best = found
    return best


def _least_time(search: Search, steps: int) -> Found | None:
    layers = [{search.first(): 0}]
    hows = []
    for _ in range(steps):
        found, how = search.step(layers[-1])
        if not found:
            return None
        layers.append(found)
        hows.append(how)
    ends = [min(layer.values()) for layer in layers]
    increments = [after - before for before, after in pairwise(ends)]
    assert len(set(increments[-2:])) == 1, increments
    # A state on the best way in which two neighbouring steps end.
    state = min(layers[-1], key=lambda item: layers[-1][item])
    way = [state]
    events = []
    for how in reversed(hows):
        state, step_events = how[state]
        way.append(state)
        events.append(step_events)
    for place, (after, before) in enumerate(pairwise(way)):
        if after == before:
            start = layers[steps - place - 1][before]
            period = layers[steps - place][after] - start
            if period == increments[-1]:
                moved = [(when - start, 1, text) for when, text in events[place]]
                moved += [
                    (when + search.given(stage).backward, 0, f"drop w {stage}")
                    for when, _, text in moved
                    for stage in search.on_host
                    if text == f"B {stage}" and search.given(stage).weights
                ]
                moved.sort(key=lambda moment: moment[:2])
                return Found(increments[-1], tuple((when, text) for when, _, text in moved))
    return Found(increments[-1], None)
