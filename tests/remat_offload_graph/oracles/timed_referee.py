"""Checks when things happened against what a device can do, without replaying anything.

It is told when each operation started and ended, and works out which value takes memory from when
to when. Then it adds up what is in use at every time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from jettison import Graph, Link
from jettison.core import Replay
from jettison.instances.core.link import FullDuplex
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule


@dataclass
class Held:
    """One value in memory: since when, complete from when on, needed until when."""

    since: int
    ready: int
    until: int


def peak_bytes(graph: Graph, link: Link, schedule: OffloadGraphSchedule, replay: Replay) -> int:
    """Check the times of a replay; return the most memory in use for longer than no time."""
    held: dict[int, Held] = {}
    hosted: dict[int, int] = {}
    usage: list[tuple[int, int]] = []
    lane_ends = {"compute": 0, "offload": 0, "prefetch": 0}
    taken_ns = 0
    steps, moves = list(replay.steps), list(replay.transfers)

    def let_go(place: int, item: Held, when: int) -> None:
        until = max(item.until, when)
        usage.append((item.since, graph.nodes[place].output_bytes))
        usage.append((until, -graph.nodes[place].output_bytes))

    for operation in schedule.operations:
        place, kind = operation.node, str(operation.kind)
        node = graph.nodes[place]
        if kind == "free":
            let_go(place, held.pop(place), max(taken_ns, hosted.get(place, 0)))
            continue
        record = (steps if kind == "compute" else moves).pop(0)
        start, end = record.start_ns, record.end_ns
        assert record.operation == f"{kind} {node.name}"
        assert start >= lane_ends[kind], "one at a time"
        lane_ends[kind] = end
        if kind != "offload":
            assert start >= taken_ns, "memory is given out in order"
            taken_ns = start
        if kind == "compute":
            assert end - start == node.duration_ns
            for source in graph.inputs[place]:
                assert held[source].ready <= start, "what is read is there"
                held[source].until = max(held[source].until, end)
            usage += [(start, node.workspace_bytes), (end, -node.workspace_bytes)]
            if place in held:
                let_go(place, held[place], end)
            held[place] = Held(start, end, end)
            continue
        size = node.output_bytes
        if link.duplex == FullDuplex():
            assert end - start == math.ceil(Fraction(size * 10**9, link.bytes_per_s))
        else:
            assert end - start >= math.ceil(Fraction(size * 10**9, link.bytes_per_s))
        if kind == "offload":
            assert held[place].ready <= start
            held[place].until = max(held[place].until, end)
            hosted.setdefault(place, end)
        else:
            assert hosted[place] <= start
            assert place not in held
            held[place] = Held(start, end, end)
    assert not steps
    assert not moves
    for place, item in held.items():
        let_go(place, item, max(replay.time_ns, item.until))
    in_use = most = 0
    # Of changes at the same time the returns come first.
    for _, change in sorted(usage):
        in_use += change
        most = max(most, in_use)
    return most
