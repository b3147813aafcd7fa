r"""The fastest of all schedules of a tiny chain that may offload, by search over moments.

Written from Table 1 of POFO and the rules below alone. It reads the fields of `Chain` and `Stage`
and shares no code with schedules, models or bounds.

A state is one moment of a schedule: which tensors are on the GPU and on the host, which gradient
is next, and what is running with the time that is left of it. There are three lanes, each with one
thing at a time: operations, copies to the host, copies from the host.

* An operation reads its inputs, which stay until it ends; its output and its overhead are in use
  while it runs. The output is there when it ends.
* A copy to the host leaves the tensor on the GPU, where it may be read. It may be dropped once the
  copy has ended. Copies on the host stay.
* A copy from the host takes its memory when it starts, and can be read when it ends.
* A copy of x bytes takes :math:`\lceil x / \beta \rceil` ns.
* Anything may be computed again at any time; each backward runs once. A tensor that nothing reads
  or copies may be dropped at any time.

Nothing is lost by these rules of the search. All durations are integers, and starting everything
as early as its order allows leaves starts only at moments at which something ends. A drop may wait
until a start lacks the memory, and then only drops that are all needed for that start are made:
the others may wait further. What has no size is never in the way: it is neither dropped nor copied.
Nothing is copied or computed to where it already is.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from jettison.instances.remat_chain.chain import Chain
from tests.drawing.overheads import saving_overhead

Tensor = tuple[str, int]  # "a" or "abar", and the stage


@dataclass(frozen=True, slots=True)
class Running:
    """An operation on its way."""

    left_ns: int
    kind: str  # "F" or "B"
    stage: int
    output: Tensor | None
    reads: frozenset[Tensor]
    extra_bytes: int


@dataclass(frozen=True, slots=True)
class Copying:
    """A copy on its way."""

    left_ns: int
    tensor: Tensor


Lane = TypeVar("Lane", Running, Copying)


def _after(lane: Lane | None, time_ns: int) -> Lane | None:
    """Return what is left of a lane so much later, or None if it has ended."""
    if lane is None or lane.left_ns == time_ns:
        return None
    return replace(lane, left_ns=lane.left_ns - time_ns)


@dataclass(frozen=True, slots=True)
class Moment:
    """State: what is where, and what is running. `gradient` is the stage of the next backward."""

    gradient: int
    device: frozenset[Tensor]
    host: frozenset[Tensor]
    operation: Running | None = None
    to_host: Copying | None = None
    from_host: Copying | None = None


class OffloadSearch:
    """The search for one chain, one memory and one rate of the link."""

    def __init__(self, chain: Chain, memory_bytes: int, bytes_per_ns: Fraction) -> None:
        self.chain = chain
        self.memory_bytes = memory_bytes
        self.bytes_per_ns = bytes_per_ns
        self.count = len(chain.stages)

    def fastest(self) -> int | None:
        """Return the least time of all schedules, or None if there is none."""
        start = Moment(self.count, frozenset({("a", 0)}), frozenset())
        if self.used_bytes(start) > self.memory_bytes:
            return None
        # Of equal estimates the moment that has come furthest goes first.
        queue = [(self.remaining_ns(start), 0, 0, start)]
        seen: set[Moment] = set()
        pushed = 0
        while queue:
            _, passed_ns, _, moment = heapq.heappop(queue)
            if moment in seen:
                continue
            seen.add(moment)
            if moment.gradient == 0:
                return -passed_ns
            for wait_ns, after in self.next_moments(moment):
                if after not in seen:
                    pushed += 1
                    later_ns = wait_ns - passed_ns
                    estimate_ns = later_ns + self.remaining_ns(after)
                    heapq.heappush(queue, (estimate_ns, -later_ns, -pushed, after))
        return None

    def remaining_ns(self, moment: Moment) -> int:
        """Return the time of the operations that have to run yet: at least this much is to come."""
        backward = self.chain.stages[: moment.gradient]
        remaining = sum(stage.backward_ns for stage in backward)
        reached = {number for _, number in moment.device | moment.host}
        if moment.operation is not None:
            remaining += moment.operation.left_ns
            if moment.operation.output is not None:
                reached.add(moment.operation.stage)
            else:
                remaining -= backward[-1].backward_ns
        # Without anything of a stage or of one above it, it has to be computed for the backward.
        return remaining + sum(stage.forward_ns for stage in backward[max(reached, default=0) :])

    def next_moments(self, moment: Moment) -> Iterator[tuple[int, Moment]]:
        """Yield each decision that can be made now, and the wait until something ends."""
        running = [
            lane.left_ns
            for lane in (moment.operation, moment.to_host, moment.from_host)
            if lane is not None
        ]
        if running:
            # The gradient that a backward leaves may be all that needs room.
            for after in self.with_room(self.passed(moment, min(running)), 0, frozenset()):
                yield min(running), after
        if 0 in running:
            return
        if moment.operation is None:
            for operation in self.operations(moment):
                for room in self.with_room(moment, operation.extra_bytes, operation.reads):
                    yield 0, replace(room, operation=operation)
        if moment.to_host is None:
            for tensor in sorted(moment.device - moment.host):
                arriving = moment.from_host is not None and moment.from_host.tensor == tensor
                if self.size_bytes(tensor) and not arriving:
                    yield 0, replace(moment, to_host=Copying(self.copy_ns(tensor), tensor))
        if moment.from_host is None:
            for tensor in sorted(moment.host - moment.device):
                for room in self.with_room(moment, self.size_bytes(tensor), frozenset()):
                    copying = Copying(self.copy_ns(tensor), tensor)
                    yield 0, replace(room, from_host=copying, device=room.device | {tensor})

    def operations(self, moment: Moment) -> Iterator[Running]:
        """Yield the operations whose inputs are on the GPU, in each way to read them."""
        ready = moment.device
        if moment.from_host is not None:
            ready = ready - {moment.from_host.tensor}
        for number in range(1, moment.gradient + 1):
            stage = self.chain.stages[number - 1]
            below: tuple[Tensor, Tensor] = ("a", number - 1), ("abar", number - 1)
            for source in (tensor for tensor in below if tensor in ready):
                for output in (("a", number), ("abar", number)):
                    # The next backward needs no plain output of its own stage.
                    useful = output != ("a", moment.gradient)
                    if useful and output not in moment.device:
                        extra = stage.forward_overhead_bytes
                        if output[0] == "abar":
                            extra = saving_overhead(stage)
                        yield Running(
                            stage.forward_ns,
                            "F",
                            number,
                            output,
                            frozenset({source}),
                            self.size_bytes(output) + extra,
                        )
                if number == moment.gradient and ("abar", number) in ready:
                    extra = stage.backward_overhead_bytes
                    if not self.chain.backward_overhead_holds_gradient:
                        extra += self.gradient_bytes(number - 1)
                    reads = frozenset({source, ("abar", number)})
                    yield Running(stage.backward_ns, "B", number, None, reads, extra)

    def with_room(
        self, moment: Moment, needed_bytes: int, kept: frozenset[Tensor]
    ) -> Iterator[Moment]:
        """Yield the moment after each set of drops that makes room, and of which all are needed."""
        lacking = self.used_bytes(moment) + needed_bytes - self.memory_bytes
        if lacking <= 0:
            yield moment
            return
        free = sorted(tensor for tensor in self.droppable(moment) if tensor not in kept)
        for count in range(1, len(free) + 1):
            for dropped in combinations(free, count):
                sizes = [self.size_bytes(tensor) for tensor in dropped]
                if sum(sizes) - min(sizes) < lacking <= sum(sizes):
                    yield replace(moment, device=moment.device - set(dropped))

    def droppable(self, moment: Moment) -> Iterator[Tensor]:
        """Yield what takes memory on the GPU and is neither read nor copied."""
        busy = {lane.tensor for lane in (moment.to_host, moment.from_host) if lane is not None}
        if moment.operation is not None:
            busy |= moment.operation.reads
        for tensor in moment.device - busy:
            if self.size_bytes(tensor):
                yield tensor

    def passed(self, moment: Moment, time_ns: int) -> Moment:
        """Return the moment so much later, at which all that ends then has ended."""
        gradient, device, host = moment.gradient, moment.device, moment.host
        operation = _after(moment.operation, time_ns)
        to_host = _after(moment.to_host, time_ns)
        from_host = _after(moment.from_host, time_ns)
        if moment.to_host is not None and to_host is None:
            host = host | {moment.to_host.tensor}
        if moment.operation is not None and operation is None:
            if moment.operation.output is not None:
                device = device | {moment.operation.output}
            else:
                gradient -= 1
        busy = {copy.tensor for copy in (to_host, from_host) if copy is not None}
        useless = {("a", number) for number in range(gradient, self.count)}
        useless |= {("abar", number) for number in range(gradient + 1, self.count + 1)}
        return Moment(
            gradient, device - (useless - busy), host - useless, operation, to_host, from_host
        )

    def used_bytes(self, moment: Moment) -> int:
        """Return the memory in use, the gradient and what is running included."""
        used = sum(self.size_bytes(tensor) for tensor in moment.device)
        used += self.gradient_bytes(moment.gradient)
        return used + (moment.operation.extra_bytes if moment.operation else 0)

    def copy_ns(self, tensor: Tensor) -> int:
        """Return the time of a copy in either direction."""
        return math.ceil(self.size_bytes(tensor) / self.bytes_per_ns)

    def size_bytes(self, tensor: Tensor) -> int:
        """Return the size of a tensor."""
        kind, number = tensor
        if kind == "abar":
            return self.chain.stages[number - 1].saved_bytes
        return self.activation_bytes(number)

    def activation_bytes(self, number: int) -> int:
        """Return the size of an activation."""
        return self.chain.input_bytes if number == 0 else self.chain.stages[number - 1].output_bytes

    def gradient_bytes(self, number: int) -> int:
        """Return the size of the gradient of an activation."""
        if number == 0:
            return self.chain.input_bytes
        given = self.chain.stages[number - 1].output_gradient_bytes
        return self.activation_bytes(number) if given is None else given
