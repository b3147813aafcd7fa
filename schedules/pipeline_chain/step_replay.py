r"""Replay of a pipeline schedule: times of its timeline, and memory of each device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import BACKWARD, Replay, Rule, Step
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.phase_memory import MicroBatch, MicroBatchReplay, PhaseStep
from jettison.schedules.pipeline_chain.phase_timeline import PhaseTimes, RunPhase, run_phases
from jettison.schedules.remat_chain.schedule import ChainOperation

FORWARD = "F"


class Plan(Protocol):
    """Protocol of the plan of a part; `DevicePlan` has the meaning."""

    @property
    def first(self) -> int:
        """First stage."""
        ...

    @property
    def last(self) -> int:
        """Last stage."""
        ...

    @property
    def forward(self) -> tuple[ChainOperation, ...]:
        """Operations of the forward phase."""
        ...

    @property
    def backward(self) -> tuple[ChainOperation, ...]:
        """Operations of the backward phase."""
        ...


@dataclass(frozen=True)
class PartRun:
    """Run of one part through a step.

    Attributes
    ----------
    first, last
        Its stages.
    times
        Times of its phases.
    microbatch
        A micro-batch on it, every one alike.
    """

    first: int
    last: int
    times: PhaseTimes
    microbatch: MicroBatch


@dataclass(frozen=True)
class DeviceRun:
    """Run of one device through a step.

    Attributes
    ----------
    number
        The device, from 1.
    parts
        Its parts along the chain: one, or where phases are interleaved one for each chunk.
    phases
        Its phases in order.
    resident_bytes
        What it holds all the time.
    """

    number: int
    parts: tuple[PartRun, ...]
    phases: tuple[RunPhase, ...]
    resident_bytes: int

    @cached_property
    def in_flight(self) -> int:
        """Most micro-batches that were in or between their phases at a time, each of one part."""
        most = now = 0
        for phase in self.phases:
            most = max(most, now + (not phase.is_backward))
            now += -1 if phase.is_backward else 1
        return most

    @property
    def stages(self) -> str:
        """The stages of each part, such as ``1-3 9-12``."""
        return " ".join(
            str(part.first) if part.first == part.last else f"{part.first}-{part.last}"
            for part in self.parts
        )

    @property
    def busy_ns(self) -> int:
        """Time in which a micro-batch occupies the device."""
        return sum(part.times.busy_ns for part in self.parts)

    @cached_property
    def peak_bytes(self) -> int:
        """Largest memory in use on the device at any time."""
        return max((peak for _, _, peak in self._phases_in_memory()), default=self.resident_bytes)

    @cached_property
    def memory_profile(self) -> tuple[tuple[int, int, int], ...]:
        """Memory over time, operation by operation: (start, end, bytes in use)."""
        found = []
        for phase, others, _ in self._phases_in_memory():
            for item in self.operations_of(phase):
                used = others + max(item.during_bytes, item.after_bytes)
                start_ns = phase.start_ns
                found.append((start_ns + item.start_ns, start_ns + item.end_ns, used))
        return tuple(found)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The phases as steps of a replay."""
        return tuple(
            Step(
                f"{BACKWARD if phase.is_backward else FORWARD} {phase.microbatch}"
                f"{f' of chunk {phase.chunk}' if len(self.parts) > 1 else ''}"
                f" on device {self.number}",
                phase.start_ns,
                phase.end_ns,
                peak,
                others if phase.is_backward else others + self._own(phase).kept_bytes,
                False,
            )
            for phase, others, peak in self._phases_in_memory()
        )

    def operations_of(self, phase: RunPhase) -> tuple[PhaseStep, ...]:
        """Return the operations of a phase, from its start."""
        own = self._own(phase)
        return own.backward if phase.is_backward else own.forward

    def _own(self, phase: RunPhase) -> MicroBatch:
        return self.parts[phase.chunk - 1].microbatch

    def _phases_in_memory(self) -> Iterator[tuple[RunPhase, int, int]]:
        """Yield each phase, what is held beside its micro-batch, and the peak with it."""
        waiting = [0] * len(self.parts)
        for phase in self.phases:
            own, chunk = self._own(phase), phase.chunk - 1
            waiting[chunk] -= phase.is_backward
            others = self.resident_bytes + sum(
                count * part.microbatch.kept_bytes
                for count, part in zip(waiting, self.parts, strict=True)
            )
            peak = own.backward_peak_bytes if phase.is_backward else own.forward_peak_bytes
            yield phase, others, others + peak
            waiting[chunk] += not phase.is_backward


