"""Bookkeeping that sequential replays share: the clock, the peak, and the violations."""

from __future__ import annotations

from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule, Step
from jettison.schedules.core.schedule_class import ScheduleClass


class Recorder:
    """Recorder of the steps and violations of one replay, in exact integers."""

    def __init__(self, *, stored_bytes: int, limit_bytes: int | None) -> None:
        self.stored_bytes = stored_bytes
        self._limit_bytes = limit_bytes
        self._clock_ns = 0
        self._peak_bytes = stored_bytes
        self._steps: list[Step] = []
        self._findings = Findings()
        self._seen: set[str] = set()
        if limit_bytes is not None and stored_bytes > limit_bytes:
            self._findings.broken_at_start("the input", stored_bytes - limit_bytes)

    def broken(self, rule: Rule, operation: str, tensor: str) -> None:
        """Record that the current operation breaks `rule` on `tensor`."""
        self._findings.at(len(self._steps), operation)
        self._findings.broken(rule, tensor)

    def broken_at_end(self, rule: Rule, tensor: str) -> None:
        """Record that the sequence as a whole breaks `rule` on `tensor`."""
        self._findings.broken_at_end(rule, tensor)

    def step(
        self,
        operation: str,
        *,
        duration_ns: int,
        extra_bytes: int,
        stored_bytes: int,
        tensor: str,
        computation: str | None,
    ) -> None:
        """Record one operation.

        Parameters
        ----------
        operation
            Its text.
        duration_ns
            Its duration.
        extra_bytes
            Its outputs and overhead, on top of what is stored before it.
        stored_bytes
            Memory in use after it.
        tensor
            Its output, for the message if it does not fit.
        computation
            Key of what it computes, by which repetitions are found; None if it computes nothing.
        """
        during = self.stored_bytes + extra_bytes
        # What is stored afterwards can exceed what the operation needs, where the convention of
        # the instance counts an output as part of an overhead that is smaller than the output.
        needed = max(during, stored_bytes)
        # An operation that adds nothing is not to blame for memory that was over the limit before.
        adds = needed > self.stored_bytes
        if self._limit_bytes is not None and adds and needed > self._limit_bytes:
            self._findings.at(len(self._steps), operation)
            self._findings.broken(Rule.OUT_OF_MEMORY, tensor, needed - self._limit_bytes)
        self._peak_bytes = max(self._peak_bytes, needed)
        repeated = computation is not None and computation in self._seen
        if computation is not None:
            self._seen.add(computation)
        end_ns = self._clock_ns + duration_ns
        self._steps.append(Step(operation, self._clock_ns, end_ns, during, stored_bytes, repeated))
        self._clock_ns = end_ns
        self.stored_bytes = stored_bytes

    def verdict(self, schedule_class: ScheduleClass) -> Replay:
        """Return the verdict of the replay."""
        return Replay(
            steps=tuple(self._steps),
            peak_bytes=self._peak_bytes,
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=schedule_class,
        )
