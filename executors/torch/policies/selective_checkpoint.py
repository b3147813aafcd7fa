"""Optimal selective checkpointing of a model's modules, within an amount of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, OperatorCost
from jettison.instances.profilers.torch_regions.traced_regions import trace_regions
from jettison.instances.remat_graph.checkpoint_regions import CheckpointRegions
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.policies.best_saved_calls import (
    NoSavedCalls,
    SavedCalls,
    best_saved_calls,
)
from jettison.torch.checkpointed_sequential import Prediction
from jettison.torch.graph_steps.program import Loss, LossStep
from jettison.torch.policies.counted_calls import (
    SelectiveRegion,
    apply_regions,
    remove_regions,
)


@dataclass(frozen=True, eq=False, slots=True)
class SelectiveCheckpoint:
    """Selective checkpointing that has been put on a model.

    Attributes
    ----------
    model
        The model, whose regions are checkpointed.
    choice
        What is saved, with the replay of the step and the bound of the class.
    regions
        The decisions, as PyTorch gets them.
    """

    model: nn.Module
    choice: SavedCalls
    regions: tuple[SelectiveRegion, ...]

    @property
    def predicted(self) -> Prediction:
        """Time and peak of a step, by the replay."""
        replay = self.choice.replay
        return Prediction(time_ns=replay.time_ns, peak_bytes=replay.peak_bytes)

    def remove(self) -> None:
        """Take the checkpoints off the model."""
        remove_regions(self.model)


def checkpoint_selective_optimal(
    model: nn.Module,
    *,
    memory: str | int | Memory,
    sample_input: Tensor,
    loss: Loss | None = None,
    sample_loss_arguments: Sequence[Tensor] = (),
    regions: Sequence[str] | None = None,
    cost: OperatorCost | None = None,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
) -> SelectiveCheckpoint:
    """Checkpoint a model's modules selectively, so that its step fits and is as fast as can be.

    Each region is checkpointed by PyTorch (`torch.utils.checkpoint` with
    `create_selective_checkpoint_contexts`): its calls that are saved are not run again in the
    backward pass, all others are. The calls that are saved are the best for these regions:
    `SavedCalls` has the bound. The model stays a model, in the user's own training loop.

    Parameters
    ----------
    model
        In training mode; it is changed in place, and `SelectiveCheckpoint.remove` undoes it.
    memory
        Bytes, or a share (``"60%"``) of the peak of the same step in which each operation runs
        once; gradients of parameters are a part of it, parameters and the batch are not.
    sample_input
        One batch; later ones must look like it.
    loss
        A module or function of the output and further arguments; None if the model returns it.
    sample_loss_arguments
        Further arguments of the loss.
    regions
        Paths of the modules that become regions; by default the entries of the outermost
        ``nn.Sequential`` and ``nn.ModuleList``.
    cost
        Source of durations; by default each operator is measured on the device of the sample.
    time_limit, gap
        As in `solve`.

    Raises
    ------
    InputError
        If the step cannot be traced, or nothing fits.
    """
    step = LossStep(model, loss)
    step.training = model.training
    known = cost or Measured(sample_input.device, warmup=2, repeats=7)
    traced = trace_regions(
        step, (sample_input, *sample_loss_arguments), known, model=model, regions=regions
    )
    memory_bytes = RematGraph(traced.graph, memory).memory_bytes
    choice = best_saved_calls(traced, memory_bytes, SolveOptions(time_limit_s=time_limit, gap=gap))
    if isinstance(choice, NoSavedCalls):
        raise InputError(
            f"no selective checkpointing of these regions was found within {memory_bytes} bytes",
            field="memory",
            expected=f"give {choice.enough_bytes} bytes, or more and smaller regions",
        )
    made = selective_regions(traced, choice)
    apply_regions(model, made)
    return SelectiveCheckpoint(model, choice, made)


def selective_regions(step: CheckpointRegions, choice: SavedCalls) -> tuple[SelectiveRegion, ...]:
    """Return the decisions of a choice as PyTorch gets them."""
    return tuple(
        SelectiveRegion(
            module=region.name,
            operators=tuple(call.operator for call in region.calls),
            saved=frozenset(
                number for number in range(len(region.calls)) if (place, number) in choice.saved
            ),
            draws=any(call.is_random for call in region.calls),
        )
        for place, region in enumerate(step.regions)
    )
