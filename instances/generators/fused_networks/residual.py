"""ResNet-101 (He et al. 2016) on images of 224 x 224 pixels.

A ReLU overwrites what it reads, as the usual code has it.
"""

from __future__ import annotations

from math import prod

from jettison.instances.generators.fused_networks.device import elementwise
from jettison.instances.generators.fused_networks.fused_step import FusedStep, Gradient
from jettison.instances.generators.fused_networks.layers import (
    Shape,
    convolution,
    cross_entropy,
    dense,
    normalized,
    pooled,
)


def normalized_relu(step: FusedStep, name: str, source: str, channels: int) -> str:
    """Add a normalisation and a ReLU in its place: the gradient reads input and output."""
    size_bytes = step.size_bytes[source]
    step.parameters += 2 * channels
    return step.add(
        name,
        (source,),
        size_bytes,
        (elementwise(3 * size_bytes), elementwise(2 * size_bytes)),
        (
            Gradient(
                source,
                (source, name),
                (elementwise(3 * size_bytes), elementwise(5 * size_bytes)),
            ),
        ),
    )


def summed_relu(step: FusedStep, name: str, source: str, shortcut: str) -> str:
    """Add the sum of a block and its shortcut with a ReLU in place; both get its gradient."""
    size_bytes = step.size_bytes[source]
    back = Gradient(source, (name,), (elementwise(3 * size_bytes),), shared_with=(shortcut,))
    kernels = elementwise(3 * size_bytes), elementwise(2 * size_bytes)
    return step.add(name, (source, shortcut), size_bytes, kernels, (back,))


def bottleneck(
    step: FusedStep, name: str, source: str, before: Shape, width: int, stride: int
) -> tuple[str, Shape]:
    """Add a block of three convolutions; the first of a group has one more in its shortcut."""
    shape = convolution(step, f"{name}_c1", source, before, width)
    x = normalized_relu(step, f"{name}_r1", f"{name}_c1", width)
    shape = convolution(step, f"{name}_c2", x, shape, width, window=3, stride=stride)
    x = normalized_relu(step, f"{name}_r2", f"{name}_c2", width)
    shape = convolution(step, f"{name}_c3", x, shape, 4 * width)
    x = normalized(step, f"{name}_n3", f"{name}_c3", 4 * width)
    if shape != before:
        convolution(step, f"{name}_c0", source, before, 4 * width, stride=stride)
        source = normalized(step, f"{name}_n0", f"{name}_c0", 4 * width)
    return summed_relu(step, f"{name}_sum", x, source), shape


def resnet101(batch: int) -> FusedStep:
    """Return the step of ResNet-101 that classifies images."""
    step = FusedStep(batch)
    shape = convolution(step, "stem", None, (3, 224, 224), 64, window=7, stride=2)
    x = normalized_relu(step, "stem_r", "stem", 64)
    shape = (64, 56, 56)
    x = pooled(step, "pool", x, batch * prod(shape))
    for stage, count in enumerate((3, 4, 23, 3)):
        for block in range(count):
            stride = 2 if stage and not block else 1
            x, shape = bottleneck(step, f"s{stage}b{block}", x, shape, 64 << stage, stride)
    x = pooled(step, "mean", x, batch * shape[0])
    cross_entropy(step, dense(step, "classes", x, batch, shape[0], 1000))
    return step
