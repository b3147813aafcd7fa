"""Brute force for pipelines: all cuts, all two-phase sequences, and the clock of every device.

It shares no code with the package: sequences are lists of words, a micro-batch is a dictionary of
what it holds, and each device is run with all its micro-batches, one operation after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise

from jettison.instances.pipeline_chain.problem import PipelineChain
from tests.drawing.overheads import saving_overhead

Words = tuple[tuple[str, int], ...]


@cache
def again(first: int, last: int) -> tuple[Words, ...]:
    """Return all persistent ways from the forward of `first` to its backward, by recursion."""
    if first == last:
        return ((("save", first), ("back", first)),)
    found: list[Words] = [
        (("save", first), *rest, ("back", first)) for rest in again(first + 1, last)
    ]
    for middle in range(first + 1, last + 1):
        passing = [("keep", first), *(("pass", k) for k in range(first + 1, middle))]
        for upper in again(middle, last):
            found += [(*passing, *upper, *lower) for lower in again(first, middle - 1)]
    return tuple(found)


@cache
def two_phases(first: int, last: int) -> tuple[tuple[Words, Words], ...]:
    """Return all pairs of a forward phase and a backward phase on some stages."""
    if first > last:
        return (((), ()),)
    found: list[tuple[Words, Words]] = [
        ((("save", first), *ahead), (*behind, ("back", first)))
        for ahead, behind in two_phases(first + 1, last)
    ]
    for end in range(first, last + 1):
        passing = [("keep", first), *(("pass", k) for k in range(first + 1, end + 1))]
        for ahead, behind in two_phases(end + 1, last):
            found += [((*passing, *ahead), (*behind, *lower)) for lower in again(first, end)]
    return tuple(found)


@dataclass
class Device:
    """One device with its stages, which runs words and records its largest memory."""

    problem: PipelineChain
    number: int
    first: int
    last: int
    peak: int = 0

    def __post_init__(self) -> None:
        chain = self.problem.instance
        weights = sum(stage.weight_bytes for stage in chain.stages[self.first - 1 : self.last])
        self.fixed = self.problem.weight_copies * weights
        if self.number > 1:
            self.fixed += self.size("a", self.first - 1)
        if self.number < self.problem.devices:
            self.fixed += self.size("d", self.last)
        self.batches: dict[int, set[tuple[str, int]]] = {}

    def size(self, kind: str, stage: int) -> int:
        chain = self.problem.instance
        if stage == 0:
            return chain.input_bytes
        item = chain.stages[stage - 1]
        sizes = {"a": item.output_bytes, "s": item.saved_bytes, "d": item.gradient_bytes}
        return sizes[kind]

    def held(self) -> int:
        return self.fixed + sum(
            self.size(*tensor) for held in self.batches.values() for tensor in held
        )

    def run(self, batch: int, words: Words) -> int:
        """Run words for a micro-batch; return their time."""
        own, time = self.batches[batch], 0
        for word, stage in words:
            item = self.problem.instance.stages[stage - 1]
            before = ("a", stage - 1) if ("a", stage - 1) in own else ("s", stage - 1)
            assert before in own
            if word == "back":
                assert {("d", stage), ("s", stage)} <= own
                out = self.size("d", stage - 1)
                working = 0 if self.problem.instance.backward_overhead_holds_gradient else out
                self.peak = max(self.peak, self.held() + working + item.backward_overhead_bytes)
                time += item.backward_ns
                own -= {("d", stage), ("s", stage), ("a", stage - 1)}
                own.add(("d", stage - 1))
                self.peak = max(self.peak, self.held())
                continue
            new = ("s" if word == "save" else "a", stage)
            extra = saving_overhead(item) if word == "save" else item.forward_overhead_bytes
            need = self.size(*new) + extra
            self.peak = max(self.peak, self.held() + need)
            time += item.forward_ns
            own.add(new)
            if word == "pass":
                own.remove(("a", stage - 1))
        return time

    def step(self, order: list[tuple[str, int]], ahead: Words, behind: Words) -> tuple[int, int]:
        """Run all micro-batches in order; return the times of the two phases."""
        times = (0, 0)
        for phase, batch in order:
            if phase == "F":
                self.batches[batch] = {("a", self.first - 1)}
                times = (self.run(batch, ahead), times[1])
                self.batches[batch].discard(("a", self.last))
                continue
            self.batches[batch].add(("d", self.last))
            times = (times[0], self.run(batch, behind))
            assert self.batches.pop(batch) == {("d", self.first - 1)}
        return times


def one_f_one_b(devices: int, number: int, batches: int) -> list[tuple[str, int]]:
    """Return the order of a device by counting: forward as long as it may, else backward."""
    order: list[tuple[str, int]] = []
    ahead = back = 0
    while back < batches:
        # One forward phase after every backward phase, from a start of p - i + 1 of them.
        if ahead < batches and ahead - back < devices - number + 1:
            ahead += 1
            order.append(("F", ahead))
        else:
            back += 1
            order.append(("B", back))
    return order


def least_times(
    problem: PipelineChain, number: int, first: int, last: int
) -> tuple[int, int] | None:
    """Return the times of the phases of the fastest sequence that fits on a device."""
    best: tuple[int, int] | None = None
    order = one_f_one_b(problem.devices, number, problem.microbatches)
    for ahead, behind in two_phases(first, last):
        device = Device(problem, number, first, last)
        times = device.step(order, ahead, behind)
        if device.peak <= problem.memory_bytes and (best is None or sum(times) < sum(best)):
            best = times
    return best


def all_spans(count: int, devices: int) -> Iterator[list[tuple[int, int]]]:
    for cuts in combinations(range(1, count), devices - 1):
        yield [(a + 1, b) for a, b in pairwise([0, *cuts, count])]


def clock_step(
    problem: PipelineChain, spans: list[tuple[int, int]], times: list[tuple[int, int]]
) -> int:
    """Return the time of a step by relaxing all precedences until nothing changes."""
    count, batches = len(spans), problem.microbatches
    link = problem.link

    def sends(phase: str, at: int) -> int:
        if link is None:
            return 0
        chain = problem.instance
        if phase == "F":
            last = spans[at][1]
            return 0 if at == count - 1 else link.transfer_ns(chain.stages[last - 1].output_bytes)
        first = spans[at][0]
        return 0 if at == 0 else link.transfer_ns(chain.gradient_bytes(first - 1))

    numbers = range(1, batches + 1)
    begin = {(phase, at, k): 0 for phase in "FB" for at in range(count) for k in numbers}
    sent = dict(begin)
    orders = [one_f_one_b(count, at + 1, batches) for at in range(count)]
    changed = True
    while changed:
        changed = False
        for at in range(count):
            free = 0
            for phase, k in orders[at]:
                key = (phase, at, k)
                ready = 0
                if phase == "F" and at > 0:
                    ready = sent["F", at - 1, k]
                if phase == "B":
                    ready = sent["B", at + 1, k] if at < count - 1 else sent["F", at, k]
                start = max(free, ready)
                end = start + times[at][phase == "B"]
                to = at + 1 if phase == "F" else at - 1
                if 0 <= to < count and k > 1:
                    end = max(end, begin[phase, to, k - 1])
                end += sends(phase, at)
                if (begin[key], sent[key]) != (start, end):
                    begin[key], sent[key] = start, end
                    changed = True
                free = end
    return max(sent.values())


def best_pipeline(problem: PipelineChain) -> tuple[int, int] | None:
    """Return the least bottleneck and the least step over all cuts; None if nothing fits."""
    table: dict[tuple[int, int, int], tuple[int, int] | None] = {}
    best: tuple[int, int] | None = None
    link = problem.link
    chain = problem.instance
    for spans in all_spans(len(chain), problem.devices):
        for number, (first, last) in enumerate(spans, start=1):
            key = (number, first, last)
            if key not in table:
                table[key] = least_times(problem, number, first, last)
        own = [table[number, *span] for number, span in enumerate(spans, start=1)]
        if None in own:
            continue
        times = [item for item in own if item is not None]
        busy = []
        for at, (first, last) in enumerate(spans):
            extra = 0
            if link is not None and at > 0:
                extra += link.transfer_ns(chain.gradient_bytes(first - 1))
            if link is not None and at < len(spans) - 1:
                extra += link.transfer_ns(chain.stages[last - 1].output_bytes)
            busy.append(sum(times[at]) + extra)
        step = clock_step(problem, spans, times)
        if best is None:
            best = (max(busy), step)
        best = (min(best[0], max(busy)), min(best[1], step))
    return best
