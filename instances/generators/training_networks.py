"""Training steps of well-known networks, from the shapes of their layers.

Sources: VGG (Simonyan and Zisserman 2015), ResNet (He et al. 2016), DenseNet (Huang et al. 2017),
MobileNet (Howard et al. 2017), U-Net (Ronneberger et al. 2015), FCN-8 (Long et al. 2015), SegNet
(Badrinarayanan et al. 2017), the encoder of BERT (Devlin et al. 2019). A convolution stands for
itself, its normalisation and its activation; attention is four operations.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.instances.generators.training_step import TrainingStep
from jettison.instances.remat_graph.graph import Graph


def perceptron(batch: int = 256, layers: int = 12, width: int = 4096) -> Graph:
    """Return fully connected layers of equal width."""
    step = TrainingStep(f"perceptron-{layers}", batch)
    x = step.add("input", (), (width,), 0)
    for k in range(layers):
        x = step.dense(f"dense{k}", x, width)
    return step.graph()


def vgg(batch: int = 32, depth: int = 16) -> Graph:
    """Return VGG with 11, 13, 16 or 19 layers on images of 224 x 224 pixels."""
    repeats = {
        11: (1, 1, 2, 2, 2),
        13: (2, 2, 2, 2, 2),
        16: (2, 2, 3, 3, 3),
        19: (2, 2, 4, 4, 4),
    }[depth]
    step = TrainingStep(f"vgg-{depth}", batch)
    x = _vgg_levels(step, step.add("image", (), (3, 224, 224), 0), repeats)[-1]
    for k, width in enumerate((4096, 4096, 1000)):
        x = step.dense(f"dense{k}", x, width)
    return step.graph()


def mobilenet(batch: int = 64) -> Graph:
    """Return MobileNet on images of 224 x 224 pixels: convolutions by channel, then across."""
    step = TrainingStep("mobilenet", batch)
    x = step.convolution("stem", step.add("image", (), (3, 224, 224), 0), 32, stride=2)
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    plan += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for k, (channels, stride) in enumerate(plan):
        before = step.shapes[x][0]
        x = step.convolution(f"depthwise{k}", x, before, stride=stride, groups=before)
        x = step.convolution(f"pointwise{k}", x, channels, size=1)
    x = step.pool("mean", x, stride=7)
    step.dense("classes", x, 1000)
    return step.graph()


def resnet18(batch: int = 32) -> Graph:
    """Return ResNet-18 on images of 224 x 224 pixels."""
    step = TrainingStep("resnet-18", batch)
    image = step.add("image", (), (3, 224, 224), 0)
    x = step.convolution("stem", image, 64, size=7, stride=2)
    x = step.add("pool", (x,), (64, 56, 56), 9 * 64 * 56 * 56)
    for k, channels in enumerate(width for width in (64, 128, 256, 512) for _ in range(2)):
        stride = channels // step.shapes[x][0]
        inner = step.convolution(f"block{k}_1", x, channels, stride=stride)
        inner = step.convolution(f"block{k}_2", inner, channels)
        if stride > 1:
            x = step.convolution(f"shortcut{k}", x, channels, size=1, stride=stride)
        x = step.add(f"sum{k}", (x, inner), step.shapes[x], prod(step.shapes[x]))
    step.add("classes", (x,), (1000,), 2000 * prod(step.shapes[x]))
    return step.graph()


def resnet50(batch: int = 32) -> Graph:
    """Return ResNet-50, in bottlenecks of three convolutions, on images of 224 x 224 pixels."""
    step = TrainingStep("resnet-50", batch)
    image = step.add("image", (), (3, 224, 224), 0)
    x = step.convolution("stem", image, 64, size=7, stride=2)
    x = step.pool("pool", x)
    for level, count in enumerate((3, 4, 6, 3)):
        for k in range(count):
            name, width = f"block{level}_{k}", 64 << level
            stride = 2 if level and not k else 1
            inner = step.convolution(f"{name}_1", x, width, size=1)
            inner = step.convolution(f"{name}_2", inner, width, stride=stride)
            inner = step.convolution(f"{name}_3", inner, 4 * width, size=1)
            if not k:
                x = step.convolution(f"{name}_0", x, 4 * width, size=1, stride=stride)
            x = step.add(f"{name}_sum", (x, inner), step.shapes[x], prod(step.shapes[x]))
    x = step.pool("mean", x, stride=7)
    step.dense("classes", x, 1000)
    return step.graph()


def densenet161(batch: int = 32) -> Graph:
    """Return DenseNet-161 on images of 224 x 224 pixels; each layer reads a concatenation."""
    growth = 48
    step = TrainingStep("densenet-161", batch)
    image = step.add("image", (), (3, 224, 224), 0)
    x = step.convolution("stem", image, 2 * growth, size=7, stride=2)
    x = step.pool("pool", x)
    for block, count in enumerate((6, 12, 36, 24)):
        if block:
            x = step.convolution(f"transition{block}", x, step.shapes[x][0] // 2, size=1)
            x = step.pool(f"pool{block}", x)
        for k in range(count):
            name = f"layer{block}_{k}"
            inner = step.convolution(f"{name}_1", x, 4 * growth, size=1)
            inner = step.convolution(f"{name}_2", inner, growth)
            channels, *area = step.shapes[x]
            shape = (channels + growth, *area)
            x = step.add(f"{name}_joined", (x, inner), shape, prod(shape))
    x = step.pool("mean", x, stride=7)
    step.dense("classes", x, 1000)
    return step.graph()


def u_net(batch: int = 8) -> Graph:
    """Return a U-Net with four levels on images of 416 x 608 pixels."""
    step = TrainingStep("u-net", batch)
    x = step.add("image", (), (3, 416, 608), 0)
    kept = []
    for level in range(4):
        for k in (1, 2):
            x = step.convolution(f"down{level}_{k}", x, 64 << level)
        kept.append(x)
        x = step.pool(f"pool{level}", x)
    for k in (1, 2):
        x = step.convolution(f"middle_{k}", x, 1024)
    for level in reversed(range(4)):
        channels, height, width = step.shapes[x]
        shape = (channels // 2, 2 * height, 2 * width)
        x = step.add(f"up{level}_0", (x,), shape, 2 * channels * prod(shape))
        x = step.add(f"joined{level}", (kept[level], x), (channels, *shape[1:]), 2 * prod(shape))
        for k in (1, 2):
            x = step.convolution(f"up{level}_{k}", x, shape[0])
    step.convolution("classes", x, 2, size=1)
    return step.graph()


def vgg_u_net(batch: int = 8) -> Graph:
    """Return a U-Net whose way down is VGG-16's, and whose classes have half the resolution."""
    step = TrainingStep("u-net-vgg", batch)
    pooled = _vgg_levels(step, step.add("image", (), (3, 416, 608), 0), (2, 2, 3, 3))
    x = step.convolution("middle", pooled[-1], 512)
    for level in (2, 1, 0):
        channels, height, width = step.shapes[x]
        x = step.add(
            f"up{level}", (x,), (channels, 2 * height, 2 * width), 4 * prod(step.shapes[x])
        )
        beside = step.shapes[pooled[level]]
        shape = (channels + beside[0], *beside[1:])
        x = step.add(f"joined{level}", (pooled[level], x), shape, prod(shape))
        x = step.convolution(f"up{level}_conv", x, 64 << level)
    step.convolution("classes", x, 21)
    return step.graph()


