"""Schedules that run: rotor and POFO sequences on a PyTorch ``nn.Sequential``.

>>> from jettison.torch import checkpoint_sequential_optimal
>>> model = checkpoint_sequential_optimal(model, memory="60%", sample_input=batch)
>>> criterion(model(batch), labels).backward()

Importing this package imports PyTorch; ``import jettison`` does not import this package.

Raises
------
MissingExtraError
    On import, if PyTorch is not installed.
"""

from importlib import util

from jettison.instances.errors import MissingExtraError

if util.find_spec("torch") is None:
    raise MissingExtraError("PyTorch", "torch", "running a schedule on a model")

from jettison.torch.checkpoint_sequential import checkpoint_sequential_optimal
from jettison.torch.checkpointed_sequential import CheckpointedSequential, Prediction
from jettison.torch.errors import ExecutionError

__all__ = [
    "CheckpointedSequential",
    "ExecutionError",
    "Prediction",
    "checkpoint_sequential_optimal",
]
