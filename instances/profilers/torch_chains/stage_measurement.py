"""Measurement of one stage, as it is written to files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from jettison.instances.profilers.device.memory_window import MemoryWindow
from jettison.instances.profilers.torch_chains.stage_memory import Layout, StageMemory
from jettison.instances.profilers.torch_chains.stage_time import StageTime

_SIZES = (
    "output_bytes",
    "hooked_bytes",
    "uncounted_bytes",
    "new_gradient_bytes",
    "input_gradient_bytes",
    "own_output_bytes",
    "generator_bytes",
)
_LAYOUTS = ("gradient_layout", "input_gradient_layout")
_WINDOWS = ("passing", "forward", "backward")


@dataclass(frozen=True, slots=True)
class StageMeasurement:
    """Durations and sizes of one stage."""

    time: StageTime
    memory: StageMemory

    def to_json(self) -> dict[str, object]:
        """Return the numbers as a JSON object."""
        return {
            **{item.name: list(getattr(self.time, item.name)) for item in fields(self.time)},
            **{name: getattr(self.memory, name) for name in _SIZES},
            **{name: getattr(self.memory, name) for name in _LAYOUTS},
            **{name: _levels(getattr(self.memory, name)) for name in _WINDOWS},
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> StageMeasurement:
        """Read the numbers back.

        Raises
        ------
        KeyError, TypeError
            If the entry is not one that `to_json` wrote.
        """
        return cls(
            StageTime(tuple(entry["forward_ns"]), tuple(entry["backward_ns"])),
            StageMemory(
                output_bytes=entry["output_bytes"],
                hooked_bytes=entry["hooked_bytes"],
                uncounted_bytes=entry["uncounted_bytes"],
                new_gradient_bytes=entry["new_gradient_bytes"],
                input_gradient_bytes=entry["input_gradient_bytes"],
                own_output_bytes=entry["own_output_bytes"],
                generator_bytes=entry["generator_bytes"],
                gradient_layout=_layout(entry["gradient_layout"]),
                input_gradient_layout=_layout(entry["input_gradient_layout"]),
                passing=MemoryWindow(*entry["passing"]),
                forward=MemoryWindow(*entry["forward"]),
                backward=MemoryWindow(*entry["backward"]),
            ),
        )


class MeasurementLog(Protocol):
    """Log of a measurement, stage by stage, which may hold stages of an earlier run."""

    def recall(self, stage: str) -> StageMeasurement | None:
        """Return the known measurement of a stage; None if it has to be measured."""

    def starting(self, number: int, count: int, stage: str) -> None:
        """Be told that stage `number` of `count`, from 1, is about to be measured."""

    def record(self, stage: str, measurement: StageMeasurement) -> None:
        """Keep the measurement of a stage."""


class NoLog:
    """Measurement log that keeps nothing."""

    def recall(self, stage: str) -> StageMeasurement | None:
        """Return None: every stage has to be measured."""

    def starting(self, number: int, count: int, stage: str) -> None:
        """Do nothing."""

    def record(self, stage: str, measurement: StageMeasurement) -> None:
        """Do nothing."""


def _layout(entry: list[int] | None) -> Layout | None:
    return None if entry is None else tuple(entry)


def _levels(window: MemoryWindow) -> list[int]:
    return [window.start_bytes, window.peak_bytes, window.end_bytes]