def fcn8(batch: int = 8) -> Graph:
    """Return FCN-8 for 21 classes, on VGG-16 and images of 416 x 608 pixels."""
    step = TrainingStep("fcn-8", batch)
    pooled = _vgg_levels(step, step.add("image", (), (3, 416, 608), 0), (2, 2, 3, 3, 3))
    x = step.convolution("wide0", pooled[-1], 4096, size=7)
    x = step.convolution("wide1", x, 4096, size=1)
    x = step.convolution("score4", x, 21, size=1)
    for level in (3, 2):
        x = _upsampled(step, f"up{level}", x, 2)
        score = step.convolution(f"score{level}", pooled[level], 21, size=1)
        x = step.add(f"sum{level}", (x, score), step.shapes[x], prod(step.shapes[x]))
    _upsampled(step, "classes", x, 8)
    return step.graph()


def segnet(batch: int = 8) -> Graph:
    """Return SegNet for 21 classes on images of 416 x 608 pixels; unpooling reads the pooling."""
    step = TrainingStep("segnet", batch)
    widths = (64, 128, 256, 512, 512)
    counts = (2, 2, 3, 3, 3)
    x = _vgg_levels(step, step.add("image", (), (3, 416, 608), 0), counts)[-1]
    for level in reversed(range(5)):
        # Where the maxima were is known from what was pooled.
        before = f"conv{level}_{counts[level] - 1}"
        shape = step.shapes[before]
        x = step.add(f"unpool{level}", (x, before), shape, prod(shape))
        below = widths[max(level - 1, 0)]
        for k in reversed(range(counts[level])):
            last = level == 0 and k == 0
            channels = 21 if last else widths[level] if k else below
            x = step.convolution(f"up{level}_{k}", x, channels)
    return step.graph()


