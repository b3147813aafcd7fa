"""Compilation by Inductor that follows a plan, and the peak of the code that it generates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, fx
from torch._functorch import config as functorch_config
from torch._inductor.compile_fx import compile_fx
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V

from jettison.torch.compilation.code_memory import CodeMemory
from jettison.torch.compilation.inductor.generated_code import GeneratedCode
from jettison.torch.compilation.inductor.planned_kernels import PlanChoices, in_order_of_plan
from jettison.torch.compilation.inductor.realized_values import realize_across_calls
from jettison.torch.compilation.inductor.separate_products import SeparateProducts
from jettison.torch.compilation.inductor.step_code import step_memory
from jettison.torch.compilation.partitioner import Partitioner


def compile_planned(
    module: fx.GraphModule, inputs: Sequence[Any], partitioner: Partitioner
) -> tuple[Callable[..., Any], CodeMemory | None]:
    """Compile a graph by a plan; return what runs it, and the memory of its code.

    Without recomputation kernels are those of `torch.compile`, and else they keep the order of the
    plan. The memory is None where the code cannot be read.
    """
    settings: dict[str, Any] = {"custom_partitioner_fn": partitioner}
    codes: list[GeneratedCode] = []
    with ExitStack() as around:
        # Both passes are generated now, while all of this holds.
        around.enter_context(functorch_config.patch(force_non_lazy_backward_lowering=True))
        around.enter_context(_told_of_code(codes))
        if partitioner.is_limited:
            products = SeparateProducts()

            def after_passes(graph: fx.Graph) -> None:
                products.separate(graph)
                realize_across_calls(graph)

            settings |= {
                "post_grad_custom_pre_pass": products.note,
                "post_grad_custom_post_pass": after_passes,
                "_post_fusion_custom_pass": in_order_of_plan,
                "reorder_for_peak_memory": False,
            }
            if partitioner.form.keeps_layouts:
                settings["layout_optimization"] = False
            around.enter_context(V.set_choices_handler(PlanChoices()))
        compiled = compile_fx(module, list(inputs), config_patches=settings)
    tensors = [item for item in inputs if isinstance(item, Tensor)]
    device = next((item.device for item in tensors), torch.device("cpu"))
    return compiled, _memory(codes, partitioner, device)


def _memory(
    codes: Sequence[GeneratedCode], partitioner: Partitioner, device: torch.device
) -> CodeMemory | None:
    passes = {code.is_backward: code for code in codes}
    if len(codes) != 2 or len(passes) != 2:
        return None
    return step_memory(passes[False], passes[True], partitioner.saved[-1], device)


@contextmanager
def _told_of_code(codes: list[GeneratedCode]) -> Iterator[None]:
    before = GraphLowering.save_output_code

    def tell(text: str) -> None:
        codes.append(GeneratedCode.of_present_graph(text))
        if before is not None:
            before(text)

    GraphLowering.save_output_code = staticmethod(tell)
    try:
        yield
    finally:
        GraphLowering.save_output_code = before
