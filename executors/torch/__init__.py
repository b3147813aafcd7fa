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

Importing this package imports PyTorch; ``import jettison`` does not import this package.

Raises
------
MissingExtraError
    On import, if PyTorch is not installed.
"""

from importlib import util

from jettison.instances.core.errors import MissingExtraError

if util.find_spec("torch") is None:
    raise MissingExtraError("PyTorch", "torch", "running a schedule on a model")

from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.profile_warning import ProfileWarning
from jettison.torch.captured_step import CapturedStep
from jettison.torch.checkpoint_sequential import checkpoint_sequential_optimal
from jettison.torch.checkpoint_step import checkpoint_step_optimal
from jettison.torch.checkpointed_sequential import CheckpointedSequential, Prediction
from jettison.torch.checkpointed_step import CheckpointedStep
from jettison.torch.compiled import compiled, partitioner
from jettison.torch.errors import ExecutionError
from jettison.torch.step_program import StepProgram, trace_step_program

__all__ = [
    "CapturedStep",
    "CheckpointedSequential",
    "CheckpointedStep",
    "CostCheck",
    "ExecutionError",
    "Prediction",
    "ProfileWarning",
    "StepProgram",
    "checkpoint_sequential_optimal",
    "checkpoint_step_optimal",
    "compiled",
    "partitioner",
    "trace_step_program",
]