def _vgg_levels(step: TrainingStep, source: str, counts: tuple[int, ...]) -> list[str]:
    """Add VGG's levels of so many convolutions and a pooling each; return the poolings."""
    pooled = []
    for level, count in enumerate(counts):
        for k in range(count):
            source = step.convolution(f"conv{level}_{k}", source, min(512, 64 << level))
        source = step.pool(f"pool{level}", source)
        pooled.append(source)
    return pooled


def _upsampled(step: TrainingStep, name: str, source: str, factor: int) -> str:
    """Add a transposed convolution of windows twice as wide as its stride."""
    channels, height, width = step.shapes[source]
    shape = (channels, factor * height, factor * width)
    return step.add(name, (source,), shape, 2 * 4 * channels * prod(shape))


def encoder(batch: int = 8, layers: int = 6, tokens: int = 512, hidden: int = 768) -> Graph:
    """Return an encoder with 12 heads."""
    step = TrainingStep(f"encoder-{layers}", batch)
    rows, wide = (tokens, hidden), (tokens, 4 * hidden)
    square, mixing = 2 * tokens * hidden * hidden, 2 * tokens * tokens * hidden
    x = step.add("embedding", (), rows, tokens * hidden)
    for k in range(layers):
        qkv = step.add(f"qkv{k}", (x,), (tokens, 3 * hidden), 3 * square)
        weights = step.add(f"attention{k}", (qkv,), (12, tokens, tokens), mixing)
        mixed = step.add(f"mixed{k}", (qkv, weights), rows, mixing)
        x = step.add(f"projected{k}", (mixed, x), rows, square)
        up = step.add(f"up{k}", (x,), wide, 4 * square)
        active = step.add(f"active{k}", (up,), wide, 8 * prod(wide))
        x = step.add(f"down{k}", (active, x), rows, 4 * square)
    return step.graph()


NETWORKS: dict[str, Callable[[int], Graph]] = {
    "perceptron-12": perceptron,
    "vgg-11": lambda batch: vgg(batch, 11),
    "vgg-16": vgg,
    "vgg-19": lambda batch: vgg(batch, 19),
    "mobilenet": mobilenet,
    "resnet-18": resnet18,
    "resnet-50": resnet50,
    "densenet-161": densenet161,
    "u-net": u_net,
    "u-net-vgg": vgg_u_net,
    "fcn-8": fcn8,
    "segnet": segnet,
    "encoder-2": lambda batch: encoder(batch, 2),
    "encoder-6": encoder,
    "encoder-12": lambda batch: encoder(batch, 12),
}
"""The graph of a step, by name and number of samples."""


def training_graph(network: str, batch: int = 32) -> Graph:
    """Return the graph of a network's training step; durations are numbers of operations.

    Parameters
    ----------
    network
        A name, as ``jettison generate training-graph --help`` lists them.
    batch
        Samples in a step.

    Raises
    ------
    InputError
        If there is no such network.
    """
    if network not in NETWORKS:
        raise InputError(
            f"{network[:80]!r}",
            field="network",
            expected=f"{suggestion(network, list(NETWORKS))}name one of {', '.join(NETWORKS)}",
        )
    return NETWORKS[network](batch)
