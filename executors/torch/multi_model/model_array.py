"""Array of models of one architecture, with the profile of their fused training steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import checked_amount, parse_bytes
from jettison.instances.multi_model.instance import LARGEST_MODELS, MultiModel
from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram
from jettison.instances.profilers.torch_graphs.fused.optimizers import (
    FusedOptimizer,
    Hyperparameters,
    fused_optimizer,
)
from jettison.instances.profilers.torch_graphs.fused.swapped_profiles import (
    TrainingProfile,
    profile_training,
)
from jettison.torch.graph_steps.program import Loss, LossStep
from jettison.torch.multi_model.model_look import (
    Look,
    check_look,
    check_own_parameters,
    described,
    look_of,
)

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
    look
        What all models looked like then.
    """

    steps: tuple[LossStep, ...]
    optimizers: tuple[Hyperparameters, ...]
    sample: tuple[Tensor, ...]
    profile: TrainingProfile
    look: Look

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

    def check_models(self) -> None:
        """Check that the models look as they did when they were profiled.

        Raises
        ------
        InputError
            If one does not.
        """
        for place, model in enumerate(self.models):
            check_look(model, place, self.look, "when it was profiled")

    def check(self, batch: Batch, where: str) -> None:
        """Check that a batch looks like the sample.

        Raises
        ------
        InputError
            If it does not.
        """
        found = [described(item) for item in as_inputs(batch, where)]
        expected = [described(item) for item in self.sample]
        if found != expected:
            raise InputError(
                " and ".join(found) or "nothing",
                field=where,
                expected=f"give what looks like the sample: {' and '.join(expected)}",
            )


def as_inputs(batch: Batch, where: str = "batch") -> tuple[Tensor, ...]:
    """Return a batch and the further arguments of the loss.

    Raises
    ------
    InputError
        If one is no tensor.
    """
    parts = tuple(batch) if isinstance(batch, list | tuple) else (batch,)
    for part in parts:
        if not isinstance(part, Tensor):
            raise InputError(
                f"a {type(part).__name__}",
                field=where,
                expected="give a tensor, or a list of tensors where the loss takes more than one",
            )
    return parts


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
        In training mode, 1 to 64, alike but for the contents of their parameters and buffers: the
        code of the first is run for all. They are shared, not copied, and stay as they are.
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
        If the models differ or share trained parameters, draw random numbers, update buffers, or
        cannot be traced or fused; if nothing fits into the memory: the message has the least that
        does.
    """
    if isinstance(models, nn.Module) and not isinstance(models, nn.ModuleList):
        raise InputError(
            f"a {type(models).__name__}", field="models", expected="give a list of models"
        )
    models = tuple(models)
    _check_models(models)
    for field, value, least in (("warmup", warmup, 0), ("repeats", repeats, 1)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{value!r}", field=field, expected=f"write a number from {least}")
    of_each = tuple(optimizers) if isinstance(optimizers, Sequence) else (optimizers,) * len(models)
    if len(of_each) != len(models):
        raise InputError(
            f"{len(of_each)} optimizers for {len(models)} models",
            field="optimizers",
            expected="give one for each model, or one for all",
        )
    steps = tuple(LossStep(model, loss) for model in models)
    check_own_parameters(steps)
    sample = tuple(
        item.detach()
        for item in (
            *as_inputs([sample_input], "sample_input"),
            *as_inputs([*sample_loss_arguments], "sample_loss_arguments"),
        )
    )
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
    return ModelArray(steps, of_each, sample, profile, look_of(models[0]))


def _check_models(models: Sequence[nn.Module]) -> None:
    """Check that these are 1 to 64 models, each of them once, that look like the first."""
    for place, model in enumerate(models):
        if not isinstance(model, nn.Module):
            raise InputError(
                f"a {type(model).__name__}", field=f"models[{place}]", expected="give a module"
            )
    if not 1 <= len(models) <= LARGEST_MODELS:
        raise InputError(
            f"{len(models)} models", field="models", expected=f"give 1 to {LARGEST_MODELS}"
        )
    look = look_of(models[0])
    seen: dict[int, int] = {}
    for place, model in enumerate(models):
        if seen.setdefault(id(model), place) != place:
            raise InputError(
                f"model {seen[id(model)]} again",
                field=f"models[{place}]",
                expected="give different models: copy.deepcopy() makes one",
            )
        check_look(model, place, look, "in the first model")


def _amount_bytes(memory: str | int) -> int:
    return (
        parse_bytes(memory)
        if isinstance(memory, str)
        else checked_amount(memory, "memory", "bytes")
    )
