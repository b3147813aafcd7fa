"""Program of one training step of several fused models, its optimizer step included.

The operators are those of the trace, forward and backward, and after them one for each trained
parameter, which takes the optimizer's step on it (µ-TWO, Appendix B.1.3). They come last, since
whatever is computed again before them still reads the old parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, fx, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.device.timing import Spread
from jettison.instances.profilers.torch_graphs.fused.optimizers import (
    Coefficients,
    FusedOptimizer,
    Hyperparameters,
    fused_optimizer,
)
from jettison.instances.profilers.torch_graphs.graph_assembly import traced_node
from jettison.instances.profilers.torch_graphs.graph_calls import TraceRegisters
from jettison.instances.profilers.torch_graphs.operation_reader import (
    is_random,
    source_of,
)
from jettison.instances.profilers.torch_graphs.operator_calls import (
    OperatorCall,
    Tensors,
    operator_calls,
)
from jettison.instances.profilers.torch_graphs.step_tensors import GradientOf, StepTensors
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
    trace_step,
)
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.zoo.vmap_step import FusedStep


@dataclass(frozen=True, eq=False)
class FusedProgram:
    """Program of a training step of fused models.

    Attributes
    ----------
    models
        How many.
    traced
        The trace of the fused step.
    optimizer
        The optimizer of the models that were traced; others have the same operators and states.
    calls
        The operations of the trace.
    gradients
        Gradient of each trained parameter, on which the optimizer's step follows.
    loss
        Position of the operation that adds up the losses.
    static_bytes
        Size of what `tensors` returns; gradients and the sum of the losses are not counted.
    """

    models: int
    traced: TracedStep
    optimizer: FusedOptimizer
    calls: tuple[OperatorCall, ...]
    gradients: tuple[GradientOf, ...]
    loss: int
    static_bytes: int
    _registers: TraceRegisters
    _names: Mapping[str, str]
    _parameter_bytes: Mapping[str, int]

    @classmethod
    def of(
        cls,
        steps: Sequence[nn.Module],
        inputs: tuple[Tensor, ...],
        hyperparameters: Sequence[Hyperparameters],
        *,
        like: Sequence[Hyperparameters] | None = None,
    ) -> FusedProgram:
        """Trace the fused step of these models on a sample, without computing anything.

        Parameters
        ----------
        steps
            The models, each with its loss.
        inputs
            A batch of one of them, and what else a step takes.
        hyperparameters, like
            As in `fused_optimizer`.

        Raises
        ------
        InputError
            If the step cannot be fused or traced, draws random numbers, writes to buffers, or its
            loss is no scalar; if a trained parameter is neither float32 nor float64.
        """
        optimizer = fused_optimizer(hyperparameters, like=like)
        fused = FusedStep(steps)
        stacked = tuple(torch.stack([item] * len(steps)) for item in inputs)
        with left_as_found([fused], inputs[0].device):
            traced = trace_step(fused, stacked)
        _check_repeatable(traced, fused)
        registers = TraceRegisters(traced)
        calls = operator_calls(traced, registers)
        gradients = tuple(
            _gradient(name, node, traced, registers) for name, node in traced.gradients.items()
        )
        loss = next(
            place for place, item in enumerate(traced.operations) if item.node is traced.loss
        )
        names = fused.parameter_names
        sizes = {name: _bytes(fused.get_parameter(inner)) for inner, name in names.items()}
        constants = [
            getattr(traced.module, str(node.target))
            for node in traced.module.graph.nodes
            if node.op == "get_attr"
        ]
        trained = [fused.get_parameter(item.parameter) for item in gradients]
        _check_types(
            {names[item.parameter]: fused.get_parameter(item.parameter) for item in gradients}
        )
        numbers = len(optimizer.coefficients(1)) * len(steps)
        static_bytes = (
            fused.static_bytes(*stacked, *constants)
            + len(optimizer.states) * sum(map(_bytes, trained))
            + numbers * sum(dtype.itemsize for dtype in {item.dtype for item in trained})
            + len(steps) * int(traced.loss.meta["val"].element_size())
        )
        return cls(
            models=len(steps),
            traced=traced,
            optimizer=optimizer,
            calls=calls,
            gradients=gradients,
            loss=loss,
            static_bytes=static_bytes,
            _registers=registers,
            _names=names,
            _parameter_bytes=sizes,
        )

    def graph(
        self, name: str, spreads: Mapping[str, Spread] | None, provenance: Provenance
    ) -> Graph:
        """Return the graph of the operators; without durations where none are given."""
        nodes = [
            traced_node(item, 0 if spreads is None else spreads[item.name][1])
            for item in self.traced.operations
        ]
        for gradient in self.gradients:
            update = self.update_name(gradient)
            size_bytes = self._parameter_bytes[self._names[gradient.parameter]]
            nodes.append(
                Node(
                    name=update,
                    duration_ns=0 if spreads is None else spreads[update][1],
                    output_bytes=0,
                    inputs=() if gradient.maker is None else (gradient.maker,),
                    workspace_bytes=self.optimizer.temporaries * size_bytes,
                    backward=True,
                )
            )
        return Graph(name, tuple(nodes), provenance=provenance)

    def parameter_name(self, gradient: GradientOf) -> str:
        """Return the name of a parameter in one of the models."""
        return self._names[gradient.parameter]

    def update_name(self, gradient: GradientOf) -> str:
        """Return the name of the operator that takes the optimizer's step on a parameter."""
        return f"update.{self._names[gradient.parameter]}"

    def tensors(
        self, steps: Sequence[nn.Module], inputs: Sequence[Tensor], device: torch.device
    ) -> StepTensors:
        """Return what is in memory all the time while these models are trained, newly allocated.

        Parameters
        ----------
        steps
            The models with their losses, which look like those that were traced.
        inputs
            A batch for each of them, stacked, and what else a step takes.
        device
            The device that the sample was on.
        """

        def moved(tensor: Tensor) -> Tensor:
            # A copy with the same strides.
            return tensor.detach().to(device, copy=True)

        traced, of = self.traced, self._registers.of
        fused = FusedStep(steps)
        parameters = {
            name: moved(fused.get_parameter(inner)) for inner, name in self._names.items()
        }
        named = {inner: parameters[name] for inner, name in self._names.items()}
        named |= {inner: moved(item) for inner, item in fused.named_buffers()}
        batches = tuple(moved(item) for item in inputs)
        registers: Tensors = {}
        given = dict(zip(traced.inputs, batches, strict=True))
        for node in traced.module.graph.nodes:
            if node.op == "placeholder":
                name = {**traced.parameters, **traced.buffers}.get(node.name)
                registers[of((node, 0))] = given[node.name] if name is None else named[name]
            elif node.op == "get_attr":
                registers[of((node, 0))] = moved(getattr(traced.module, str(node.target)))
        trained = [self._names[item.parameter] for item in self.gradients]
        rows = len(self.optimizer.coefficients(1))
        losses = traced.loss.meta["val"]
        return StepTensors(
            registers=registers,
            parameters=parameters,
            inputs=batches,
            states={
                name: {state: torch.zeros_like(parameters[name]) for state in self.optimizer.states}
                for name in trained
            },
            coefficients={
                dtype: torch.empty(rows, self.models, dtype=dtype, device=device)
                for dtype in dict.fromkeys(parameters[name].dtype for name in trained)
            },
            losses=torch.empty(self.models, dtype=losses.dtype, device=device),
        )

    def begin_step(self, tensors: StepTensors, optimizer: FusedOptimizer, step: int) -> None:
        """Write the numbers of the models' optimizer for a step, 1 for the first."""
        rows = list(optimizer.coefficients(step).values())
        for dtype, coefficients in tensors.coefficients.items():
            coefficients.copy_(torch.tensor(rows, dtype=dtype))

    def update(self, tensors: StepTensors, place: int, gradient: Tensor) -> None:
        """Take the optimizer's step on one of the trained parameters."""
        name = self._names[self.gradients[place].parameter]
        parameter = tensors.parameters[name]
        self.optimizer.update(
            parameter, gradient, tensors.states[name], self._coefficients(tensors, parameter)
        )

    def losses(self, tensors: Mapping[int, Tensor]) -> Tensor:
        """Return the loss of each model, given the registers when they are added up."""
        node = self.traced.loss.args[0]
        frame = dict(tensors)
        for view in self._registers.views([node]).values():
            frame[view.register] = view.call.on(frame)
        return frame[self._registers.of_node(node)]

    def _coefficients(self, tensors: StepTensors, parameter: Tensor) -> Coefficients:
        shape = (-1, *(1,) * (parameter.dim() - 1))
        rows = tensors.coefficients[parameter.dtype]
        return {
            name: row.view(shape)
            for name, row in zip(self.optimizer.coefficients(1), rows, strict=True)
        }


