"""Memory of the device while a schedule runs: what operations take and return, within the limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jettison.instances.core.units import exact_bytes
from jettison.instances.profilers.torch_graphs.held_storages import HeldStorages
from jettison.instances.profilers.torch_graphs.operator_calls import Tensors
from jettison.torch.errors import ExecutionError
from jettison.torch.multi_model.streams import Event, Lane, Streams


class Slot:
    """Place in memory for one value, filled and emptied by the streams that work on it."""

    def __init__(self, held: HeldStorages) -> None:
        self._held = held
        self.tensors: Tensors = {}

    def fill(self, tensors: Tensors) -> None:
        """Hold tensors from now on."""
        self._held.hold(tensors.values())
        self.tensors = tensors

    def empty(self) -> None:
        """Let them go."""
        tensors, self.tensors = self.tensors, {}
        self._held.release(tensors.values())


@dataclass(frozen=True, slots=True)
class _Return:
    """Memory that returns when some events have been reached, and what lets it go."""

    size_bytes: int
    events: tuple[Event, ...]
    let_go: Callable[[], None]


class DeviceMemory:
    """Memory of the device, taken in the order of issue as the replay of the schedule takes it.

    Operations take what the profile says that they need; `held` counts what is really there.

    Parameters
    ----------
    limit_bytes
        The limit.
    streams
        Streams whose events return memory.
    held
        The account of storages.
    """

    def __init__(self, limit_bytes: int, streams: Streams, held: HeldStorages) -> None:
        self._limit_bytes = limit_bytes
        self._streams = streams
        self._returns: deque[_Return] = deque()
        self.held = held
        self.taken_bytes = 0

    def take(self, size_bytes: int, lane: Lane, name: str) -> list[Event]:
        """Take memory for an operation; return what it has to wait for on its stream.

        Raises
        ------
        ExecutionError
            If there is not so much, even when all has returned that was given up.
        """
        self.collect()
        awaited: list[Event] = []
        # An operation without memory never waits.
        while size_bytes and self._returns and self.taken_bytes + size_bytes > self._limit_bytes:
            first = self._returns.popleft()
            self._streams.await_start(lane, first.events)
            awaited += first.events
            self._end(first)
        if size_bytes and self.taken_bytes + size_bytes > self._limit_bytes:
            raise ExecutionError(
                f"{name} needs {exact_bytes(size_bytes)}, and "
                f"{exact_bytes(self.taken_bytes)} of {exact_bytes(self._limit_bytes)} are taken"
            )
        self.taken_bytes += size_bytes
        return awaited

    def give_back(
        self,
        size_bytes: int,
        events: Iterable[Event],
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        """Return memory once some events have been reached."""
        self._returns.append(_Return(size_bytes, tuple(events), let_go))

    def collect(self) -> None:
        """Return what can be returned by now."""
        waiting = self._returns
        self._returns = deque()
        for item in waiting:
            if all(event.is_done() for event in item.events):
                self._end(item)
            else:
                self._returns.append(item)

    def _end(self, item: _Return) -> None:
        item.let_go()
        self.taken_bytes -= item.size_bytes
