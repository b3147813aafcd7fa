"""Layers of networks: the kernels, saved values and backward operations of each.

What a layer saves for its backward pass is what PyTorch's own operators save: a product both of its
operands, a normalisation its input, softmax and ReLU their outputs, GELU and hardswish their
inputs, dropout a mask of one byte for each number.
"""

from __future__ import annotations

from math import prod

from jettison.instances.generators.fused_networks.device import (
    NUMBER_BYTES,
    Kernel,
    elementwise,
    product,
)
from jettison.instances.generators.fused_networks.fused_step import FusedStep, Gradient


def dense(
    step: FusedStep, name: str, source: str | None, rows: int, inner: int, columns: int
) -> str:
    """Add a layer that is fully connected; without a source it reads the batch."""
    step.parameters += (inner + 1) * columns
    weights = Gradient(None, () if source is None else (source,), (product(inner, rows, columns),))
    gradients = [weights]
    if source is not None:
        gradients.insert(0, Gradient(source, (), (product(rows, columns, inner),)))
    return step.add(
        name,
        () if source is None else (source,),
        NUMBER_BYTES * rows * columns,
        (product(rows, inner, columns),),
        tuple(gradients),
    )


def normalized(step: FusedStep, name: str, source: str, channels: int) -> str:
    """Add a layer or batch normalisation: one pass for its statistics, one to apply them."""
    size_bytes = step.size_bytes[source]
    step.parameters += 2 * channels
    return step.add(
        name,
        (source,),
        size_bytes,
        (elementwise(3 * size_bytes),),
        # Two passes over the input and the gradient, and the result.
        (Gradient(source, (source,), (elementwise(5 * size_bytes),)),),
    )


def activated(step: FusedStep, name: str, source: str) -> str:
    """Add an elementwise activation whose gradient reads its input: GELU, hardswish."""
    return _pointwise(step, name, source, source)


def rectified(step: FusedStep, name: str, source: str) -> str:
    """Add a ReLU, whose gradient reads its output."""
    return _pointwise(step, name, source, name)


def _pointwise(step: FusedStep, name: str, source: str, saved: str) -> str:
    size_bytes = step.size_bytes[source]
    back = Gradient(source, (saved,), (elementwise(3 * size_bytes),))
    return step.add(name, (source,), size_bytes, (elementwise(2 * size_bytes),), (back,))


def dropped(step: FusedStep, name: str, source: str, residual: str | None = None) -> str:
    """Add a dropout and the residual sum after it."""
    size_bytes = step.size_bytes[source]
    mask_bytes = size_bytes // NUMBER_BYTES
    mask = step.add(f"{name}_mask", (), mask_bytes, (elementwise(mask_bytes),))
    reads = (source, mask) if residual is None else (source, mask, residual)
    return step.add(
        name,
        reads,
        size_bytes,
        (elementwise(len(reads) * size_bytes + mask_bytes),),
        (Gradient(source, (mask,), (elementwise(2 * size_bytes + mask_bytes),)),),
        () if residual is None else (residual,),
    )


def added(step: FusedStep, name: str, *sources: str) -> str:
    """Add a sum, whose gradient is passed on unchanged."""
    size_bytes = step.size_bytes[sources[0]]
    moved_bytes = (len(sources) + 1) * size_bytes
    return step.add(
        name, sources, size_bytes, (elementwise(moved_bytes),), (), tuple(dict.fromkeys(sources))
    )


Shape = tuple[int, int, int]


def convolution(
    step: FusedStep,
    name: str,
    source: str | None,
    before: Shape,
    channels: int,
    *,
    window: int = 1,
    stride: int = 1,
    groups: int = 1,
) -> Shape:
    """Add a convolution without bias; return channels, height and width of its value.

    With as many groups as channels it is bound by memory, otherwise it is a product.
    """
    height, width = -(-before[1] // stride), -(-before[2] // stride)
    inner = before[0] // groups * window * window
    step.parameters += inner * channels
    rows = step.batch * height * width
    size_bytes = NUMBER_BYTES * rows * channels
    read_bytes = NUMBER_BYTES * step.batch * prod(before)
    forward: Kernel
    if groups == 1:
        # A window that is not one by one does not move its input once for each place.
        forward = _moving(product(rows, inner, channels), read_bytes + size_bytes)
        back = _moving(product(rows, channels, inner), read_bytes + size_bytes)
        weights = _moving(product(inner, rows, channels), read_bytes + size_bytes)
    else:
        flops = 2 * rows * inner * channels
        forward = back = weights = elementwise(read_bytes + size_bytes, flops)
    if source is None:
        gradients = (Gradient(None, (), (weights,)),)
    else:
        gradients = (Gradient(source, (source,), (back, weights)),)
    step.add(name, () if source is None else (source,), size_bytes, (forward,), gradients)
    return channels, height, width


def _moving(kernel: Kernel, activation_bytes: int) -> Kernel:
    return Kernel(kernel.flops, kernel.tiles, activation_bytes)


def pooled(step: FusedStep, name: str, source: str, numbers: int) -> str:
    """Add an average or maximum pooling with this number of outputs."""
    size_bytes = NUMBER_BYTES * numbers
    moved_bytes = step.size_bytes[source] + size_bytes
    return step.add(
        name,
        (source,),
        size_bytes,
        (elementwise(moved_bytes),),
        (Gradient(source, (), (elementwise(moved_bytes),)),),
    )


def cross_entropy(step: FusedStep, source: str) -> None:
    """Add a cross-entropy loss, which saves the logarithms of probabilities for its gradient."""
    size_bytes = step.size_bytes[source]
    likely = step.add("log_softmax", (source,), size_bytes, (elementwise(3 * size_bytes),))
    back = Gradient(source, (likely,), (elementwise(2 * size_bytes),))
    step.add("loss", (likely,), NUMBER_BYTES, (elementwise(size_bytes),), (back,))
