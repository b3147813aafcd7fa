"""Brute force for interleaved pipelines: all cuts, all sequences of all chunks, and every clock.

It shares no code with the package. The order of a device is written as Megatron-LM's schedule table
reads, a list of chunks and micro-batches of which forward and backward take turns; memory is
counted by running every micro-batch of every chunk, one operation after the other.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product

from jettison.instances.pipeline_chain.problem import PipelineChain
from tests.pipeline_chain.oracles.by_enumeration import Device, Words, two_phases

Turn = tuple[str, int, int]
Times = tuple[tuple[int, int], ...]


def megatron_order(devices: int, rank: int, chunks: int, batches: int) -> list[Turn]:
    """Return the turns of a device, from 0: phase, chunk from 0 and micro-batch from 1."""
    table = [
        (chunk, batch)
        for group in range(0, batches, devices)
        for chunk in range(chunks)
        for batch in range(group + 1, group + devices + 1)
    ]
    warm_up = min(len(table), (devices - rank - 1) * 2 + (chunks - 1) * devices)
    ahead = [("F", chunk, batch) for chunk, batch in table]
    behind = [("B", chunks - 1 - chunk, batch) for chunk, batch in table]
    order = ahead[:warm_up]
    rest = ahead[warm_up:]
    for turn in behind:
        order += [rest.pop(0)] if rest else []
        order.append(turn)
    return order


def device_options(
    problem: PipelineChain, rank: int, spans: list[tuple[int, int]], chunks: int
) -> list[Times]:
    """Return the times of the chunks of a device, for every choice of sequences that fits.

    Of choices of which one is no slower in every phase of every chunk, only one is returned.
    """
    parts = problem.devices * chunks
    found: set[Times] = set()
    order = megatron_order(problem.devices, rank, chunks, problem.microbatches)
    for choice in product(*(two_phases(*span) for span in spans)):
        held = [_part(problem, rank + c * problem.devices, parts, spans[c]) for c in range(chunks)]
        times: list[list[int]] = [[0, 0] for _ in spans]
        peak = 0
        for phase, chunk, batch in order:
            # What the other chunks hold is fixed while this one runs.
            device = held[chunk]
            others = sum(other.held() for at, other in enumerate(held) if at != chunk)
            device.peak = 0
            time = _phase(device, phase, batch, choice[chunk])
            times[chunk][phase == "B"] = time
            peak = max(peak, others + device.peak)
        if peak <= problem.memory_bytes:
            found.add(tuple((ahead, behind) for ahead, behind in times))
    return [
        one
        for one in found
        if not any(
            other != one
            and all(a <= b and c <= d for (a, c), (b, d) in zip(other, one, strict=True))
            for other in found
        )
    ]


def _part(problem: PipelineChain, part: int, parts: int, span: tuple[int, int]) -> Device:
    device = Device(problem, 1, *span)
    chain = problem.instance
    weights = sum(chain.stages[k - 1].weight_bytes for k in range(span[0], span[1] + 1))
    device.fixed = problem.weight_copies * weights
    if part > 0:
        device.fixed += device.size("a", span[0] - 1)
    if part < parts - 1:
        device.fixed += device.size("d", span[1])
    return device


def _phase(device: Device, phase: str, batch: int, words: tuple[Words, Words]) -> int:
    if phase == "F":
        device.batches[batch] = {("a", device.first - 1)}
        time = device.run(batch, words[0])
        device.batches[batch].discard(("a", device.last))
        return time
    device.batches[batch].add(("d", device.last))
    time = device.run(batch, words[1])
    assert device.batches.pop(batch) == {("d", device.first - 1)}
    return time


def clock(problem: PipelineChain, spans: list[tuple[int, int]], times: Times, chunks: int) -> int:
    """Return the time of a step by relaxing all precedences until nothing changes."""
    devices, chain, link = problem.devices, problem.instance, problem.link
    last_part = len(spans) - 1

    def sends(phase: str, part: int) -> int:
        if link is None or part == (last_part if phase == "F" else 0):
            return 0
        if phase == "F":
            return link.transfer_ns(chain.stages[spans[part][1] - 1].output_bytes)
        return link.transfer_ns(chain.gradient_bytes(spans[part][0] - 1))

    orders = [
        megatron_order(devices, rank, chunks, problem.microbatches) for rank in range(devices)
    ]
    keys = [
        (phase, chunk * devices + rank, batch)
        for rank, order in enumerate(orders)
        for phase, chunk, batch in order
    ]
    begin = dict.fromkeys(keys, 0)
    sent = dict.fromkeys(keys, 0)
    changed = True
    while changed:
        changed = False
        for rank, order in enumerate(orders):
            free = 0
            for phase, chunk, batch in order:
                part = chunk * devices + rank
                source = part - 1 if phase == "F" else part + 1
                ready = 0
                if (phase, source, batch) in sent:
                    ready = sent[phase, source, batch]
                elif phase == "B":
                    ready = sent["F", part, batch]
                start = max(free, ready)
                end = start + times[part][phase == "B"]
                to = part + 1 if phase == "F" else part - 1
                if 0 <= to <= last_part and batch > 1:
                    end = max(end, begin[phase, to, batch - 1])
                end += sends(phase, part)
                key = (phase, part, batch)
                if (begin[key], sent[key]) != (start, end):
                    begin[key], sent[key] = start, end
                    changed = True
                free = end
    return max(sent.values())


def best_interleaved(problem: PipelineChain, chunks: int) -> int | None:
    """Return the fastest step with so many chunks of each device; None if nothing fits."""
    parts, count = problem.devices * chunks, len(problem.instance)
    best: int | None = None
    for cuts in combinations(range(1, count), parts - 1):
        spans = [(a + 1, b) for a, b in pairwise([0, *cuts, count])]
        options = [
            device_options(problem, rank, spans[rank :: problem.devices], chunks)
            for rank in range(problem.devices)
        ]
        for choice in product(*options):
            times = [(0, 0)] * parts
            for rank, own in enumerate(choice):
                times[rank :: problem.devices] = own
            step = clock(problem, spans, tuple(times), chunks)
            best = step if best is None else min(best, step)
    return best
