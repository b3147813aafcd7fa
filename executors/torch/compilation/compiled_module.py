"""Model under ``torch.compile`` that follows plans of remat-graph within a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import fx, nn
from torch._dynamo import config as dynamo_settings
from torch._dynamo import exc as dynamo_errors
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop

from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.torch.compilation.code_memory import CodeMemory
from jettison.torch.compilation.fitted_graph import (
    Compiler,
    FittedGraph,
    Fitting,
    as_limit,
    input_error,
    trains,
)
from jettison.torch.compilation.partitioner import Partitioner
from jettison.torch.compilation.plan_form import FIRST_FORM, INDUCTOR_FORMS, PlanForm
from jettison.torch.compilation.solved_plan import Planning, SolvedPlan
from jettison.torch.compilation.step_memory import CompiledGraph
from jettison.torch.compilation.step_report import StepReport


class CompiledModule(nn.Module):
    """Compiled model, which shares the parameters of the model that it was made of.

    Attributes
    ----------
    reports
        A report for each graph that was compiled for training, in order: one for each shape of the
        inputs.
    """

    def __init__(self, model: nn.Module, backend: Callable[..., Any]) -> None:
        super().__init__()
        self._orig_mod = model
        self.reports: list[StepReport] = []
        compiled = torch.compile(model, backend=backend, fullgraph=True, dynamic=False)
        # Not registered: its parameters are those of the model.
        object.__setattr__(self, "_compiled", compiled)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Run the model.

        Raises
        ------
        InputError
            If the model is no single graph, has sizes that are not known or an operator that cannot
            be computed again, or the limit cannot be met, or there are more shapes of inputs than
            PyTorch compiles.
        """
        try:
            # Without it Dynamo breaks the graph at each RNN, GRU and LSTM.
            with dynamo_settings.patch(allow_rnn=True):
                return self._compiled(*inputs, **options)
        except dynamo_errors.TorchDynamoException as error:
            found = input_error(error)
            if found is not None:
                raise found from None
            if isinstance(error, dynamo_errors.Unsupported | dynamo_errors.UserError):
                raise _several_graphs(error) from error
            raise
        except dynamo_errors.FailOnRecompileLimitHit as error:
            raise InputError(
                f"more than {dynamo_settings.recompile_limit} graphs: each shape of the inputs, and"
                " each other kind of call, is one of its own",
                field="model",
                expected="give all inputs one of few shapes, or raise"
                " torch._dynamo.config.recompile_limit",
            ) from error

    @property
    def report(self) -> StepReport:
        """The report on the graph that was compiled last.

        Raises
        ------
        InputError
            Before the first training call.
        """
        if not self.reports or self.reports[-1].chosen is None:
            raise InputError(
                "nothing has been compiled for training yet",
                field="model",
                expected="call it once with gradients enabled",
            )
        return self.reports[-1]

    @property
    def plan(self) -> SolvedPlan:
        """The plan of the last graph."""
        return self.report.plan

    @property
    def predicted_peak_bytes(self) -> int:
        """Peak by the generated code, or by the replay of the plan where no code is generated."""
        return self.report.predicted_peak_bytes

    @property
    def measured_peak_bytes(self) -> int | None:
        """Measured peak of a step."""
        return self.report.measured_peak_bytes

    def train(self, mode: bool = True) -> CompiledModule:
        """Set the mode of the model as well."""
        super().train(mode)
        return self

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the model where this module has none of that name."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)


def compile_model(
    model: nn.Module,
    *,
    memory: str | int | Memory,
    planning: Planning,
    backend: str,
    cost: OperatorCost | None,
    folder: Path | None,
    fitting: Fitting,
) -> CompiledModule:
    """Compile a model; see `jettison.torch.compiled`.

    Parameters
    ----------
    model, memory, backend, cost, folder
        As there.
    planning
        The way in which plans are found; its limit is replaced.
    fitting
        How often to try.

    Raises
    ------
    InputError
        If it is no module, or there is no such backend.
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"a {type(model).__name__}", field="model", expected="give an nn.Module")
    if backend not in _COMPILERS:
        raise InputError(
            f"{backend!r}", field="backend", expected=f"write one of {', '.join(_COMPILERS)}"
        )
    limit, compiler = as_limit(memory), _COMPILERS[backend]

    forms = INDUCTOR_FORMS if backend == "inductor" else (FIRST_FORM,)

    def partitioner(
        within: Memory, workspaces_bytes: Mapping[str, int], form: PlanForm
    ) -> Partitioner:
        # The plan is wanted, so that no cache may answer in its place.
        return Partitioner(
            replace(planning, memory=within),
            cost,
            folder=folder,
            is_measured=True,
            workspaces_bytes=workspaces_bytes,
            form=form,
        )

    def compile_graph(module: fx.GraphModule, inputs: Sequence[Any]) -> CompiledGraph:
        if not trains(inputs):
            return compiler(module, inputs, None)[0]
        report = StepReport()
        made.reports.append(report)
        return FittedGraph(module, limit, compiler, partitioner, forms, fitting, report)

    made = CompiledModule(model, compile_graph)
    return made


def _with_aot_eager(
    module: fx.GraphModule, inputs: Sequence[Any], partitioner: Partitioner | None
) -> tuple[CompiledGraph, CodeMemory | None]:
    options: dict[str, Any] = {} if partitioner is None else {"partition_fn": partitioner}
    make = aot_autograd(
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        keep_inference_input_mutations=True,
        **options,
    )
    return make(module, list(inputs)), None


def _with_inductor(
    module: fx.GraphModule, inputs: Sequence[Any], partitioner: Partitioner | None
) -> tuple[CompiledGraph, CodeMemory | None]:
    # It loads its templates, for seconds, when it is first used.
    from torch._inductor.compile_fx import compile_fx

    from jettison.torch.compilation.inductor.planned_code import compile_planned

    if partitioner is None:
        return compile_fx(module, list(inputs)), None
    return compile_planned(module, inputs, partitioner)


_COMPILERS: dict[str, Compiler] = {"inductor": _with_inductor, "aot_eager": _with_aot_eager}


def _several_graphs(error: Exception) -> InputError:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "unknown")
    return InputError(
        f"the model does not compile into one graph: {reason}",
        field="model",
        expected="compile a part without graph breaks: of several graphs none knows what the others"
        " hold in memory, so that no limit on all of them can be kept",
    )