@dataclass(frozen=True, kw_only=True)
class PipelineReplay(Replay):
    """Verdict of the replay of one step on a pipeline.

    `peak_bytes` is that of the device that needs most.

    Attributes
    ----------
    devices
        The run of each device.
    """

    devices: tuple[DeviceRun, ...]

    @cached_property
    def time_ns(self) -> int:
        """Time of the step: until the last result has been sent."""
        return max(phase.sent_ns for run in self.devices for phase in run.phases)

    @cached_property
    def bottleneck_ns(self) -> int:
        """Time of a micro-batch on the busiest device: what each further one adds to the step."""
        return max(run.busy_ns for run in self.devices)

    @cached_property
    def recompute_ns(self) -> int:
        """Time of recomputation of a micro-batch, of all devices together."""
        return sum(part.microbatch.recompute_ns for run in self.devices for part in run.parts)

    def lane_of(self, step: Step) -> str | None:
        """Return the device of a phase."""
        return step.operation.split(" on ", 1)[1]


def replay_pipeline(
    problem: PipelineChain, plans: Sequence[Plan], chunks: int = 1
) -> PipelineReplay:
    r"""Execute a step on a pipeline in exact integers and name every broken rule.

    The memory of a device at any time is what it holds all the time, what every micro-batch between
    its phases holds, and what the micro-batch that runs holds and needs. The class is
    ``persistent`` if the operations of a micro-batch are so on every device.

    Parameters
    ----------
    problem
        Chain, devices, memory and micro-batches.
    plans
        The plan of each part along the chain.
    chunks
        Parts of each device, which are `devices` parts from each other.

    Notes
    -----
    Time linear in the operations of one micro-batch and in the phases of the step.
    """
    findings = Findings()
    chain, count = problem.instance, len(plans) // chunks
    if count != problem.devices:
        findings.broken_at_end(
            Rule.UNKNOWN_OPERATION, f"{count} devices are planned of {problem.devices}"
        )
    if chunks > problem.chunks:
        findings.broken_at_end(
            Rule.UNKNOWN_OPERATION, f"{chunks} chunks are planned of up to {problem.chunks}"
        )
    if chunks > 1 and problem.microbatches % count:
        findings.broken_at_end(
            Rule.OUT_OF_ORDER,
            f"{problem.microbatches} micro-batches do not make groups of {count}",
        )
        chunks, count = 1, len(plans)
    if plans[-1].last != len(chain):
        findings.broken_at_end(Rule.UNFINISHED, f"stage {plans[-1].last + 1} is on no device")
    parts = [_part(problem, plan, at, len(plans), count, findings) for at, plan in enumerate(plans)]
    phases = run_phases([part.times for part in parts], count, problem.microbatches)
    runs = tuple(
        DeviceRun(
            number,
            tuple(parts[number - 1 :: count]),
            tuple(phases[number - 1]),
            sum(
                problem.resident_bytes(at + 1, parts[at].first, parts[at].last, len(parts))
                for at in range(number - 1, len(parts), count)
            ),
        )
        for number in range(1, count + 1)
    )
    for run in runs:
        if run.peak_bytes > problem.memory_bytes:
            findings.at(run.number - 1, f"device {run.number}")
            over = run.peak_bytes - problem.memory_bytes
            findings.broken(Rule.OUT_OF_MEMORY, f"stages {run.stages}", over)
    persistent = all(part.microbatch.is_persistent for part in parts)
    return PipelineReplay(
        steps=tuple(
            sorted(
                (step for run in runs for step in run.steps),
                key=lambda step: (step.end_ns, step.start_ns),
            )
        ),
        peak_bytes=max(run.peak_bytes for run in runs),
        limit_bytes=problem.memory_bytes,
        violations=findings.violations,
        schedule_class=ScheduleClass.PERSISTENT if persistent else ScheduleClass.ALL,
        devices=runs,
    )


def _part(
    problem: PipelineChain, plan: Plan, at: int, parts: int, devices: int, findings: Findings
) -> PartRun:
    """Run a micro-batch on the part at a position along the chain, from 0."""
    device = at % devices + 1
    chain = problem.instance

    def broken(rule: Rule, operation: str, tensor: str) -> None:
        findings.at(device - 1, f"device {device}: {operation}")
        findings.broken(rule, tensor)

    first, last = min(plan.first, len(chain)), min(plan.last, len(chain))
    if last != plan.last or plan.first > last:
        broken(Rule.UNKNOWN_OPERATION, "stages", f"the chain ends with stage {len(chain)}")
    own = MicroBatchReplay(chain, min(first, last), last, broken).run(plan.forward, plan.backward)
    times = PhaseTimes(
        own.forward_ns,
        own.backward_ns,
        problem.send_forward_ns(at + 1, last, parts),
        problem.send_backward_ns(at + 1, first),
    )
    return PartRun(first, last, times, own)
