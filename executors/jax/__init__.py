"""Policies of names for ``jax.checkpoint``: a loss in JAX that keeps to an amount of memory.

>>> from jettison.jax import checkpointed, traced_graph
>>> loss = checkpointed(loss, parameters, batch, labels, memory="50%")
>>> value, gradients = jax.jit(jax.value_and_grad(loss))(parameters, batch, labels)

Importing this package imports JAX; ``import jettison`` does not import this package.

Raises
------
MissingExtraError
    On import, if JAX is not installed.
"""

from importlib import util

from jettison.instances.core.errors import MissingExtraError

if util.find_spec("jax") is None:
    raise MissingExtraError("JAX", "jax", "planning what jax.checkpoint saves")

from jettison.jax.checkpointed_loss import CheckpointedLoss
from jettison.jax.memory_report import MemoryReport, MemoryRow
from jettison.jax.named_program import LoopBodies
from jettison.jax.plan_loss import checkpointed, traced_graph
from jettison.jax.policy_plan import PolicyPlan

__all__ = [
    "CheckpointedLoss",
    "LoopBodies",
    "MemoryReport",
    "MemoryRow",
    "PolicyPlan",
    "checkpointed",
    "traced_graph",
]
