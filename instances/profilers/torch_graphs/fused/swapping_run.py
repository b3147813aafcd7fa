"""Run of a training step operator by operator that swaps, to measure it in little memory.

This is the run-time analysis of µ-TWO (Section 4.1, Algorithm A): before a backward operator runs,
the feature maps that it reads come back from the host; it runs, and its time is taken; after a
forward operator the feature maps that it was the last to read go to the host. So all of them are
swapped once in each iteration, and each copy is timed.

Beyond the paper, any other value makes room where memory would be exceeded, the one that is read
last first. So a step can be measured wherever what is resident and the operands, results and
workspace of one operator fit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median_low

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import exact_bytes
from jettison.instances.multi_model.step_uses import StepUses
from jettison.instances.profilers.device.timing import Spread, duration_ns
from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram
from jettison.instances.profilers.torch_graphs.fused.optimizers import FusedOptimizer
from jettison.instances.profilers.torch_graphs.held_storages import HeldStorages
from jettison.instances.profilers.torch_graphs.host_values import HostValue
from jettison.instances.profilers.torch_graphs.operator_calls import Tensors
from jettison.instances.profilers.torch_graphs.step_tensors import StepTensors
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class SwapTimes:
    """Median times of the copies of a feature map to the host and back."""

    out_ns: int
    back_ns: int


@dataclass(frozen=True, slots=True)
class SwappedProfile:
    """Measurements of a step that swaps.

    Attributes
    ----------
    spreads
        Minimum, median and maximum of the durations of each operator.
    swaps
        Copies of each feature map, by the operator that makes it.
    held_bytes
        What was held when each operator ended, its operands, results and what nothing reads
        included, by distinct storages; temporaries of an optimizer's step are gone by then.
    peak_bytes
        Most that was held at a time.
    evictions
        Copies and removals of values that had to make room, in one iteration.
    """

    spreads: Mapping[str, Spread]
    swaps: Mapping[str, SwapTimes]
    held_bytes: Mapping[str, int]
    peak_bytes: int
    evictions: int


@dataclass(slots=True)
class _Measured:
    """Durations that were measured, and what was held the last time, by operator."""

    run_ns: dict[int, list[int]] = field(default_factory=dict)
    out_ns: dict[int, list[int]] = field(default_factory=dict)
    back_ns: dict[int, list[int]] = field(default_factory=dict)
    held_bytes: dict[int, int] = field(default_factory=dict)


class SwappingRun:
    """Runs of one training step within a limit of memory.

    Parameters
    ----------
    program
        The step.
    tensors, optimizer
        What is resident, and the optimizer; the step trains them.
    device
        Where they are.
    memory_bytes
        The limit; None for no limit, where feature maps are swapped all the same.

    Raises
    ------
    InputError
        If what is resident and one operator do not fit: the message has the least memory that does.
    """

    def __init__(
        self,
        program: FusedProgram,
        tensors: StepTensors,
        optimizer: FusedOptimizer,
        device: torch.device,
        memory_bytes: int | None = None,
    ) -> None:
        self._program = program
        self._tensors = tensors
        self._optimizer = optimizer
        self._device = device
        graph = unmeasured_graph(program)
        self._graph = graph
        self._uses = StepUses.of(graph)
        self._users = graph.users
        self._static_bytes = resident_bytes(program, graph)
        self._memory_bytes = memory_bytes
        least_bytes = least_profiling_bytes(program)
        if memory_bytes is not None and memory_bytes < least_bytes:
            raise InputError(
                f"{exact_bytes(memory_bytes)} do not hold what is resident and one operator",
                field="memory",
                expected=f"give {exact_bytes(least_bytes)} or more, or fuse fewer models",
            )
        # Values in memory and on the host, by the operator that makes them; kept ones apart.
        self._values: dict[int, Tensors] = {}
        self._kept: dict[int, Tensors] = {}
        self._hosted: set[int] = set()
        self._host: dict[int, HostValue] = {}
        self._held = HeldStorages()
        self._evictions = 0
        self._measured = _Measured()
        self._step = 0

    def measure(self, *, warmup: int = 1, repeats: int = 3) -> SwappedProfile:
        """Run a few iterations, and return the medians of those after the first ones."""
        self._held.hold(self._tensors.all())
        for iteration in range(warmup + repeats):
            if iteration == warmup:
                self._measured = _Measured()
            self._evictions = 0
            with torch.no_grad():
                self._iterate()
        measured = self._measured
        names = [node.name for node in self._graph.nodes]
        return SwappedProfile(
            spreads={
                names[place]: (min(found), median_low(found), max(found))
                for place, found in measured.run_ns.items()
            },
            swaps={
                names[place]: SwapTimes(median_low(found), median_low(measured.back_ns[place]))
                for place, found in measured.out_ns.items()
            },
            held_bytes={names[place]: found for place, found in measured.held_bytes.items()},
            peak_bytes=self._held.peak_bytes,
            evictions=self._evictions,
        )

    def _iterate(self) -> None:
        self._step += 1
        self._hosted.clear()
        self._program.begin_step(self._tensors, self._optimizer, self._step)
        for place, node in enumerate(self._graph.nodes):
            read = [above for above in self._graph.inputs[place] if above not in self._kept]
            for above in read:
                if above not in self._values:
                    self._make_room(self._graph.nodes[above].output_bytes, place, read)
                    self._bring_back(above)
            taken_bytes = node.workspace_bytes + (0 if node.keep else node.output_bytes)
            self._make_room(taken_bytes, place, read)
            self._run(place)
            for above in (*read, place):
                if self._uses.last[above] == place and above in self._values:
                    self._drop(above)
            for above in (*read, place):
                if self._uses.last_forward.get(above) == place:
                    self._send_away(above)

    def _run(self, place: int) -> None:
        # A kept value is written to memory that is resident: the old one is gone by then.
        old = self._kept.pop(place, {})
        self._held.release(old.values())
        del old
        frame = dict(self._tensors.registers)
        for above in self._graph.inputs[place]:
            frame |= self._values.get(above) or self._kept[above]
        made, unread, duration = self._timed(place, frame)
        if made:
            (self._kept if self._graph.nodes[place].keep else self._values)[place] = made
        self._held.hold(unread)
        self._held.hold(made.values())
        self._measured.held_bytes[place] = self._held.held_bytes
        self._held.release(unread)
        self._measured.run_ns.setdefault(place, []).append(duration)

    def _timed(self, place: int, frame: Tensors) -> tuple[Tensors, tuple[Tensor, ...], int]:
        program = self._program
        if place >= len(program.calls):
            number = place - len(program.calls)
            gradient = program.gradients[number].on(frame)
            return (
                {},
                (),
                duration_ns(lambda: program.update(self._tensors, number, gradient), self._device),
            )
        found = []
        call = program.calls[place]
        duration = duration_ns(lambda: found.append(call.on(frame)), self._device)
        return found[0].stored, found[0].unread, 0 if call.call is None else duration

    def _make_room(self, size_bytes: int, place: int, needed: Iterable[int]) -> None:
        """Send values away until so much more fits, those first that are read last."""
        if self._memory_bytes is None:
            return
        room_bytes = self._memory_bytes - self._static_bytes - size_bytes
        nodes = self._graph.nodes
        stored_bytes = sum(nodes[held].output_bytes for held in self._values)
        leaving = sorted(set(self._values) - set(needed), key=lambda held: self._next(held, place))
        while stored_bytes > room_bytes and leaving:
            held = leaving.pop()
            stored_bytes -= nodes[held].output_bytes
            self._evictions += 1
            self._send_away(held)

    def _next(self, held: int, place: int) -> int:
        users = self._users[held]
        after = bisect_right(users, place - 1)
        return users[after] if after < len(users) else len(self._graph)

    def _send_away(self, place: int) -> None:
        """Remove a value from memory; what is on the host already is not copied again."""
        if place not in self._hosted:
            value = self._values[place]
            host = self._host.setdefault(place, HostValue(value))
            duration = duration_ns(lambda: host.copy_out(value), self._device)
            if place in self._uses.last_forward:
                self._measured.out_ns.setdefault(place, []).append(duration)
            self._hosted.add(place)
        if place in self._values:
            self._drop(place)

    def _bring_back(self, place: int) -> None:
        value = self._host[place].allocate(self._device)
        self._held.hold(value.values())
        duration = duration_ns(lambda: self._host[place].copy_in(value), self._device)
        if place in self._uses.last_forward:
            self._measured.back_ns.setdefault(place, []).append(duration)
        self._values[place] = value

    def _drop(self, place: int) -> None:
        value = self._values.pop(place)
        self._held.release(value.values())


def unmeasured_graph(program: FusedProgram) -> Graph:
    """Return the graph of a program without durations."""
    from jettison.instances.core.provenance import Provenance

    return program.graph("step", None, Provenance())


def resident_bytes(program: FusedProgram, graph: Graph) -> int:
    """Return the size of what is resident: tensors of the program, gradients, the loss."""
    return program.static_bytes + sum(node.output_bytes for node in graph.nodes if node.keep)


def least_profiling_bytes(program: FusedProgram) -> int:
    """Return the least memory in which a `SwappingRun` can measure a program."""
    graph = unmeasured_graph(program)

    def size_bytes(place: int) -> int:
        node = graph.nodes[place]
        return 0 if node.keep else node.output_bytes

    return resident_bytes(program, graph) + max(
        node.workspace_bytes + size_bytes(place) + sum(map(size_bytes, graph.inputs[place]))
        for place, node in enumerate(graph.nodes)
    )


def larger_ns(times: SwapTimes) -> int:
    """Return the time of a copy in the slower direction."""
    return max(times.out_ns, times.back_ns)
