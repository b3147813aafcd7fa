"""Log of measured stages that is kept in the file of an unfinished profile."""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.profilers.torch_chains.partial_profile import Codec, PartialProfile
from jettison.instances.profilers.torch_chains.stage_measurement import StageMeasurement

STAGES = Codec(StageMeasurement.to_json, StageMeasurement.from_json)


class StageLog:
    """Measurement log that writes each stage to the file of an unfinished profile at once.

    Parameters
    ----------
    partial
        File that the stages are kept in.
    announce
        Called with the number of a stage, from 1, their count and its name before it is measured.
    """

    def __init__(
        self,
        partial: PartialProfile[StageMeasurement],
        announce: Callable[[int, int, str], None] = lambda number, count, stage: None,
    ) -> None:
        self._partial = partial
        self._announce = announce

    def recall(self, stage: str) -> StageMeasurement | None:
        """Return the measurement of a stage, or None if there is none yet."""
        return self._partial.measured.get(stage)

    def starting(self, number: int, count: int, stage: str) -> None:
        """Announce that a stage is about to be measured."""
        self._announce(number, count, stage)

    def record(self, stage: str, measurement: StageMeasurement) -> None:
        """Write the measurement of a stage to the file."""
        self._partial.record(stage, measurement)
