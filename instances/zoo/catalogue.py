"""The models of the zoo by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import util
from types import MappingProxyType
from typing import TYPE_CHECKING

from jettison.instances.errors import InputError, MissingExtraError
from jettison.instances.provenance import Scalar

if TYPE_CHECKING:
    from torch import nn

    from jettison.instances.zoo.workload import Workload

# What a name fixes: the family and some of its arguments. All other arguments are free.
_MODELS: Mapping[str, tuple[str, Mapping[str, int]]] = MappingProxyType(
    {
        "resnet18": ("resnet", {"depth": 18}),
        "resnet34": ("resnet", {"depth": 34}),
        "resnet50": ("resnet", {"depth": 50}),
        "resnet101": ("resnet", {"depth": 101}),
        "resnet152": ("resnet", {"depth": 152}),
        "vgg16": ("vgg", {"depth": 16}),
        "vgg19": ("vgg", {"depth": 19}),
        "gpt2": ("gpt2", {}),
        "gpt2-small": ("gpt2", {"depth": 12, "hidden": 768, "heads": 12}),
        "gpt2-medium": ("gpt2", {"depth": 24, "hidden": 1024, "heads": 16}),
        "gpt2-large": ("gpt2", {"depth": 36, "hidden": 1280, "heads": 20}),
        "gpt2-xl": ("gpt2", {"depth": 48, "hidden": 1600, "heads": 25}),
        "bert": ("bert", {}),
        "bert-base": ("bert", {"depth": 12, "hidden": 768, "heads": 12}),
        "bert-large": ("bert", {"depth": 24, "hidden": 1024, "heads": 16}),
    }
)

MODEL_NAMES = tuple(_MODELS)


def build(
    name: str, *, batch: int, input_size: int, seed: int = 0, **arguments: Scalar
) -> Workload:
    """Build a model of the zoo with a batch and a loss, on the CPU, in training mode.

    Weights, inputs and labels are random and depend only on the arguments; the global random
    number generators stay as they are.

    Parameters
    ----------
    name
        One of `MODEL_NAMES`.
    batch
        Number of images or sequences.
    input_size
        Side of the square images in pixels, or length of the sequences in tokens.
    seed
        Seed of the weights, inputs and labels.
    **arguments
        Arguments of the family that `name` leaves open: see `resnet`, `vgg`, `gpt2` and `bert` in
        the modules of these names. ``gpt2`` and ``bert`` need `depth`, `hidden` and `heads`.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        If there is no such model, or an argument is unknown, missing, fixed by the name, or out
        of range.
    """
    if name not in _MODELS:
        raise InputError(
            f"{name!r} is not a model of the zoo",
            field="name",
            expected=f"choose from {', '.join(MODEL_NAMES)}",
        )
    for field, value in {"batch": batch, "input_size": input_size, **arguments}.items():
        if isinstance(value, int) and value < 1:
            raise InputError(f"{value}", field=field, expected="write a whole number from 1")
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "building a model of the zoo")
    from jettison.instances.zoo import bert, gpt2, resnet, vgg
    from jettison.instances.zoo.tasks import classify_images, predict_masked_words, predict_words

    builders: dict[str, Callable[..., nn.Sequential]] = {
        "resnet": resnet.resnet,
        "vgg": vgg.vgg,
        "gpt2": gpt2.gpt2,
        "bert": bert.bert,
    }
    tasks = {
        "resnet": classify_images,
        "vgg": classify_images,
        "gpt2": predict_words,
        "bert": predict_masked_words,
    }
    family, fixed = _MODELS[name]
    if family in {"gpt2", "bert"}:
        fixed = {**fixed, "sequence": input_size}
    for argument in sorted(fixed.keys() & arguments.keys()):
        raise InputError(
            f"it is {fixed[argument]} already, by the name {name} or by input_size",
            field=argument,
            expected="leave it out",
        )
    complete = {**fixed, **arguments}
    try:
        bound = inspect.signature(builders[family]).bind(**complete)
    except TypeError as error:
        raise InputError(
            f"{name}: {error}",
            field="arguments",
            expected=f"{family} takes {', '.join(inspect.signature(builders[family]).parameters)}",
        ) from None
    bound.apply_defaults()
    return tasks[family](
        builders[family],
        bound.arguments,
        model_name=name,
        batch=batch,
        input_size=input_size,
        seed=seed,
    )
