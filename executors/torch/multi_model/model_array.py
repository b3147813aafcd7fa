"""Array of models of one architecture, with the profile of their fused training steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import checked_amount, parse_bytes
from jettison.instances.multi_model.instance import LARGEST_MODELS, MultiModel
from jettison.instances.profilers.torch_graphs.fused_optimizers import (
    FusedOptimizer,
    Hyperparameters,
    fused_optimizer,
)
from jettison.instances.profilers.torch_graphs.fused_program import FusedProgram
from jettison.instances.profilers.torch_graphs.swapped_profiles import (
    TrainingProfile,
    profile_training,
)
from jettison.torch.step_program import Loss, LossStep

Batch: TypeAlias = "Tensor | Sequence[Tensor]"


@dataclass(frozen=True, eq=False, slots=True)
class ModelArray:
    """Array of models to train together, from `profile_models`.

    Attributes
    ----------
    steps
        Each model with its loss; the models are shared, not copied.
    optimizers
        Hyperparameters of each model.
    sample
        A batch of one model, and the further arguments of the loss.
    profile
        Programs of fused steps, and what was measured of them.
    """

    steps: tuple[LossStep, ...]
    optimizers: tuple[Hyperparameters, ...]
    sample: tuple[Tensor, ...]
    profile: TrainingProfile

    @property
    def instance(self) -> MultiModel:
        """The multi-model instance that schedules are made for."""
        return self.profile.instance

    @property
    def models(self) -> tuple[nn.Module, ...]:
        """The models."""
        return tuple(step.model for step in self.steps)

    @property
    def programs(self) -> Mapping[int, FusedProgram]:
        """Program for each number of fused models."""
        return self.profile.programs

    def optimizer(self, first: int, size: int) -> FusedOptimizer:
        """Return the optimizer of some models beside one another."""
        return fused_optimizer(self.optimizers[first : first + size], like=self.optimizers)

    def check(self, batch: Batch, where: str) -> None:
        """Check that a batch looks like the sample.

        Raises
        ------
        InputError
            If it does not.
        """
        found = [_described(item) for item in as_inputs(batch)]
        expected = [_described(item) for item in self.sample]
        if found != expected:
            raise InputError(
                " and ".join(found) or "nothing",
                field=where,
                expected=f"give what looks like the sample: {' and '.join(expected)}",
            )


def as_inputs(batch: Batch) -> tuple[Tensor, ...]:
    """Return a batch and the further arguments of the loss."""
    return (batch,) if isinstance(batch, Tensor) else tuple(batch)


def profile_models(
    models: Sequence[nn.Module],
    sample_input: Tensor,
    *,
    optimizers: Hyperparameters | Sequence[Hyperparameters],
    loss: Loss | None = None,
    sample_loss_arguments: Sequence[Tensor] = (),
    memory: str | int | None = None,
    sizes: Sequence[int] | None = None,
    name: str | None = None,
    warmup: int = 1,
    repeats: int = 3,
) -> ModelArray:
    """Profile the fused training steps of models of one architecture (µ-TWO, Algorithm A).

    Parameters
    ----------
    models
        In training mode, 1 to 64, alike but for the contents of their parameters. They are shared,
        not copied, and stay as they are.
    sample_input
        One batch of one model, on the device to train on.
    optimizers
        `SGD` or `Adam` for each model, or one for all; the kind is the same for all.
    loss
        A module or function of the output and further arguments; None if the models return the loss
        themselves.
    sample_loss_arguments
        Further arguments of the loss, tensors.
    memory
        Memory in which to measure (``"2GiB"``, or bytes): feature maps are swapped meanwhile, and
        what else must. None for as much as it takes.
    sizes
        The numbers of models that may be fused; all if not given.
    name
        Name of the instance.
    warmup, repeats
        Iterations before, and for, the measurement.

    Raises
    ------
    InputError
        If the models differ, draw random numbers, update buffers, or cannot be traced or fused; if
        nothing fits into the memory: the message has the least that does.
    """
    models = tuple(models)
    if not 1 <= len(models) <= LARGEST_MODELS:
        raise InputError(
            f"{len(models)} models", field="models", expected=f"give 1 to {LARGEST_MODELS}"
        )
    _check_alike(models)
    of_each = tuple(optimizers) if isinstance(optimizers, Sequence) else (optimizers,) * len(models)
    if len(of_each) != len(models):
        raise InputError(
            f"{len(of_each)} optimizers for {len(models)} models",
            field="optimizers",
            expected="give one for each model, or one for all",
        )
    steps = tuple(LossStep(model, loss) for model in models)
    sample = tuple(item.detach() for item in (sample_input, *sample_loss_arguments))
    kind = type(models[0]).__name__
    profile = profile_training(
        steps,
        sample,
        of_each,
        name=name or f"{len(models)}-of-{kind}-{sample_input.device.type}",
        model_name=kind,
        sizes=sizes,
        memory_bytes=None if memory is None else _amount_bytes(memory),
        warmup=warmup,
        repeats=repeats,
    )
    return ModelArray(steps, of_each, sample, profile)


def _check_alike(models: Sequence[nn.Module]) -> None:
    """Check that models have the same modules, modes, parameters and buffers as the first."""
    first = models[0]
    seen: dict[int, int] = {}
    for place, model in enumerate(models):
        if seen.setdefault(id(model), place) != place:
            raise InputError(
                f"model {seen[id(model)]} again",
                field=f"models[{place}]",
                expected="give different models: copy.deepcopy() makes one",
            )
        if not all(module.training for module in model.modules()):
            raise InputError(
                "a module is in evaluation mode",
                field=f"models[{place}]",
                expected="call model.train() first",
            )
        for what, mine, others in (
            ("module", _modules(model), _modules(first)),
            ("parameter or buffer", _tensors(model), _tensors(first)),
        ):
            differing = next(
                (
                    key
                    for key in dict.fromkeys((*others, *mine))
                    if mine.get(key) != others.get(key)
                ),
                None,
            )
            if differing is not None:
                raise InputError(
                    f"the {what} {differing or 'at the top'} is "
                    f"{mine.get(differing, 'absent')}, and "
                    f"{others.get(differing, 'absent')} in the first model",
                    field=f"models[{place}]",
                    expected="give models of one architecture: only they can be fused",
                )


def _modules(model: nn.Module) -> dict[str, str]:
    return {
        name: f"{type(module).__name__}({module.extra_repr()})"
        for name, module in model.named_modules()
    }


def _amount_bytes(memory: str | int) -> int:
    return (
        parse_bytes(memory)
        if isinstance(memory, str)
        else checked_amount(memory, "memory", "bytes")
    )


def _tensors(model: nn.Module) -> dict[str, str]:
    named = (*model.named_parameters(), *model.named_buffers())
    return {
        name: _described(item) + ("" if item.requires_grad else ", not trained")
        for name, item in named
    }


def _described(tensor: Tensor) -> str:
    kind = str(tensor.dtype).removeprefix("torch.")
    return f"{kind} of size {tuple(tensor.size())} on {tensor.device}"
