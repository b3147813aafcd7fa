"""Optimal checkpointing of the training step of any model, within an amount of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.solve import solve
from jettison.torch.checkpointed_step import CheckpointedStep
from jettison.torch.graph_steps.program import Loss, StepProgram, trace_step_program
from jettison.torch.no_schedule import no_schedule_error


def checkpoint_step_optimal(
    model: nn.Module,
    *,
    memory: str | int | Memory,
    loss: Loss | None = None,
    sample_input: Any = None,
    sample_loss_arguments: Sequence[Any] = (),
    program: StepProgram | None = None,
    method: str | None = None,
    time_limit: float | None = 60.0,
    warmup: int = 2,
    repeats: int = 7,
    threads: int = 1,
    check: CostCheck = CostCheck.WARN,
) -> CheckpointedStep:
    r"""Make the training step of any model fit into `memory`, in the least time.

    Traces the step once, measures its operations, solves `remat-graph`, and returns a module that
    runs the schedule in each step: ``step(batch, labels).backward()``, or ``step(**batch)`` for a
    model that takes keyword arguments. Batches must look like the sample. Under autocast, trace and
    call the step inside the same ``torch.autocast`` block.

    Parameters
    ----------
    model
        Any module in training mode; it need not be sequential. It is shared, not copied.
    memory
        Bytes (``4 * 2**30``, ``"4GiB"``), or a share of the peak without recomputation (``"60%"``);
        the gradients of the parameters are a part of it, parameters and the batch are not. Or a
        `Card`, less what is resident on it: by default parameters, buffers and the batch.
    loss
        A module or function of the output and further arguments; None if the model returns the
        loss itself, or an output that holds it as ``loss``.
    sample_input
        One batch, to trace and measure with: the argument of the model, a tuple of its positional
        arguments, or a mapping of its keyword arguments; not needed with `program`.
    sample_loss_arguments
        Further arguments of the loss.
    program
        What `trace_step_program` returned for this model before; `loss` is a part of it.
    method, time_limit
        As in `solve`.
    warmup, repeats
        Runs of each operation before, and for, its measurement.
    threads, check
        Threads to measure durations with, and what becomes of durations that are in doubt: as in
        `trace_step_program`.

    Raises
    ------
    InputError
        If the step cannot be traced (see `trace_step_program`), or no schedule fits: the message
        has the least memory that would do, where it is known.
    """
    if program is None:
        if sample_input is None:
            raise InputError(
                "neither a sample nor a program",
                field="sample_input",
                expected="give one batch, or what trace_step_program returned",
            )
        program = trace_step_program(
            model,
            sample_input,
            loss=loss,
            sample_loss_arguments=sample_loss_arguments,
            warmup=warmup,
            repeats=repeats,
            threads=threads,
            check=check,
        )
    elif program.step.model is not model or program.step.loss is not loss:
        raise InputError(
            "the program is that of another model or loss",
            field="program",
            expected="give the model and the loss that it was traced with",
        )
    problem = RematGraph(program.graph, memory)
    result = solve(problem, method, time_limit=time_limit)
    if not isinstance(result.schedule, GraphSchedule):
        raise no_schedule_error(problem, result)
    return CheckpointedStep(program, problem, result.schedule)
