"""Models under ``torch.compile`` within a memory limit, and the partitioner by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torch import nn

from jettison.instances.core.memory import Memory
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.torch.compilation.compiler_hooks import (
    INDUCTOR_HOOKS,
    PARTITIONER_HOOKS,
    check_hooks,
)

if TYPE_CHECKING:
    from jettison.torch.compilation.compiled_module import CompiledModule
    from jettison.torch.compilation.partitioner import Partitioner

# About twenty seconds of one core.
_MOST_MOVES = 14_000_000


def compiled(
    model: nn.Module,
    *,
    memory: str | int | Memory,
    method: str | None = None,
    time_limit: float | None = 600.0,
    most_moves: int | None = _MOST_MOVES,
    gap: float = 0.0,
    backend: Literal["inductor", "aot_eager"] = "inductor",
    cost: OperatorCost | None = None,
    folder: str | Path | None = None,
    most_plans: int = 6,
) -> CompiledModule:
    r"""Compile a model so that its training steps fit into `memory`, in the least time.

    ``model = jettison.torch.compiled(model, memory="8GiB")`` stands where
    ``model = torch.compile(model)`` stood. The first training call is traced as one graph, whose
    forward and backward operators `remat-graph` schedules: what to keep, what to compute again, how
    often and when. The compiler makes the two passes of that. Then one step runs on the side, and
    its peak is measured; while it exceeds the limit, the plan is made again for less. Each shape of
    the inputs is a graph of its own.

    The *peak* is everything that a step allocates from the beginning of the forward pass to the end
    of the backward pass: activations, outputs of the model, gradients of the outputs and of the
    parameters, and what kernels need. Parameters, buffers and inputs are there before, and not
    counted; nor is what happens between the passes, such as a loss outside of the model. On CUDA it
    is what the allocator hands out; where the limit is a `Card`, all that it reserves.

    Calls without gradients are compiled as usual.

    Parameters
    ----------
    model
        Any module that compiles into one graph. It is shared, not copied.
    memory
        The limit: bytes (``"8GiB"``), or a share (``"60%"``) of the measured peak of the same graph
        compiled without recomputation, which is one more compilation. Or a `Card`, less what is
        resident on it: by default what the graph is given, parameters, buffers and inputs.
    method
        Method of remat-graph; `exact` by default.
    time_limit, most_moves, gap
        Limits of the search: seconds, work, and the share of the overhead that it may leave open.
        The work is the same on every machine, so that all ranks find the same plan as long as the
        time does not end it first; methods other than `exact` may not count it.
    backend
        ``"inductor"``, or ``"aot_eager"``, which runs the operators as they are: its results are
        those of the plain model to the bit.
    cost
        Source of the durations of operators. By default the rates of the kind of device, the same
        on every machine; `Measured` for those of this one.
    folder
        Where plans are stored, so that another process need not solve them again.
    most_plans
        How many plans are compiled for a graph at most, beside that without recomputation. Where
        none of them fits under Inductor, two thirds as many of each other form (`PlanForm`).

    Returns
    -------
    CompiledModule
        Its ``report``, after the first training call, has the plans that were tried, with their
        predicted and measured peaks, time, bound and gap.

    Raises
    ------
    InputError
        If an argument is out of range, or this version of PyTorch lacks hooks that plans need, by
        name. The first call raises it where the limit cannot be met, and for what cannot be
        planned, by name: several graphs, sizes that are not known, operators that write to values
        or call other graphs.
    """
    check_hooks(PARTITIONER_HOOKS + (INDUCTOR_HOOKS if backend == "inductor" else ()))
    from jettison.torch.compilation.compiled_module import compile_model
    from jettison.torch.compilation.fitted_graph import Fitting
    from jettison.torch.compilation.solved_plan import Planning

    return compile_model(
        model,
        memory=memory,
        planning=Planning(
            memory=memory,
            method=method,
            time_limit_s=time_limit,
            gap=gap,
            most_moves=most_moves,
        ),
        backend=backend,
        cost=cost,
        folder=None if folder is None else Path(folder),
        fitting=Fitting(most_plans=most_plans),
    )


def partitioner(
    memory: str | int | Memory,
    *,
    method: str | None = None,
    time_limit: float | None = 600.0,
    most_moves: int | None = _MOST_MOVES,
    gap: float = 0.0,
    cost: OperatorCost | None = None,
    folder: str | Path | None = None,
) -> Partitioner:
    """Make a partitioner of joint graphs for a compiler: the plan alone, and nothing measured.

    It is a value for `partition_fn` of ``torch._dynamo.backends.common.aot_autograd``. The limit
    holds for each graph by itself, and for the peak that the plan predicts, with shares of that
    without recomputation. That is the peak of a step whose operators run as they are, one call
    each, with the memory of their kernels measured beforehand.

    Inductor fuses and moves operators, which undoes a plan: as
    ``torch._inductor.config.custom_partitioner_fn`` it refuses any limit below 100 %, and names
    `compiled`, which measures the step.

    Parameters
    ----------
    memory, method, time_limit, most_moves, gap, cost, folder
        As for `compiled`.

    Raises
    ------
    InputError
        If this version of PyTorch lacks hooks that plans need.
    """
    check_hooks(PARTITIONER_HOOKS)
    from jettison.torch.compilation.fitted_graph import as_limit
    from jettison.torch.compilation.partitioner import Partitioner
    from jettison.torch.compilation.solved_plan import Planning

    return Partitioner(
        Planning(
            memory=as_limit(memory),
            method=method,
            time_limit_s=time_limit,
            gap=gap,
            most_moves=most_moves,
        ),
        cost,
        folder=None if folder is None else Path(folder),
    )
