"""Hooks of PyTorch's compilers that plans need, and what an installed version lacks of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from operator import attrgetter

import torch

from jettison.instances.core.errors import InputError

# A module, and a name in it. No imports at the top: Inductor takes a second to load.
Hook = tuple[str, str]

PARTITIONER_HOOKS: tuple[Hook, ...] = (
    ("torch._functorch._aot_autograd.descriptors", "SavedForBackwardsNoVcCheckAOTOutput"),
    ("torch._functorch.compile_utils", "fx_graph_cse"),
    ("torch._functorch.config", "cse"),
    ("torch._guards", "CompileContext.current_compile_id"),
    ("torch._inductor.custom_graph_pass", "CustomPartitionerFn"),
    ("torch.fx._lazy_graph_module", "_make_graph_module"),
)
# What holds Inductor's kernels to a plan, and tells of the code that it writes.
INDUCTOR_HOOKS: tuple[Hook, ...] = (
    ("torch._functorch.config", "force_non_lazy_backward_lowering"),
    ("torch._inductor.choices", "InductorChoices.can_fuse"),
    ("torch._inductor.config", "_post_fusion_custom_pass"),
    ("torch._inductor.config", "custom_partitioner_fn"),
    ("torch._inductor.config", "layout_optimization"),
    ("torch._inductor.config", "post_grad_custom_post_pass"),
    ("torch._inductor.config", "post_grad_custom_pre_pass"),
    ("torch._inductor.config", "reorder_for_peak_memory"),
    ("torch._inductor.graph", "GraphLowering.save_output_code"),
    ("torch._inductor.memory", "estimate_peak_memory"),
    ("torch._inductor.memory", "prepare_planning_info"),
    ("torch._inductor.memory", "reorder_for_peak_memory"),
    ("torch._inductor.virtualized", "V.set_choices_handler"),
)


def missing_hooks(hooks: Iterable[Hook]) -> list[str]:
    """Return the full names of the hooks that the installed version of PyTorch lacks."""
    missing = []
    for module, name in hooks:
        try:
            attrgetter(name)(import_module(module))
        except (ImportError, AttributeError):
            missing.append(f"{module}.{name}")
    return missing


def check_hooks(hooks: Sequence[Hook]) -> None:
    """Check that the installed version of PyTorch has hooks.

    Raises
    ------
    InputError
        With the names of all that are missing.
    """
    missing = missing_hooks(hooks)
    if missing:
        raise InputError(
            f"PyTorch {torch.__version__} has no {', no '.join(missing)}",
            field="torch",
            expected="install PyTorch 2.13 or 2.14, with which plans have been compiled",
        )
