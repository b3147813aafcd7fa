"""Timeline of a replayed schedule: memory over time, and bars in lanes, as columns of integers.

Starts are written as differences, and names once, so that thousands of operations take little room
in the page. Above some bars, neighbours of one kind are joined as long as they are short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from jettison.instances.catalog import Instance, kind_of
from jettison.schedules.core.replay import Phase, Replay
from jettison.schedules.weight_offload.folded_span import folded_span

_MOST_BARS = 3000
_MOST_MOMENTS = 6000

COMPUTE, AGAIN, TO_HOST, FROM_HOST = "compute", "recompute", "to the host", "from the host"
WAITING = "waiting"


class Bar(NamedTuple):
    """Bar of a timeline: an operation or transfer with its lane, kind and label."""

    lane: str
    kind: str
    start_ns: int
    end_ns: int
    label: str


class Moment(NamedTuple):
    """Memory in use from a time on."""

    when_ns: int
    size_bytes: int


@dataclass(frozen=True)
class Timeline:
    """Contents of the picture of a replay.

    Attributes
    ----------
    end_ns
        Where the axis ends.
    peak_bytes, limit_bytes
        Of the replay.
    bars
        By lane and time.
    memory
        Where it changes, by time; the last one is the end.
    clock
        ``ns``, or ``instance`` where times have no unit.
    joined
        Whether short neighbours were joined into one bar.
    """

    end_ns: int
    peak_bytes: int
    limit_bytes: int | None
    bars: tuple[Bar, ...]
    memory: tuple[Moment, ...]
    clock: str
    joined: bool

    @classmethod
    def of(
        cls,
        replay: Replay,
        instance: Instance,
        most_bars: int = _MOST_BARS,
        most_moments: int = _MOST_MOMENTS,
    ) -> Timeline:
        """Return the timeline of a replay; stages of a chain are called by their names.

        Bars and moments are joined until there are few enough, or all are long.
        """
        bars = sorted(_bars(replay, kind_of(instance).part_names(instance)))
        memory = _moments(replay)
        # The cost of a choice is no time at which anything ends.
        end_ns = memory[-1].when_ns if replay.clock != "ns" else replay.time_ns
        shown = _few(bars, end_ns, most_bars)
        return cls(
            end_ns=end_ns,
            peak_bytes=replay.peak_bytes,
            limit_bytes=replay.limit_bytes,
            bars=tuple(shown),
            memory=tuple(_few_moments(memory, end_ns, most_moments)),
            clock=replay.clock,
            joined=len(shown) < len(bars),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the columns."""
        lanes = [
            lane for lane in _lane_order(self.bars) if any(bar.lane == lane for bar in self.bars)
        ]
        kinds = sorted({bar.kind for bar in self.bars})
        labels = {label: place for place, label in enumerate(dict.fromkeys(_labels(self.bars)))}
        return {
            "end": self.end_ns,
            "peak": self.peak_bytes,
            "limit": self.limit_bytes,
            "clock": self.clock,
            "joined": self.joined,
            "lanes": lanes,
            "kinds": kinds,
            "labels": list(labels),
            "bars": {
                "lane": [lanes.index(bar.lane) for bar in self.bars],
                "kind": [kinds.index(bar.kind) for bar in self.bars],
                "start": _differences(bar.start_ns for bar in self.bars),
                "length": [bar.end_ns - bar.start_ns for bar in self.bars],
                "label": [labels[bar.label] for bar in self.bars],
            },
            "memory": {
                "when": _differences(moment.when_ns for moment in self.memory),
                "size": _differences(moment.size_bytes for moment in self.memory),
            },
        }


def _labels(bars: Iterable[Bar]) -> Iterator[str]:
    for bar in bars:
        yield bar.label


def _lane_order(bars: Sequence[Bar]) -> list[str]:
    first = dict.fromkeys(bar.lane for bar in bars)
    fixed = [COMPUTE, AGAIN, TO_HOST, FROM_HOST]
    return [*(lane for lane in first if lane not in fixed), *fixed]


def _differences(values: Iterable[int]) -> list[int]:
    found, before = [], 0
    for value in values:
        found.append(value - before)
        before = value
    return found