def _gradient(
    name: str, node: fx.Node, traced: TracedStep, registers: TraceRegisters
) -> GradientOf:
    source = source_of(node)
    maker = next(
        (
            item.name
            for item in reversed(traced.operations)
            if item.node is source[0] and source[1] in item.part
        ),
        None,
    )
    return GradientOf(
        parameter=name,
        sources=tuple(registers.of(item) for item in registers.sources([node])),
        views=tuple(registers.views([node]).values()),
        register=registers.of_node(node),
        maker=maker,
    )


def _check_repeatable(traced: TracedStep, fused: FusedStep) -> None:
    losses = tuple(traced.loss.args[0].meta["val"].shape)
    if losses != (fused.models,):
        raise InputError(
            f"the loss of a model has the shape {losses[1:]}",
            field="loss",
            expected="return a scalar: a mean or a sum",
        )
    drawn = next((item for item in traced.operations if is_random(item.node)), None)
    if drawn is not None:
        raise InputError(
            f"{drawn.name} draws random numbers ({drawn.target}), which a recomputation would draw"
            " anew",
            field="models",
            expected="leave out dropout and noise (p=0), or draw the numbers into the batch",
        )
    if traced.new_buffers:
        inner = next(iter(traced.new_buffers))
        raise InputError(
            f"the step writes to the buffer {fused.buffer_names[inner]}, as a batch normalisation "
            "does to its statistics",
            field="models",
            expected="use a normalisation without running statistics"
            " (track_running_stats=False, or GroupNorm)",
        )
    if traced.changed_inputs:
        raise InputError(
            "the step modifies its input in place, so that no operation can be repeated",
            field="models",
            expected="give the first layer inplace=False",
        )


def _check_types(trained: Mapping[str, Tensor]) -> None:
    for name, parameter in trained.items():
        if parameter.dtype not in {torch.float32, torch.float64}:
            kind = str(parameter.dtype).removeprefix("torch.")
            raise InputError(
                f"the parameter {name} is {kind}",
                field="models",
                expected="train parameters in float32 or float64: hyperparameters would be rounded "
                "to the type of the parameter",
            )


def _bytes(tensor: Tensor) -> int:
    return int(tensor.numel()) * int(tensor.element_size())
