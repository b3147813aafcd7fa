"""MobileNet v3 large (Howard et al. 2019) on images of 224 x 224 pixels."""

from __future__ import annotations

from collections.abc import Callable

from jettison.instances.generators.fused_networks.device import elementwise
from jettison.instances.generators.fused_networks.fused_step import FusedStep, Gradient
from jettison.instances.generators.fused_networks.layers import (
    Shape,
    activated,
    added,
    convolution,
    cross_entropy,
    dense,
    dropped,
    normalized,
    pooled,
    rectified,
)

_Activation = Callable[[FusedStep, str, str], str]

# Window, inner channels, channels, squeezed and excited, activation, stride: its Table 1.
_BLOCKS: tuple[tuple[int, int, int, bool, _Activation, int], ...] = (
    (3, 16, 16, False, rectified, 1),
    (3, 64, 24, False, rectified, 2),
    (3, 72, 24, False, rectified, 1),
    (5, 72, 40, True, rectified, 2),
    (5, 120, 40, True, rectified, 1),
    (5, 120, 40, True, rectified, 1),
    (3, 240, 80, False, activated, 2),
    (3, 200, 80, False, activated, 1),
    (3, 184, 80, False, activated, 1),
    (3, 184, 80, False, activated, 1),
    (3, 480, 112, True, activated, 1),
    (3, 672, 112, True, activated, 1),
    (5, 672, 160, True, activated, 2),
    (5, 960, 160, True, activated, 1),
    (5, 960, 160, True, activated, 1),
)


def excited(step: FusedStep, name: str, source: str, shape: Shape) -> str:
    """Add squeeze and excitation: two small layers of all channel means scale every channel."""
    channels = shape[0]
    # A quarter of the channels, to a multiple of eight that is not less by more than a tenth.
    inner = max(8, (channels // 4 + 4) // 8 * 8)
    if 10 * inner < 9 * (channels // 4):
        inner += 8
    x = pooled(step, f"{name}_mean", source, step.batch * channels)
    x = rectified(step, f"{name}_er", dense(step, f"{name}_e1", x, step.batch, channels, inner))
    x = activated(step, f"{name}_es", dense(step, f"{name}_e2", x, step.batch, inner, channels))
    size_bytes = step.size_bytes[source]
    return step.add(
        f"{name}_scaled",
        (source, x),
        size_bytes,
        (elementwise(2 * size_bytes),),
        (
            Gradient(source, (x,), (elementwise(2 * size_bytes),)),
            Gradient(x, (source,), (elementwise(2 * size_bytes),)),
        ),
    )


def mobilenet_v3(batch: int) -> FusedStep:
    """Return the step of MobileNet v3 large that classifies images."""
    step = FusedStep(batch)
    shape = convolution(step, "stem", None, (3, 224, 224), 16, window=3, stride=2)
    x = activated(step, "stem_a", normalized(step, "stem_n", "stem", 16))
    for number, (window, inner, channels, excites, activation, stride) in enumerate(_BLOCKS):
        name, before, source = f"m{number}", shape, x
        if inner != before[0]:
            shape = convolution(step, f"{name}_c1", x, shape, inner)
            x = activation(step, f"{name}_a1", normalized(step, f"{name}_n1", f"{name}_c1", inner))
        shape = convolution(
            step, f"{name}_c2", x, shape, inner, window=window, stride=stride, groups=inner
        )
        x = activation(step, f"{name}_a2", normalized(step, f"{name}_n2", f"{name}_c2", inner))
        if excites:
            x = excited(step, name, x, shape)
        shape = convolution(step, f"{name}_c3", x, shape, channels)
        x = normalized(step, f"{name}_n3", f"{name}_c3", channels)
        if shape == before:
            x = added(step, f"{name}_sum", x, source)
    shape = convolution(step, "last", x, shape, 960)
    x = activated(step, "last_a", normalized(step, "last_n", "last", 960))
    x = pooled(step, "mean", x, batch * 960)
    x = activated(step, "wide_a", dense(step, "wide", x, batch, 960, 1280))
    x = dropped(step, "dropped", x)
    cross_entropy(step, dense(step, "classes", x, batch, 1280, 1000))
    return step
