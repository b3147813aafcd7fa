"""Memory of the device while a schedule runs: what operations take and return, within the limit."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jettison.instances.core.units import exact_bytes
from jettison.instances.profilers.torch_graphs.held_storages import HeldStorages
from jettison.instances.profilers.torch_graphs.operator_calls import Tensors
from jettison.torch.errors import ExecutionError
from jettison.torch.multi_model.streams import Begin, Event


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

    number: int
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
    taken_bytes
        What is resident.
    held
        The account of storages.
    """

    def __init__(self, limit_bytes: int, taken_bytes: int, held: HeldStorages) -> None:
        self._limit_bytes = limit_bytes
        self._lock = threading.RLock()
        self._returns: deque[_Return] = deque()
        self._issued = 0
        self._taken_bytes = taken_bytes
        self.held = held

    def taking(self, size_bytes: int, name: str) -> Begin:
        """Return what takes memory for an operation when it begins.

        It waits for memory that was given up before the operation was issued. If that is not
        enough, it raises an `ExecutionError`; the replay of the schedule would have said so.
        """
        issued = self._issued

        def begin(wait: Callable[[Iterable[Event]], None]) -> None:
            self._take(size_bytes, issued, wait, name)

        return begin

    def give_back(
        self,
        size_bytes: int,
        events: Iterable[Event],
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        """Return memory once some events have been reached."""
        with self._lock:
            self._returns.append(_Return(self._issued, size_bytes, tuple(events), let_go))
            self._issued += 1

    def collect(self) -> None:
        """Return all that can be returned by now."""
        self._collect(self._issued)

    def _collect(self, issued: int) -> None:
        """Return what can be returned by now, of what was given up before something was issued."""
        with self._lock:
            waiting = []
            while self._returns and self._returns[0].number < issued:
                item = self._returns.popleft()
                if all(event.is_done() for event in item.events):
                    self._end(item)
                else:
                    waiting.append(item)
            self._returns.extendleft(reversed(waiting))

    def _take(
        self,
        size_bytes: int,
        issued: int,
        wait: Callable[[Iterable[Event]], None],
        name: str,
    ) -> None:
        self._collect(issued)
        # An operation without memory never waits.
        while size_bytes and self._taken_bytes + size_bytes > self._limit_bytes:
            with self._lock:
                if not self._returns or self._returns[0].number >= issued:
                    raise ExecutionError(
                        f"{name} needs {exact_bytes(size_bytes)}, and "
                        f"{exact_bytes(self._taken_bytes)} of "
                        f"{exact_bytes(self._limit_bytes)} are taken"
                    )
                first = self._returns.popleft()
            wait(first.events)
            self._end(first)
        with self._lock:
            self._taken_bytes += size_bytes

    def _end(self, item: _Return) -> None:
        item.let_go()
        with self._lock:
            self._taken_bytes -= item.size_bytes
