"""Loss in JAX that follows a plan of a policy when it is differentiated."""

from __future__ import annotations

from typing import Any

import jax

from jettison.instances.remat_graph.graph import Graph
from jettison.jax.call_signature import CallSignature
from jettison.jax.compiled_memory import Options
from jettison.jax.memory_report import MemoryReport, memory_report
from jettison.jax.policy_plan import PolicyPlan
from jettison.jax.policy_search import PolicySearch


class CheckpointedLoss:
    """Loss that saves what its plan names, and computes all else again in the backward pass.

    Calls look like those of the loss, and return the same: under ``jax.jit``, ``jax.grad``,
    ``jax.vmap`` and what else is applied to functions. The loss was traced once, so its Python does
    not run again, and what it closes over stays what it was. Shapes, types and static arguments
    must be those of the sample.

    Attributes
    ----------
    plan
        Names, predictions, and what XLA says of them.
    """

    def __init__(
        self, signature: CallSignature, tree: Any, search: PolicySearch, plan: PolicyPlan
    ) -> None:
        self.plan = plan
        self._signature = signature
        self._tree = tree
        self._search = search
        self._policy = plan.policy()
        self._named, self._parts = search.named.chosen((*plan.saved, *plan.offloaded))
        self.__name__ = getattr(signature.function, "__name__", "loss")
        self.__doc__ = getattr(signature.function, "__doc__", None)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what the loss returns.

        Raises
        ------
        InputError
            If the arguments do not look like the sample.
        """
        leaves = self._signature.leaves(arguments, keywords)
        results = self._search.named.run(
            leaves,
            policy=self._policy,
            named=self._named,
            loops=self.plan.loops,
            parts=self._parts,
        )
        return jax.tree.unflatten(self._tree, results)

    @property
    def compiler_options(self) -> Options:
        """Options of the compiler under which the plan was compiled, for ``jax.jit``."""
        return self._search.options

    @property
    def graph(self) -> Graph:
        """The graph of the step that the plan was made for."""
        return self._search.graph(self.plan.loops).graph

    @property
    def uncorrected_bytes(self) -> int:
        """Temporary memory that was predicted for the plan before anything was compiled.

        The plan that is compiled second, or later, has the error of the one before in its
        prediction (`PolicyPlan.predicted_temporary_bytes`).
        """
        if self.plan.is_plain:
            step = self._search.graph(self.plan.loops)
            return step.temporary_bytes(range(step.num_forward))
        return self._search.planned_bytes(self.plan.loops, self.plan.saved)

    def report(self) -> MemoryReport:
        """Return XLA's temporary memory beside that of the plain step and the common policies.

        Compiles three steps for each row: with the options of the plan, with XLA's scheduler for
        little memory, and with its defaults.
        """
        return memory_report(self._search, self.plan)
