"""Execution of schedules in PyTorch: of an ``nn.Sequential``, or of the graph of any step.

>>> from jettison.torch import checkpoint_sequential_optimal
>>> model = checkpoint_sequential_optimal(model, memory="60%", sample_input=batch)
>>> criterion(model(batch), labels).backward()

>>> from jettison.torch import checkpoint_step_optimal
>>> step = checkpoint_step_optimal(
...     model, loss=criterion, memory="60%", sample_input=batch, sample_loss_arguments=(labels,)
... )
>>> step(batch, labels).backward()

>>> from jettison.torch import compiled
>>> model = compiled(model, memory="8GiB")
>>> criterion(model(batch), labels).backward()

>>> from jettison.torch import checkpoint_selective_optimal
>>> checkpoint_selective_optimal(model, memory="60%", sample_input=batch, loss=criterion)
>>> criterion(model(batch), labels).backward()

>>> from jettison.torch import train_in_one_budget
>>> trainer = train_in_one_budget(
...     model, optimizer=make_adam, loss=criterion, memory="8GiB", bandwidth="12GB/s",
...     sample_input=batch, sample_loss_arguments=(labels,)
... )
>>> loss = trainer.step(batch, labels)

`AnnotatedPartitioner`, `PeakKnapsack`, `RuntimeEstimator` and `memory_budget` use hooks of PyTorch
that move between versions; they are imported when they are first used.

Importing this package imports PyTorch; ``import jettison`` does not import this package.

Raises
------
MissingExtraError
    On import, if PyTorch is not installed.
"""

from importlib import import_module, util
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import MissingExtraError

if util.find_spec("torch") is None:
    raise MissingExtraError("PyTorch", "torch", "running a schedule on a model")

from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.profile_warning import ProfileWarning
from jettison.torch.captured.step import CapturedStep
from jettison.torch.checkpoint_sequential import checkpoint_sequential_optimal
from jettison.torch.checkpoint_step import checkpoint_step_optimal
from jettison.torch.checkpointed_sequential import CheckpointedSequential, Prediction
from jettison.torch.checkpointed_step import CheckpointedStep
from jettison.torch.compiled import compiled, partitioner
from jettison.torch.errors import ExecutionError
from jettison.torch.graph_steps.program import StepProgram, trace_step_program
from jettison.torch.one_budget.train import train_in_one_budget
from jettison.torch.one_budget.trainer import OneBudgetTrainer
from jettison.torch.policies.selective_checkpoint import (
    SelectiveCheckpoint,
    checkpoint_selective_optimal,
)

if TYPE_CHECKING:
    from jettison.torch.policies.annotated_partitioner import AnnotatedPartitioner
    from jettison.torch.policies.peak_knapsack import (
        PeakKnapsack,
        RuntimeEstimator,
        memory_budget,
    )

_LATE = {
    "AnnotatedPartitioner": "annotated_partitioner",
    "PeakKnapsack": "peak_knapsack",
    "RuntimeEstimator": "peak_knapsack",
    "memory_budget": "peak_knapsack",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"jettison.torch.policies.{_LATE[name]}"), name)


__all__ = [
    "AnnotatedPartitioner",
    "CapturedStep",
    "CheckpointedSequential",
    "CheckpointedStep",
    "CostCheck",
    "ExecutionError",
    "OneBudgetTrainer",
    "PeakKnapsack",
    "Prediction",
    "ProfileWarning",
    "RuntimeEstimator",
    "SelectiveCheckpoint",
    "StepProgram",
    "checkpoint_selective_optimal",
    "checkpoint_sequential_optimal",
    "checkpoint_step_optimal",
    "compiled",
    "memory_budget",
    "partitioner",
    "trace_step_program",
    "train_in_one_budget",
]
