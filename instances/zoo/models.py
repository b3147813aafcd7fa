"""Names of the model zoo, with their fixed arguments and kinds of input; loads no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from jettison.instances.core.errors import InputError

Fixed = Mapping[str, int | str]


class Task(StrEnum):
    """Training task of a model, which decides the kind of its input."""

    IMAGES = "images"
    WORDS = "words"
    MASKED_WORDS = "masked-words"
    PIXELS = "pixels"


@dataclass(frozen=True, slots=True)
class ZooModel:
    """Entry of the model zoo.

    Attributes
    ----------
    family
        The builder, a function in the module of its name.
    task
        Images are square and have three colours, also where each pixel is classified; words are
        token ids.
    fixed
        Arguments of the builder that the name fixes; all others are free.
    size_argument
        The argument that is the length of the sequence or the side of the images; empty if the
        builder does not need it.
    """

    family: str
    task: Task
    fixed: Fixed = field(default_factory=lambda: MappingProxyType({}))
    size_argument: str = ""

    def input_size(self, shape: tuple[int, ...]) -> int:
        """Return the side of the images or the length of the sequences, from a sample's shape.

        Raises
        ------
        InputError
            If the shape is not that of such an input.
        """
        text = "x".join(map(str, shape))
        if self.task in {Task.IMAGES, Task.PIXELS}:
            if len(shape) != 3 or shape[0] != 3 or shape[1] != shape[2]:
                raise InputError(
                    f"{text}", field="input", expected="write 3 colours and a square: 3x224x224"
                )
        elif len(shape) != 1:
            raise InputError(
                f"{text}", field="input", expected="write the number of tokens, such as 128"
            )
        return shape[-1]


def _images(family: str, size_argument: str = "", **fixed: int | str) -> ZooModel:
    return ZooModel(family, Task.IMAGES, MappingProxyType(fixed), size_argument)


def _gpt2(**fixed: int | str) -> ZooModel:
    return ZooModel("gpt2", Task.WORDS, MappingProxyType(fixed), "sequence")


def _bert(**fixed: int | str) -> ZooModel:
    return ZooModel("bert", Task.MASKED_WORDS, MappingProxyType(fixed), "sequence")


MODELS: Mapping[str, ZooModel] = MappingProxyType(
    {
        **{f"resnet{depth}": _images("resnet", depth=depth) for depth in (18, 34, 50)},
        **{f"resnet{depth}": _images("resnet", depth=depth) for depth in (101, 152, 200)},
        "resnet1001": _images("preactivation_resnet", depth=1001),
        **{f"densenet{depth}": _images("densenet", depth=depth) for depth in (121, 161, 169, 201)},
        "inception-v3": _images("inception"),
        "mobilenet-v2": _images("mobilenet"),
        "mobilenet-v3": _images("mobilenet_v3"),
        "unet": ZooModel("unet", Task.PIXELS, size_argument="side"),
        "vgg16": _images("vgg", depth=16),
        "vgg19": _images("vgg", depth=19),
        "vit": _images("vit", "side"),
        "vit-b16": _images("vit", "side", patch=16, depth=12, hidden=768, heads=12),
        "vit-l16": _images("vit", "side", patch=16, depth=24, hidden=1024, heads=16),
        "gpt2": _gpt2(),
        "gpt2-tiny": _gpt2(depth=2, hidden=64, heads=2, vocabulary=1000),
        "gpt2-small": _gpt2(depth=12, hidden=768, heads=12),
        "gpt2-medium": _gpt2(depth=24, hidden=1024, heads=16),
        "gpt2-large": _gpt2(depth=36, hidden=1280, heads=20),
        "gpt2-xl": _gpt2(depth=48, hidden=1600, heads=25),
        "bert": _bert(),
        "bert-tiny": _bert(depth=2, hidden=128, heads=2),
        "bert-base": _bert(depth=12, hidden=768, heads=12),
        "bert-large": _bert(depth=24, hidden=1024, heads=16),
    }
)

MODEL_NAMES = tuple(MODELS)


def zoo_model(name: str) -> ZooModel:
    """Return the entry of a name in the zoo.

    Raises
    ------
    InputError
        If there is no such model.
    """
    if name not in MODELS:
        raise InputError(
            f"{name!r} is not a model of the zoo",
            field="name",
            expected=f"choose from {', '.join(MODEL_NAMES)}",
        )
    return MODELS[name]
