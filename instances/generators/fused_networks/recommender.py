"""A recommender like NVIDIA's DLRM (Naumov et al. 2019), with a history of events.

The paper tells 40 million parameters, "encoders, decoders, sparse embeddings" and batches of 512
and 1024, which the plain DLRM does not have. Assumed: tables of 126 000 rows of width 256. A user's
history of 96 events, each the sum of 8 rows, goes through four encoder layers with 8 heads. 26
sparse fields and one made of 13 dense numbers go through four decoder layers, which attend to
themselves and to the history. All pairs of fields interact by dot products, and three layers make
the score.
"""

from __future__ import annotations

from jettison.instances.generators.fused_networks.device import (
    NUMBER_BYTES,
    elementwise,
    product,
)
from jettison.instances.generators.fused_networks.fused_step import FusedStep, Gradient
from jettison.instances.generators.fused_networks.layers import (
    added,
    cross_entropy,
    dense,
    dropped,
    normalized,
    rectified,
)
from jettison.instances.generators.fused_networks.transformers import (
    Width,
    attention,
    encoder_layer,
    feed_forward,
)

_HIDDEN = 256
_FIELDS = 27
_EVENTS = 96


def looked_up(step: FusedStep, name: str, places: int, each: int) -> str:
    """Add an embedding lookup: each field of a sample is the sum of `each` rows of a table."""
    size_bytes = NUMBER_BYTES * step.batch * places * _HIDDEN
    kernel = elementwise((each + 1) * size_bytes)
    return step.add(name, (), size_bytes, (kernel,), (Gradient(None, (), (kernel,)),))


def interacting(step: FusedStep, source: str) -> str:
    """Add the dot products of all fields of a sample."""
    size_bytes = NUMBER_BYTES * step.batch * _FIELDS * _FIELDS
    pairs = product(_FIELDS, _HIDDEN, _FIELDS, step.batch)
    back = product(_FIELDS, _FIELDS, _HIDDEN, step.batch)
    return step.add(
        "pairs", (source,), size_bytes, (pairs,), (Gradient(source, (source,), (back, back)),)
    )


def recommender(batch: int) -> FusedStep:
    """Return the step of a recommender that predicts one click."""
    step = FusedStep(batch)
    step.parameters += 126_000 * _HIDDEN
    history = Width(tokens=_EVENTS, hidden=_HIDDEN, heads=8, inner=4 * _HIDDEN)
    fields = Width(tokens=_FIELDS, hidden=_HIDDEN, heads=8, inner=4 * _HIDDEN)
    events = looked_up(step, "events", _EVENTS, 8)
    for layer in range(4):
        events = encoder_layer(step, f"e{layer}", events, history)
    numbers = dense(step, "numbers", None, batch, 13, _HIDDEN)
    numbers = rectified(step, "numbers_r", numbers)
    sparse = looked_up(step, "sparse", _FIELDS - 1, 1)
    size_bytes = NUMBER_BYTES * batch * _FIELDS * _HIDDEN
    joined = elementwise(2 * size_bytes)
    x = step.add("joined", (numbers, sparse), size_bytes, (joined,), (), (numbers, sparse))
    for layer in range(4):
        name = f"d{layer}"
        total = dropped(step, f"{name}_sum", attention(step, name, x, fields), x)
        x = normalized(step, f"{name}_norm", total, _HIDDEN)
        out = attention(step, f"{name}_x", x, fields, events)
        total = dropped(step, f"{name}_sum2", out, x)
        x = normalized(step, f"{name}_norm2", total, _HIDDEN)
        total = added(step, f"{name}_sum3", feed_forward(step, name, x, fields), x)
        x = normalized(step, f"{name}_norm3", total, _HIDDEN)
    x = interacting(step, x)
    x = rectified(step, "top_r", dense(step, "top", x, batch, _FIELDS * _FIELDS, 1024))
    x = rectified(step, "top2_r", dense(step, "top2", x, batch, 1024, 512))
    cross_entropy(step, dense(step, "score", x, batch, 512, 2))
    return step
