"""Training of many models by a multi-model schedule, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import exact_bytes
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.profilers.torch_graphs.fused.optimizers import FusedOptimizer
from jettison.instances.profilers.torch_graphs.held_storages import HeldStorages
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit
from jettison.schedules.multi_model.training_replay import TrainingReplay
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.errors import ExecutionError
from jettison.torch.multi_model.device_memory import DeviceMemory
from jettison.torch.multi_model.graph_rewriter import MergedUnit, rewrite
from jettison.torch.multi_model.model_array import Batch, ModelArray, as_inputs
from jettison.torch.multi_model.schedule_interpreter import (
    RoundTimes,
    ScheduleInterpreter,
    SubArrayRun,
)
from jettison.torch.multi_model.streams import streams_of

States = dict[str, dict[str, Tensor]]


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """Report of some steps of training: losses, and what was measured beside the prediction.

    Times are those of one iteration of all models, the sum over the units, each of which counts
    with the median of its iterations.

    Attributes
    ----------
    losses
        Loss of each step (rows) and model (columns).
    limit_bytes
        The memory that was given.
    peak_bytes, predicted_peak_bytes
        Most that was held on the device at a time, by distinct storages; and by the replay.
    host_bytes
        Size of the buffers on the host for feature maps, the most of a unit.
    time_ns, predicted_time_ns
        Time of an iteration; and by the replay.
    stall_ns, predicted_stall_ns
        Time of it in which nothing was computed; and by the replay.
    """

    losses: Tensor
    limit_bytes: int
    peak_bytes: int
    predicted_peak_bytes: int
    host_bytes: int
    time_ns: int
    predicted_time_ns: int
    stall_ns: int
    predicted_stall_ns: int


@dataclass(frozen=True, slots=True)
class _UnitReport:
    """Measurements of the training of one unit."""

    losses: list[Tensor]
    peak_bytes: int
    host_bytes: int
    time_ns: int
    stall_ns: int


class MultiModelTrainer:
    """Trainer of many models by a schedule; its parts are the rewriter and the interpreter.

    Each unit has the device to itself, and is trained for all steps of a call before the next one.
    In a pair the first sub-array's forward pass comes before the first round, and is left out of
    the last. After a call the models have their new parameters and the gradients of the last step;
    states of the optimizers stay with the trainer, on the host, for the next call. If a call ends
    early, by Ctrl-C say, models of units that were finished are trained, and others are as they
    were.

    Parameters
    ----------
    array
        The models, from `profile_models`.
    problem
        Its instance, and the memory.
    schedule
        A schedule that the replay accepts.

    Attributes
    ----------
    predicted
        The replay of one iteration.

    Raises
    ------
    InputError
        If the problem is of another instance, or trains other models, or the replay rejects the
        schedule.
    """

    def __init__(
        self, array: ModelArray, problem: MultiModelTraining, schedule: MultiModelSchedule
    ) -> None:
        if problem.instance != array.instance:
            raise InputError(
                f"the instance {problem.instance.name} is not that of these models",
                field="problem",
                expected="take the instance that profile_models returned",
            )
        if problem.count != len(array.steps):
            raise InputError(
                f"{problem.count} of {len(array.steps)} models",
                field="problem",
                expected="train all of them, or profile fewer",
            )
        replay = accepted_replay(problem, schedule)
        assert isinstance(replay, TrainingReplay)
        self.array = array
        self.problem = problem
        self.schedule = schedule
        self.predicted = replay
        self._device = array.sample[0].device
        # Of each sub-array, by its first model: the steps it has done, and its optimizer's states.
        self._steps_done: dict[int, int] = {}
        self._states: dict[int, States] = {}

    def train(self, batches: Sequence[Sequence[Batch]]) -> TrainingReport:
        """Train all models for some steps.

        Parameters
        ----------
        batches
            For each step a batch for each model: a tensor, or with the further arguments of the
            loss a sequence of tensors, which look like the sample.

        Raises
        ------
        InputError
            If there are no steps, a batch is missing or does not look like the sample, or a model
            does not look as it did when it was profiled.
        ExecutionError
            If more is held than the limit: the profile is not that of this step.
        """
        self.array.check_models()
        count = len(self.array.steps)
        if len(batches) == 0:
            raise InputError("no step is given", field="batches", expected="give one or more")
        for step, of_models in enumerate(batches):
            if len(of_models) != count:
                raise InputError(
                    f"{len(of_models)} batches for {count} models",
                    field=f"batches[{step}]",
                    expected="give one for each model",
                )
            for model, batch in enumerate(of_models):
                self.array.check(batch, f"batches[{step}][{model}]")
        reports = []
        first = 0
        for unit in self.schedule.units:
            training = _UnitTraining(self, unit, first, batches)
            reports.append(training.run())
            first += training.models
            # The next unit has the device to itself from its loading on.
            del training
        limit_bytes = self.problem.memory_bytes
        peak_bytes = max(report.peak_bytes for report in reports)
        if peak_bytes > limit_bytes:
            raise ExecutionError(
                f"{exact_bytes(peak_bytes)} were held, and {exact_bytes(limit_bytes)} are the "
                "limit: an operator returned larger tensors than when it was profiled"
            )
        return TrainingReport(
            losses=torch.stack(
                [
                    torch.cat([report.losses[step] for report in reports])
                    for step in range(len(batches))
                ]
            ),
            limit_bytes=limit_bytes,
            peak_bytes=peak_bytes,
            predicted_peak_bytes=self.predicted.peak_bytes,
            host_bytes=max(report.host_bytes for report in reports),
            time_ns=sum(report.time_ns for report in reports),
            predicted_time_ns=self.predicted.time_ns,
            stall_ns=sum(report.stall_ns for report in reports),
            predicted_stall_ns=self.predicted.stall_ns,
        )


class _UnitTraining:
    """Training of one unit for all steps of a call."""

    def __init__(
        self,
        trainer: MultiModelTrainer,
        unit: TrainingUnit,
        first: int,
        batches: Sequence[Sequence[Batch]],
    ) -> None:
        self._trainer = trainer
        self._array = trainer.array
        self._device = trainer._device
        self._batches = batches
        # Models of each sub-array: the first one, and how many.
        self._spans: list[tuple[int, int]] = []
        arrays = [trainer.problem.sub_array(size) for size in unit.sizes]
        for array in arrays:
            self._spans.append((first, array.models))
            first += array.models
        self.models = sum(array.models for array in arrays)
        self._static_bytes = sum(array.static_bytes for array in arrays)
        self._merged: MergedUnit = rewrite(
            unit, arrays, [self._array.programs[array.models] for array in arrays]
        )
        self._optimizers: list[FusedOptimizer] = [
            self._array.optimizer(*span) for span in self._spans
        ]
        self._runs = [self._loaded(*span) for span in self._spans]
        self._losses: list[list[Tensor]] = [[] for _ in self._spans]

    def _loaded(self, first: int, size: int) -> SubArrayRun:
        """Return a sub-array with its parameters, states and first batch on the device."""
        program = self._array.programs[size]
        steps = self._array.steps[first : first + size]
        tensors = program.tensors(steps, self._stacked(0, first, size), self._device)
        for name, states in self._trainer._states.get(first, {}).items():
            for state, value in states.items():
                tensors.states[name][state].copy_(value)
        return SubArrayRun(program, tensors)

    def _stacked(self, step: int, first: int, size: int) -> list[Tensor]:
        batches = self._batches[step][first : first + size]
        columns = zip(*map(as_inputs, batches), strict=True)
        return [torch.stack(list(column)) for column in columns]

    def run(self) -> _UnitReport:
        """Train, and give the models what came of it."""
        held = HeldStorages()
        for run in self._runs:
            held.hold(run.tensors.all())
        times: list[list[RoundTimes]] = []
        with streams_of(self._device) as streams, torch.no_grad():
            memory = DeviceMemory(self._trainer.problem.memory_bytes, self._static_bytes, held)
            interpreter = ScheduleInterpreter(self._runs, streams, memory, self._device)
            if len(self._runs) == 1:
                for step in range(len(self._batches)):
                    self._begin(0, step)
                    times.append([interpreter.run(self._merged.rounds[0])])
                    self._note(0)
            else:
                self._begin(0, 0)
                opening = interpreter.run(self._merged.opening)
                times += [self._iterate(interpreter, step) for step in range(len(self._batches))]
                # Its opening and closing rounds are those of one iteration.
                times[-1].append(opening)
            for span, run in zip(self._spans, self._runs, strict=True):
                self._give(run, *span)
        whole = (times[:-1] or times) if len(self._runs) == 2 else times
        return _UnitReport(
            losses=[
                torch.cat([losses[step] for losses in self._losses])
                for step in range(len(self._batches))
            ],
            peak_bytes=held.peak_bytes,
            host_bytes=sum(run.host_bytes for run in self._runs),
            time_ns=median_low([sum(item.time_ns for item in rounds) for rounds in whole]),
            stall_ns=median_low(
                [sum(item.time_ns - item.compute_ns for item in rounds) for rounds in whole]
            ),
        )

    def _iterate(self, interpreter: ScheduleInterpreter, step: int) -> list[RoundTimes]:
        """Run both rounds of a pair; the last one ends with no forward pass."""
        self._begin(1, step)
        times = [interpreter.run(self._merged.rounds[0])]
        self._note(0)
        is_last = step + 1 == len(self._batches)
        if not is_last:
            self._begin(0, step + 1)
        times.append(interpreter.run(self._merged.closing if is_last else self._merged.rounds[1]))
        self._note(1)
        return times

    def _begin(self, number: int, step: int) -> None:
        """Load the batch of a sub-array, and the optimizer's numbers for the step."""
        run = self._runs[number]
        for place, batch in zip(
            run.tensors.inputs, self._stacked(step, *self._spans[number]), strict=True
        ):
            place.copy_(batch)
        at = self._trainer._steps_done.get(self._spans[number][0], 0) + step + 1
        run.program.begin_step(run.tensors, self._optimizers[number], at)

    def _note(self, number: int) -> None:
        """Keep the losses of a step."""
        self._losses[number].append(self._runs[number].tensors.losses.to("cpu", copy=True))

    def _give(self, run: SubArrayRun, first: int, size: int) -> None:
        """Give models their parameters and gradients, and the trainer the optimizer's states."""
        frame = dict(run.tensors.registers)
        for slot in run.kept.values():
            frame |= slot.tensors
        gradients = {
            run.program.parameter_name(item): item.on(frame) for item in run.program.gradients
        }
        for place, step in enumerate(self._array.steps[first : first + size]):
            for name, parameter in step.named_parameters():
                parameter.copy_(run.tensors.parameters[name][place])
                if name in gradients:
                    parameter.grad = torch.empty_like(parameter).copy_(gradients[name][place])
        done = self._trainer._steps_done.get(first, 0)
        self._trainer._steps_done[first] = done + len(self._batches)
        self._trainer._states[first] = {
            name: {state: value.to("cpu") for state, value in states.items()}
            for name, states in run.tensors.states.items()
        }
