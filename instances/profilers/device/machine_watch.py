"""Watch over the machine during a profile: its load, and a reference kernel in turns.

The kernel is fixed: a product of two matrices that stay in a cache of a core, and a sum of two
vectors that do not, about a millisecond each on one thread. It is measured as operations are, by
the same clock and with as many threads, before and after the profile and whenever a while has
passed, so that it takes a few percent of the time. What it takes when nothing else runs is not
known; the least that this program has seen stands for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from jettison.instances.profilers.device.threads import threads_set
from jettison.instances.profilers.device.timing import LaunchTimer, Operation, counted
from jettison.instances.profilers.machine_state import MachineState, load_average

# Between two turns, of some ten milliseconds on a CPU.
PAUSE_NS = 300_000_000
_REPEATS = 5
_ROWS = 256
_ELEMENTS = 2**21


@dataclass(slots=True)
class KnownTurns:
    """Durations of the reference kernel in all profiles of a program.

    Attributes
    ----------
    best_ns
        The least so far, by device and threads.
    counted_ns
        Those that count of each profile that is over, by device and threads.
    """

    best_ns: dict[tuple[str, int], int] = field(default_factory=dict)
    counted_ns: dict[tuple[str, int], list[int]] = field(default_factory=dict)


_OF_THIS_PROGRAM = KnownTurns()


class MachineWatch:
    """Watch over the machine while a profile is made on it.

    Parameters
    ----------
    device
        Device that is measured; a GPU must be the current one.
    threads
        Threads that operations on a CPU are measured with.
    known
        Turns of other profiles, to which those of this one are added; by default those of this
        program.
    load
        Returns the load of the machine, where it has one.
    now_ns
        Clock that tells when the next turn is due.
    """

    def __init__(
        self,
        device: torch.device,
        threads: int,
        *,
        known: KnownTurns | None = None,
        load: Callable[[], float | None] = load_average,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._device = device
        self._threads = threads
        self._known = _OF_THIS_PROGRAM if known is None else known
        self._load = load
        self._now_ns = now_ns
        self._key = (str(device), threads)
        self._kernel = reference_kernel(device)
        self._timer = LaunchTimer(device)
        self._turns_ns: list[int] = []
        self._load_before = load()
        self._take_turn()

    def look(self) -> None:
        """Measure the reference kernel, if its turn has come."""
        if self._now_ns() >= self._next_ns:
            self._take_turn()

    def state(self) -> MachineState:
        """Measure the reference kernel once more, and return the state of the machine so far."""
        self._take_turn()
        earlier_ns = self._known.counted_ns.setdefault(self._key, [])
        state = MachineState(
            cores=os.cpu_count() or 1,
            load_before=self._load_before,
            load_after=self._load(),
            turns_ns=tuple(self._turns_ns),
            best_ns=self._known.best_ns[self._key],
            earlier_ns=tuple(earlier_ns),
            counts_load=self._device.type == "cpu",
        )
        earlier_ns.append(state.counted_ns)
        return state

    def _take_turn(self) -> None:
        with torch.no_grad(), threads_set(self._threads):
            found = self._timer.durations_ns([self._kernel], warmup=1, repeats=_REPEATS)
        turn_ns = counted(found)[1]
        self._turns_ns.append(turn_ns)
        best_ns = self._known.best_ns.get(self._key, turn_ns)
        self._known.best_ns[self._key] = min(best_ns, turn_ns)
        self._next_ns = self._now_ns() + PAUSE_NS


def reference_kernel(device: torch.device) -> Operation:
    """Return an operation that computes the same on every machine, and allocates nothing."""
    options = {"dtype": torch.float32, "device": device}
    square, product = torch.ones((_ROWS, _ROWS), **options), torch.ones((_ROWS, _ROWS), **options)
    vector, total = torch.ones(_ELEMENTS, **options), torch.ones(_ELEMENTS, **options)

    def run() -> None:
        torch.mm(square, square, out=product)
        torch.add(vector, vector, out=total)

    return run
