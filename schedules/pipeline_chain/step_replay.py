r"""Replay of a pipeline schedule: times of the 1F1B timeline, and memory of each device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import BACKWARD, Replay, Rule, Step
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.pipeline_chain.one_f_one_b import PhaseTimes, RunPhase, run_1f1b
from jettison.schedules.pipeline_chain.phase_memory import MicroBatch, MicroBatchReplay
from jettison.schedules.remat_chain.schedule import ChainOperation

FORWARD = "F"


class Plan(Protocol):
    """Protocol of the plan of a device; `DevicePlan` has the meaning."""

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
class DeviceRun:
    """Run of one device through a step.

    Attributes
    ----------
    number, first, last
        The device, from 1, and its stages.
    times
        Times of its phases.
    microbatch
        A micro-batch on it, every one alike.
    phases
        Its phases in order.
    in_flight
        Most micro-batches that were between or in their phases at a time.
    resident_bytes
        What it holds all the time.
    """

    number: int
    first: int
    last: int
    times: PhaseTimes
    microbatch: MicroBatch
    phases: tuple[RunPhase, ...]
    in_flight: int
    resident_bytes: int

    @cached_property
    def peak_bytes(self) -> int:
        """Largest memory in use on the device at any time."""
        return max((peak for _, _, peak in self._phases_in_memory()), default=self.resident_bytes)

    @cached_property
    def memory_profile(self) -> tuple[tuple[int, int, int], ...]:
        """Memory over time, operation by operation: (start, end, bytes in use)."""
        found = []
        for phase, others, _ in self._phases_in_memory():
            own = self.microbatch.backward if phase.is_backward else self.microbatch.forward
            for item in own:
                used = others + max(item.during_bytes, item.after_bytes)
                start_ns = phase.start_ns
                found.append((start_ns + item.start_ns, start_ns + item.end_ns, used))
        return tuple(found)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The phases as steps of a replay."""
        kept = self.microbatch.kept_bytes
        return tuple(
            Step(
                f"{BACKWARD if phase.is_backward else FORWARD} {phase.microbatch}"
                f" on device {self.number}",
                phase.start_ns,
                phase.end_ns,
                peak,
                others if phase.is_backward else others + kept,
                False,
            )
            for phase, others, peak in self._phases_in_memory()
        )

    def _phases_in_memory(self) -> Iterator[tuple[RunPhase, int, int]]:
        """Yield each phase, what is held beside its micro-batch, and the peak with it."""
        between = 0
        for phase in self.phases:
            if phase.is_backward:
                between -= 1
            others = self.resident_bytes + between * self.microbatch.kept_bytes
            own = self.microbatch
            peak = own.backward_peak_bytes if phase.is_backward else own.forward_peak_bytes
            yield phase, others, others + peak
            if not phase.is_backward:
                between += 1


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
        return max(run.times.busy_ns for run in self.devices)

    @cached_property
    def recompute_ns(self) -> int:
        """Time of recomputation of a micro-batch, of all devices together."""
        return sum(run.microbatch.recompute_ns for run in self.devices)

    def lane_of(self, step: Step) -> str | None:
        """Return the device of a phase."""
        return step.operation.split(" on ", 1)[1]


def replay_pipeline(problem: PipelineChain, plans: Sequence[Plan]) -> PipelineReplay:
    r"""Execute a step on a pipeline in exact integers and name every broken rule.

    The memory of a device at any time is what it holds all the time, what every micro-batch between
    its phases holds, and what the micro-batch that runs holds and needs. The class is
    ``persistent`` if the operations of a micro-batch are so on every device.

    Parameters
    ----------
    problem
        Chain, devices, memory and micro-batches.
    plans
        The plan of each device.

    Notes
    -----
    Time linear in the operations of one micro-batch and in the phases of the step.
    """
    findings = Findings()
    chain = problem.instance
    if len(plans) != problem.devices:
        findings.broken_at_end(
            Rule.UNKNOWN_OPERATION, f"{len(plans)} devices are planned of {problem.devices}"
        )
    if plans[-1].last != len(chain):
        findings.broken_at_end(Rule.UNFINISHED, f"stage {plans[-1].last + 1} is on no device")
    microbatches = []
    for number, plan in enumerate(plans, start=1):
        findings.at(number - 1, f"device {number}")

        def broken(rule: Rule, operation: str, tensor: str, number: int = number) -> None:
            findings.at(number - 1, f"device {number}: {operation}")
            findings.broken(rule, tensor)

        last = min(plan.last, len(chain))
        if last != plan.last or plan.first > last:
            broken(Rule.UNKNOWN_OPERATION, "stages", f"the chain ends with stage {len(chain)}")
        own = MicroBatchReplay(chain, min(plan.first, last), last, broken)
        microbatches.append(own.run(plan.forward, plan.backward))
    times = [
        PhaseTimes(
            own.forward_ns,
            own.backward_ns,
            problem.send_forward_ns(number, min(plan.last, len(chain))),
            problem.send_backward_ns(number, min(plan.first, len(chain))),
        )
        for number, (plan, own) in enumerate(zip(plans, microbatches, strict=True), start=1)
    ]
    phases = run_1f1b(times, problem.microbatches)
    runs = tuple(
        DeviceRun(
            number,
            plan.first,
            plan.last,
            times[number - 1],
            microbatches[number - 1],
            tuple(phases[number - 1]),
            min(problem.microbatches, len(plans) - number + 1),
            problem.resident_bytes(number, min(plan.first, len(chain)), min(plan.last, len(chain))),
        )
        for number, plan in enumerate(plans, start=1)
    )
    for run in runs:
        if run.peak_bytes > problem.memory_bytes:
            findings.at(run.number - 1, f"device {run.number}")
            over = run.peak_bytes - problem.memory_bytes
            findings.broken(Rule.OUT_OF_MEMORY, f"stages {run.first} to {run.last}", over)
    persistent = all(own.is_persistent for own in microbatches)
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
