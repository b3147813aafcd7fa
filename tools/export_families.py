"""Families of the measured data set, each of at most ten minutes of measurement.

On a GPU: batch 16 of images of 500 x 500 pixels is POFO's setting; 224, 500 and 1000 pixels are
rotor's; GPT-2 and Bert of thousands of hidden units are those of the paper on weight offloading,
whose depths count the embedding and the head; five fused networks are those of µ-TWO, with a batch
of its Table 1; the tensor programs are KIWI's. On a CPU, models that are
small enough for one core and small files.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tools.exports import (
    ChainExport,
    Export,
    FusedExport,
    GraphExport,
    ShardingExport,
)

Families = Mapping[str, tuple[Export, ...]]


def _others(batch: int, side: int) -> tuple[Export, ...]:
    """Return networks on images beside ResNets."""
    names = (
        *(f"densenet{depth}" for depth in (121, 161, 169, 201)),
        "inception-v3",
        "vgg16",
        "vgg19",
        "mobilenet-v2",
        "mobilenet-v3",
    )
    return tuple(ChainExport(name, batch, side) for name in names)


_SMALL: dict[str, Any] = {"depth": 2, "hidden": 64, "heads": 2}

ON_CPU: Families = MappingProxyType(
    {
        "chains": (
            ChainExport("resnet18", 4, 224),
            ChainExport("resnet18", 64, 32, {"stem": "3x3", "classes": 10}),
            ChainExport("resnet50", 4, 224),
            ChainExport("resnet50", 1, 500),
            ChainExport("resnet101", 2, 224),
            ChainExport("resnet152", 1, 224),
            ChainExport("vgg16", 2, 224),
            ChainExport("vgg19", 1, 224),
            ChainExport("gpt2-small", 1, 256),
            ChainExport("gpt2", 2, 128, {"depth": 48, "hidden": 256, "heads": 4}, "-d48-h256"),
            ChainExport("bert-base", 2, 128),
            ChainExport("bert-large", 1, 128),
        ),
        "graphs": (
            GraphExport("resnet18", 8, 64),
            GraphExport("gpt2-tiny", 4, 64),
            GraphExport("unet", 2, 64),
        ),
        "fused": (
            FusedExport("bert-tiny", 2, 32, models=4),
            FusedExport("vit", 4, 32, {**_SMALL, "patch": 8, "classes": 10}, "-tiny", models=4),
        ),
        "sharding": (
            ShardingExport("mlp-26", (1, 4)),
            ShardingExport("mlp-26", (2, 4)),
        ),
    }
)

ON_GPU: Families = MappingProxyType(
    {
        "resnets-224": tuple(
            ChainExport(f"resnet{depth}", 32, 224) for depth in (18, 34, 50, 101, 152, 200)
        ),
        "resnets-500": tuple(
            ChainExport(f"resnet{depth}", 16, 500) for depth in (18, 34, 50, 101, 152, 200)
        ),
        "resnets-1000": tuple(
            ChainExport(f"resnet{depth}", 8, 1000) for depth in (18, 34, 50, 101, 152, 200)
        ),
        "resnet1001": (ChainExport("resnet1001", 16, 224),),
        "others-224": _others(32, 224),
        "others-500": _others(16, 500),
        "others-1000": _others(4, 1000),
        "transformers": (
            ChainExport("gpt2-small", 8, 1024),
            ChainExport("gpt2-medium", 8, 1024),
            ChainExport("gpt2-large", 4, 1024),
            ChainExport("bert-base", 16, 512),
            ChainExport("bert-large", 16, 512),
            ChainExport("vit-b16", 32, 224),
            ChainExport("vit-l16", 32, 224),
        ),
        "wide-gpt2": tuple(
            ChainExport(
                "gpt2",
                batch,
                128,
                {"depth": depth - 2, "hidden": 3072, "heads": 24},
                f"-d{depth}-h3072",
            )
            for depth, batch in ((38, 16), (38, 32), (38, 64), (56, 16), (74, 16))
        ),
        "wide-bert": tuple(
            ChainExport(
                "bert",
                batch,
                128,
                {"depth": depth, "hidden": 2560, "heads": 20},
                f"-d{depth}-h2560",
            )
            for depth, batch in ((96, 16), (96, 64), (144, 16))
        ),
        "graphs": (
            GraphExport("unet", 16, 256),
            GraphExport("resnet50", 32, 224),
            GraphExport("resnet152", 16, 224),
            GraphExport("mobilenet-v3", 64, 224),
            GraphExport("gpt2-small", 8, 512),
            GraphExport("bert-base", 16, 512),
        ),
        "fused-bert": (FusedExport("bert-base", 24, 512),),
        "fused-gpt2": (FusedExport("gpt2-small", 8, 1024),),
        "fused-vit": (FusedExport("vit-b16", 8, 512),),
        "fused-resnet101": (FusedExport("resnet101", 64, 224),),
        "fused-mobilenet": (FusedExport("mobilenet-v3", 128, 224),),
        **{
            f"sharding-{model}": tuple(
                ShardingExport(f"{model}-4l", mesh) for mesh in ((1, 4), (1, 8), (2, 4), (4, 2))
            )
            for model in ("encoder", "decoder")
        },
        "sharding-mlp": (
            ShardingExport("mlp-26", (1, 4)),
            ShardingExport("mlp-26", (2, 4)),
            ShardingExport("mlp-26", (8, 1)),
            ShardingExport("mlp-26-no-parameters", (8, 1)),
        ),
    }
)
