"""Python file of a policy: it imports the framework, and reads nothing else."""

from __future__ import annotations

import ast
from importlib import metadata, util
from pathlib import Path
from pprint import pformat

from jettison.schedules.remat_graph.framework_policy import Policy, PolicyTarget
from jettison.schedules.remat_graph.value_names import TRACED

_REGIONS = '''

def apply(model: nn.Module) -> None:
    """Checkpoint the regions of the model, from its next call on."""
    apply_regions(model, REGIONS)


def remove(model: nn.Module) -> None:
    """Undo it."""
    remove_regions(model)
'''
_JOINT = '''

def annotate(joint_module: fx.GraphModule) -> None:
    """Mark the operators of the joint graph."""
    mark_nodes(joint_module.graph, DECISIONS)


def partition(joint_module: fx.GraphModule, joint_inputs: Any, **options: Any) -> Any:
    """Partition the joint graph by the policy: for aot_autograd(partition_fn=partition)."""
    from torch._functorch import config
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    joint_module.graph.eliminate_dead_code()
    annotate(joint_module)
    with config.patch(activation_memory_budget=1.0):
        return min_cut_rematerialization_partition(joint_module, joint_inputs, **options)
'''
_KNAPSACK = '''

from torch._inductor.custom_graph_pass import CustomKnapsackSolver  # noqa: E402


class PolicySolver(CustomKnapsackSolver):
    """Knapsack solver that follows the policy, and marks the rest of the graph by it."""

    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes):
        """Return the positions of the nodes that are saved, and of those that run again."""
        mark_nodes(joint_graph, DECISIONS)
        again = [DECISIONS.get(node.name, False) for node in all_recomputable_banned_nodes]
        places = range(len(again))
        return [at for at in places if not again[at]], [at for at in places if again[at]]

    def uuid(self):
        """Return the identity of the policy, for PyTorch's cache."""
        return IDENTITY


# with torch._functorch.config.patch(SETTINGS): ... torch.compile(model, dynamic=False) ...
SETTINGS = {
    "activation_memory_budget": 1e-9,
    "activation_memory_budget_solver": PolicySolver(),
}
'''
_TORCHTITAN = '''

from torchtitan.experiments.graph_trainer.registry import register_memory_policy  # noqa: E402


@register_memory_policy(NAME)
def memory_policy(gm: fx.GraphModule, *, config: Any) -> fx.GraphModule:
    """Mark the operators of the graph of a training step: --compile.memory_policy NAME."""
    mark_nodes(gm.graph, DECISIONS, by_phase=True)
    return gm
'''
_JAX = """

if OFFLOADED:
    POLICY = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=SAVED,
        names_which_can_be_offloaded=OFFLOADED,
        offload_src="device",
        offload_dst="pinned_host",
    )
else:
    POLICY = jax.checkpoint_policies.save_only_these_names(*SAVED)
"""
_JAX_TRACED = '''

def checkpointed(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loss, which follows the policy when it is differentiated."""
    return jax.checkpoint(with_names(loss, [*SAVED, *OFFLOADED]), policy=POLICY)
'''
_JAX_OWN = '''

def checkpointed(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loss, which follows the policy: its values have names by checkpoint_name."""
    return jax.checkpoint(loss, policy=POLICY)
'''
_TAILS = {
    PolicyTarget.TORCH_SAC: _REGIONS,
    PolicyTarget.JOINT_GRAPH: _JOINT,
    PolicyTarget.TORCH_KNAPSACK: _KNAPSACK,
    PolicyTarget.TORCHTITAN: _TORCHTITAN,
}


def python_text(policy: Policy, name: str) -> str:
    """Return the Python file of a policy.

    It begins with the module of `jettison.torch` or `jettison.jax` that applies decisions, which
    needs PyTorch only, or JAX.

    Parameters
    ----------
    policy
        The policy.
    name
        Name under which a registry knows it.
    """
    if policy.target is PolicyTarget.JAX:
        return _jax_text(policy)
    module = "counted_calls" if policy.target is PolicyTarget.TORCH_SAC else "marked_nodes"
    parts = [_docstring(policy), _source("jettison.torch", f"policies/{module}.py")]
    if policy.target is PolicyTarget.TORCH_SAC:
        lines = "".join(
            f"    SelectiveRegion(\n        module={region.module!r},\n"
            f"        operators=(\n{_items(region.operators)}        ),\n"
            f"        saved=frozenset({list(region.saved)!r}),\n        draws={region.draws!r},\n"
            "    ),\n"
            for region in policy.regions
        )
        parts.append(f"\n\nREGIONS = [\n{lines}]\n")
    else:
        decisions = pformat(dict(policy.decisions), width=100, sort_dicts=False)
        parts.append(f"\n\n# Whether an operator runs again.\nDECISIONS = {decisions}\n")
        parts.append(f"NAME = {name!r}\nIDENTITY = {_identity(policy)!r}\n")
    parts.append(_TAILS[policy.target])
    return "".join(parts)


def _jax_text(policy: Policy) -> str:
    if any(name.startswith(TRACED) for name in policy.decisions):
        head, tail = _source("jettison.jax", "named_equations.py"), _JAX_TRACED
    else:
        head = (
            "from __future__ import annotations\n\nfrom collections.abc import Callable\n"
            "from typing import Any\n\nimport jax\n"
        )
        tail = _JAX_OWN
    saved = [
        name
        for name, again in policy.decisions.items()
        if not again and name not in policy.offloaded
    ]
    lists = (("SAVED", saved), ("OFFLOADED", sorted(policy.offloaded)))
    lines = "".join(f"{name} = {pformat(names, width=100)}\n" for name, names in lists)
    return f"{_docstring(policy)}{head}\n\n{lines}{_JAX.lstrip()}{tail}"


def _docstring(policy: Policy) -> str:
    bounds = "".join(
        f"    no schedule ({bound.valid_for}) is faster than {bound.time_ns} ns\n"
        for bound in policy.bounds
    )
    return (
        f'"""Policy for {policy.target}, made by jettison {metadata.version("jettison")}.\n\n'
        f"Made for {policy.instance!a} ({policy.instance_sha256[:12]}), within "
        f"{policy.memory_bytes} bytes.\n"
        f"By the replay: a peak of {policy.peak_bytes} bytes, and {policy.time_ns} ns, "
        f"{100 * policy.overhead:.2f} % above the\nstep without recomputation.\n\n{bounds}"
        '"""\n\n'
    )


def _items(operators: tuple[str, ...]) -> str:
    return "".join(f"            {operator!r},\n" for operator in operators)


def _identity(policy: Policy) -> str:
    from jettison.instances.core.content_hash import content_sha256

    return content_sha256({"decisions": dict(policy.decisions)})


def _source(package: str, module: str) -> str:
    """Return the text of a module of an executor without its docstring.

    Nothing is imported: PyTorch or JAX may not be installed.
    """
    found = util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).parent / module
    text = path.read_text(encoding="utf-8")
    first = ast.parse(text).body[0]
    assert first.end_lineno is not None
    return "\n".join(text.splitlines()[first.end_lineno :]).strip() + "\n"
