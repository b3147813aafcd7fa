"""The models of the zoo by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module, util
from typing import TYPE_CHECKING

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.provenance import Scalar
from jettison.instances.zoo.models import Task, zoo_model

if TYPE_CHECKING:
    from torch import nn

    from jettison.instances.zoo.workload import Workload


def build(
    name: str, *, batch: int, input_size: int, seed: int = 0, **arguments: Scalar
) -> Workload:
    """Build a model of the zoo with a batch and a loss, on the CPU, in training mode.

    Weights, inputs and labels are random and depend only on the arguments; the global random
    number generators stay as they are.

    Parameters
    ----------
    name
        One of `models.MODEL_NAMES`.
    batch
        Number of images or sequences.
    input_size
        Side of the square images in pixels, or length of the sequences in tokens.
    seed
        Seed of the weights, inputs and labels.
    **arguments
        Arguments of the family that `name` leaves open: see the function of its name in the module
        of its name. ``gpt2``, ``bert`` and ``vit`` need `depth`, `hidden` and `heads`.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        If there is no such model, or an argument is unknown, missing, fixed by the name, or out
        of range.
    """
    entry = zoo_model(name)
    for field, value in {"batch": batch, "input_size": input_size, **arguments}.items():
        if field == "dropout":
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{value}", field=field, expected="write a number from 0 to 1")
        elif isinstance(value, int) and value < 1:
            raise InputError(f"{value}", field=field, expected="write a whole number from 1")
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "building a model of the zoo")
    from jettison.instances.zoo.tasks import (
        classify_images,
        classify_pixels,
        predict_masked_words,
        predict_words,
    )

    tasks = {
        Task.IMAGES: classify_images,
        Task.PIXELS: classify_pixels,
        Task.WORDS: predict_words,
        Task.MASKED_WORDS: predict_masked_words,
    }
    builder = _builder(entry.family)
    fixed: dict[str, Scalar] = dict(entry.fixed)
    if entry.size_argument:
        fixed[entry.size_argument] = input_size
    for argument in sorted(fixed.keys() & arguments.keys()):
        raise InputError(
            f"it is {fixed[argument]} already, by the name {name} or by the size of the input",
            field=argument,
            expected="leave it out",
        )
    try:
        bound = inspect.signature(builder).bind(**fixed, **arguments)
    except TypeError as error:
        raise InputError(
            f"{name}: {error}",
            field="arguments",
            expected=f"{entry.family} takes {', '.join(inspect.signature(builder).parameters)}",
        ) from None
    bound.apply_defaults()
    return tasks[entry.task](
        builder,
        bound.arguments,
        model_name=name,
        batch=batch,
        input_size=input_size,
        seed=seed,
    )


def _builder(family: str) -> Callable[..., nn.Module]:
    builder: Callable[..., nn.Module] = getattr(
        import_module(f"jettison.instances.zoo.{family}"), family
    )
    return builder
