r"""Judges a cyclic schedule by intervals on one long line, without replaying anything.

The events are copied into several periods. Everything has a key: a time, whether something starts
at it (1) or what has lasted until it ends (0), and the place in the list. Keys are ordered, and so
"before" has one meaning, for what takes no time as well. What is claimed of a schedule is checked
per resource and per layer, by comparing keys; memory is a sum over changes in the order of keys.
Uses, uploads and deletions are judged in the middle periods only: the first ones have no past.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from jettison.instances.remat_chain.chain import Stage
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from tests.drawing.overheads import saving_overhead

_PERIODS = 6
# Judged are those that start from the first of these periods on and before the last one.
_FIRST, _LAST = 2, 4

# A time, 0 for an end and 1 for a start (with what ends at once), and a place that breaks ties.
Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """Something from its start to its end."""

    kind: str
    layer: int
    start: Key
    end: Key
    period: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether all rules are kept, and the largest sum of memory."""

    is_valid: bool
    peak_bytes: int


class CyclicReferee:
    """Judges schedules of one problem."""

    def __init__(self, problem: WeightOffload) -> None:
        chain = problem.instance
        self._problem = problem
        self._layers = len(chain)
        rate = Fraction(problem.link.bytes_per_s, 10**9)
        self._weights = {k: stage.weight_bytes for k, stage in enumerate(chain, start=1)}
        self._moving_ns = {k: math.ceil(size / rate) for k, size in self._weights.items()}
        self._order = [("B", k) for k in range(self._layers, 0, -1)]
        self._order += [("F", k) for k in range(1, self._layers + 1)]

    def _lasts(self, kind: str, layer: int) -> int:
        stage = self._problem.instance.stages[layer - 1]
        if kind == "B":
            return stage.backward_ns
        if kind == "F":
            return stage.forward_ns
        return 0 if kind == "delete" else self._moving_ns[layer]

    def _other_bytes(self, kind: str, layer: int) -> tuple[int, int]:
        """Bytes besides all weights: needed while an operation runs, and left by it."""
        chain = self._problem.instance
        saved = [stage.saved_bytes for stage in chain.stages[:layer]]
        held = chain.input_bytes + sum(saved)
        stage = chain.stages[layer - 1]
        if kind == "F":
            return held + saving_overhead(stage), held
        leaves = _gradient_bytes(chain.stages[layer - 2]) if layer > 1 else 0
        gradient = leaves if layer > 1 else chain.input_bytes
        needs = stage.backward_overhead_bytes
        if not chain.backward_overhead_holds_gradient:
            needs += gradient
        extra = max(needs, leaves) + _gradient_bytes(stage) + stage.weight_bytes
        return held + extra, held - saved[-1] + leaves

    def judge(self, schedule: CyclicSchedule) -> Verdict:
        """Check every rule; the peak is that of the judged periods."""
        if any(not 1 <= event.layer <= self._layers for event in schedule.events):
            return Verdict(is_valid=False, peak_bytes=0)
        listed = [(str(event.kind), event.layer) for event in schedule.events]
        if [item for item in listed if item[0] in {"B", "F"}] != self._order:
            return Verdict(is_valid=False, peak_bytes=0)
        spans = []
        place = 0
        for period in range(_PERIODS):
            for (kind, layer), event in zip(listed, schedule.events, strict=True):
                place += 1
                when = period * schedule.period_ns + event.start_ns
                start = (when, 1, place)
                lasts = self._lasts(kind, layer)
                end = (when + lasts, 0, place) if lasts else start
                spans.append(Span(kind, layer, start, end, period))
        good = self._take_turns(spans, {"B", "F"})
        good &= self._take_turns(spans, {"upload"})
        good &= self._take_turns(spans, {"prefetch"})
        changes: list[tuple[Key, int]] = []
        for layer in range(1, self._layers + 1):
            kept, moves = self._judge_layer([span for span in spans if span.layer == layer])
            good &= kept
            changes += moves
        peak = self._peak(spans, changes)
        return Verdict(is_valid=good and peak <= self._problem.memory_bytes, peak_bytes=peak)

    def _take_turns(self, spans: list[Span], kinds: set[str]) -> bool:
        """Whether each waits for the end of all that started before."""
        users = [span for span in spans if span.kind in kinds]
        latest: Key = (0, 0, 0)
        for user in users:
            if user.start < latest:
                return False
            latest = max(latest, user.end)
        return True

    def _judge_layer(self, spans: list[Span]) -> tuple[bool, list[tuple[Key, int]]]:
        """Whether the layer's rules are kept, and when its weights take and leave memory."""
        size = self._weights[spans[0].layer]
        deletes = [span for span in spans if span.kind == "delete"]
        fetches = [span for span in spans if span.kind == "prefetch"]
        moves = sorted((*deletes, *fetches), key=lambda span: span.start)
        kinds = [span.kind for span in moves]
        # They alternate, all around the circle.
        if any(one == other for one, other in pairwise(kinds)):
            return False, []
        in_period = len(kinds) // _PERIODS
        if kinds and in_period % 2:
            return False, []
        changes = [(span.start, size if span.kind == "prefetch" else -size) for span in moves]
        if not kinds or kinds[0] == "delete":
            changes.append(((0, 0, 0), size))
        gone = [(span.start, _next(span, fetches)) for span in deletes]
        if kinds and kinds[0] == "prefetch":
            gone.append(((0, 0, 0), fetches[0].end))
        uploads = [span for span in spans if span.kind == "upload"]
        backwards = [span for span in spans if span.kind == "B"]
        judged = [span for span in spans if _FIRST <= span.period < _LAST]
        good = True
        for span in judged:
            if span.kind in {"B", "F", "upload"}:
                good &= not any(_meet(span.start, span.end, *absence) for absence in gone)
            if span.kind == "upload":
                good &= not any(_meet(span.start, span.end, b.start, b.end) for b in backwards)
            if span.kind == "delete":
                users = [user for user in spans if user.kind in {"B", "F", "upload", "prefetch"}]
                good &= not any(user.start < span.start < user.end for user in users)
                changed = max(b.start for b in backwards if b.start < span.start)
                good &= any(changed < up.start and up.end <= span.start for up in uploads)
        return good, changes

    def _peak(self, spans: list[Span], changes: list[tuple[Key, int]]) -> int:
        levels: list[tuple[Key, int, int]] = [(key, 0, change) for key, change in changes]
        for span in spans:
            if span.kind in {"B", "F"}:
                working, resting = self._other_bytes(span.kind, span.layer)
                levels.append((span.start, 1, working))
                if span.end > span.start:
                    levels.append((span.end, 1, resting))
                else:
                    levels.append((span.start, 2, resting))
        levels.sort()
        weights = other = peak = 0
        settled = _FIRST * (len(spans) // _PERIODS)
        for (_, _, place), is_operation, amount in levels:
            if is_operation:
                other = amount
            else:
                weights += amount
            if place > settled:
                peak = max(peak, weights + other)
        return peak


def _next(span: Span, fetches: list[Span]) -> Key:
    """Time at which weights that are deleted have come back."""
    later = [fetch.end for fetch in fetches if fetch.start > span.start]
    return min(later, default=(2**70, 0, 0))


def _meet(start: Key, end: Key, since: Key, until: Key) -> bool:
    """Whether two spans have a moment in common that lies inside one of them."""
    return start < until and since < end


def _gradient_bytes(stage: Stage) -> int:
    given = stage.output_gradient_bytes
    return stage.output_bytes if given is None else given
