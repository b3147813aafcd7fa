"""Training step of any model that runs by a schedule of its graph in recorded segments."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_graphs.operation_reader import (
    is_random,
)
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.torch.captured.run import CapturedRun, CapturedStepRun
from jettison.torch.checkpointed_step import CheckpointedStep
from jettison.torch.graph_steps.program import StepProgram


class CapturedStep(CheckpointedStep):
    """Training step by a schedule, launched on a GPU as two CUDA graphs from the third step on.

    It computes what `CheckpointedStep` does, and differs in this:

    - One step at a time: each has to run backward before the next begins, or never.
    - Gradients are in memory from the first step on; each is copied there when it is complete, and
      hooks of parameters run when the whole backward part has ended.
    - Memory for a step stays reserved. The peak is what was predicted, the gradients that are
      there already not counted twice, and one more copy of the inputs.
    - No operator may draw random numbers: a repeated draw sets the state of a generator, which a
      CUDA graph does not record.

    On a CPU nothing is recorded, and the same program runs operator by operator.

    Parameters
    ----------
    program, problem, schedule
        As of `CheckpointedStep`.

    Raises
    ------
    InputError
        As `CheckpointedStep`, and if an operation draws random numbers.
    """

    def __init__(self, program: StepProgram, problem: RematGraph, schedule: GraphSchedule) -> None:
        super().__init__(program, problem, schedule)
        for operation in program.traced.operations:
            if is_random(operation.node):
                raise InputError(
                    f"{operation.name} draws random numbers",
                    field="program",
                    expected="set the dropout to 0 before the trace, or use CheckpointedStep",
                )
        self._run = CapturedRun(self._plan, self._tensors, program.inputs[0].device)

    def _run_of(self, inputs: Sequence[Tensor]) -> CapturedStepRun:
        return CapturedStepRun(self._run, inputs)
