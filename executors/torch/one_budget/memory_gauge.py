"""Gauge of the device's memory during a step on a CPU: what is held, and what operations add."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.instances.profilers.device.memory_window import MemoryWindow
from jettison.schedules.training_chain.event import TrainingEvent, TrainingEventKind


class NoGauge:
    """Gauge of steps whose memory is not measured."""

    def look(self) -> None:
        """Do nothing."""

    def operation(self, event: TrainingEvent) -> AbstractContextManager[object]:
        """Do nothing."""
        return nullcontext()


class CpuGauge(AbstractContextManager["CpuGauge"]):
    """Gauge of the device's part of a CPU's memory: what is held, and what operations add.

    Parameters
    ----------
    held_bytes
        Returns the bytes of all that is held.
    """

    def __init__(self, held_bytes: Callable[[], int]) -> None:
        self._held_bytes = held_bytes
        self._meter = CpuMemoryMeter()
        self._windows: list[tuple[int, MemoryWindow]] = []
        self._most_held_bytes = 0

    def look(self) -> None:
        """Count what is held between two events."""
        self._most_held_bytes = max(self._most_held_bytes, self._held_bytes())

    def operation(self, event: TrainingEvent) -> AbstractContextManager[object]:
        """Measure what an operation of the device takes beyond what is held when it begins."""
        if event.kind is TrainingEventKind.HOST_UPDATE:
            return nullcontext()
        return self._window()

    def _window(self) -> AbstractContextManager[object]:
        return _Window(self._meter.window(), self._held_bytes(), self._windows)

    def __enter__(self) -> CpuGauge:
        self._meter.__enter__()
        return self

    def __exit__(self, *given: Any) -> None:
        self._meter.__exit__(*given)

    @property
    def peak_bytes(self) -> int:
        """The peak, once the gauge is closed."""
        return max(
            [self._most_held_bytes, *(held + window.rise_bytes for held, window in self._windows)]
        )


class _Window(AbstractContextManager[object]):
    def __init__(
        self,
        window: AbstractContextManager[MemoryWindow],
        held_bytes: int,
        windows: list[tuple[int, MemoryWindow]],
    ) -> None:
        self._window = window
        self._held_bytes = held_bytes
        self._windows = windows

    def __enter__(self) -> object:
        self._windows.append((self._held_bytes, self._window.__enter__()))
        return None

    def __exit__(self, *given: Any) -> None:
        self._window.__exit__(*given)


Gauge = NoGauge | CpuGauge