def _bars(replay: Replay, names: Sequence[str]) -> Iterator[Bar]:
    steps = [step for step in replay.steps if step.end_ns > step.start_ns]
    pair = any(replay.lane_of(step) is not None for step in steps)
    computed = []
    for step in steps:
        phase = replay.phase_of(step)
        kind = str(Phase.AGAIN if phase is Phase.FORWARD_AGAIN else phase)
        lane = replay.lane_of(step) or _lane_of(kind)
        computed.append(Bar(lane, kind, step.start_ns, step.end_ns, _label(step.operation, names)))
    for item in replay.transfers:
        lane = TO_HOST if item.to_host else FROM_HOST
        bar = Bar(lane, lane, item.start_ns, item.end_ns, _label(item.operation, names))
        if bar.end_ns > bar.start_ns:
            yield from _wrapped(bar, replay.time_ns)
    folded = [part for bar in computed for part in _wrapped(bar, replay.time_ns)]
    yield from folded
    if folded:
        waits_in = min(bar.lane for bar in folded) if pair else COMPUTE
        yield from _waits(folded, replay.time_ns, waits_in)


def _lane_of(kind: str) -> str:
    return AGAIN if kind == Phase.AGAIN else COMPUTE


def _label(operation: str, names: Sequence[str]) -> str:
    """Return the label of an operation on a chain, with the name of its stage."""
    word, _, number = operation.rpartition(" ")
    if word and number.isdecimal() and 1 <= int(number) <= len(names):
        return f"{operation} ({names[int(number) - 1]})"
    return operation


def _wrapped(bar: Bar, period_ns: int) -> Iterator[Bar]:
    """Fold bars that cross the end of the period to its start."""
    for start_ns, end_ns in folded_span(bar.start_ns, bar.end_ns, period_ns):
        yield bar._replace(start_ns=start_ns, end_ns=end_ns)


def _waits(bars: Iterable[Bar], end_ns: int, lane: str) -> Iterator[Bar]:
    """Yield the bars of waiting, when nothing is computed."""
    reached_ns = 0
    for bar in sorted(bars, key=lambda bar: bar.start_ns):
        if bar.start_ns > reached_ns:
            yield Bar(lane, WAITING, reached_ns, bar.start_ns, WAITING)
        reached_ns = max(reached_ns, bar.end_ns)
    if reached_ns < end_ns:
        yield Bar(lane, WAITING, reached_ns, end_ns, WAITING)


def _moments(replay: Replay) -> list[Moment]:
    """Return memory over time: of a sequence, what is in use while each operation runs."""
    if replay.memory_profile:
        # What lasts no time at all between two operations is part of the peak too.
        brief = [
            Moment(step.start_ns, step.during_bytes)
            for step in replay.steps
            if step.start_ns == step.end_ns
        ]
        found = [*brief, *(Moment(*moment) for moment in replay.memory_profile)]
        found.sort(key=lambda moment: moment.when_ns)
        end_ns = max(replay.time_ns, found[-1].when_ns)
        if replay.clock != "ns":
            end_ns = found[-1].when_ns
        return [*found, Moment(end_ns, found[-1].size_bytes)]
    found = [
        Moment(step.start_ns, step.during_bytes)
        for step in replay.steps
        if replay.phase_of(step) is not Phase.FREEING
    ]
    last_bytes = replay.steps[-1].after_bytes if replay.steps else 0
    return [*found, Moment(replay.time_ns, last_bytes)]


def _few(bars: Sequence[Bar], end_ns: int, most: int) -> list[Bar]:
    """Join short neighbouring bars until there are few enough, or all are long."""
    shown = list(bars)
    longest_ns = max(end_ns // 4096, 1)
    while len(shown) > most and longest_ns < end_ns:
        shown = list(_joined(bars, longest_ns))
        longest_ns *= 2
    return shown


def _joined(bars: Sequence[Bar], longest_ns: int) -> Iterator[Bar]:
    current, count = bars[0], 1
    for bar in bars[1:]:
        alike = (bar.lane, bar.kind) == (current.lane, current.kind)
        if alike and bar.end_ns - current.start_ns <= longest_ns:
            count += 1
            current = current._replace(end_ns=bar.end_ns, label=f"{count} operations")
            continue
        yield current
        current, count = bar, 1
    yield current


def _few_moments(memory: Sequence[Moment], end_ns: int, most: int) -> list[Moment]:
    """Join neighbouring moments to the larger memory until there are few enough; keeps the peak."""
    shown = list(memory)
    longest_ns = max(end_ns // 4096, 1)
    while len(shown) > most and longest_ns < end_ns:
        joined = [shown[0]]
        for moment, following in pairwise(shown[1:]):
            if following.when_ns - joined[-1].when_ns <= longest_ns:
                largest = max(joined[-1].size_bytes, moment.size_bytes)
                joined[-1] = joined[-1]._replace(size_bytes=largest)
            else:
                joined.append(moment)
        shown = [*joined, shown[-1]]
        longest_ns *= 2
    return shown
