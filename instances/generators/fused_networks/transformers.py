"""BERT, GPT-2 and a Vision Transformer, in single precision with dropout.

Sources: Devlin et al. 2019 (BERT-base, 512 tokens), Radford et al. 2019 (GPT-2 small, 1024 tokens),
Dosovitskiy et al. 2021. Attention is not fused: scores, probabilities and their dropout are tensors
of tokens x tokens for each head, as in the frameworks of the time. Of the Vision Transformer the
paper tells 60 million parameters. Assumed: six layers of width 1024 with 16 heads, an inner width
of 2560, and images of 512 x 512 pixels in patches of 16: four models of batch 8 exceed 40 GB, as in
its Figure 3c.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.generators.fused_networks.device import (
    NUMBER_BYTES,
    elementwise,
    product,
)
from jettison.instances.generators.fused_networks.fused_step import FusedStep, Gradient
from jettison.instances.generators.fused_networks.layers import (
    activated,
    cross_entropy,
    dense,
    dropped,
    normalized,
)


@dataclass(frozen=True, slots=True)
class Width:
    """Sizes of a transformer: tokens in a sequence, hidden size, heads, and inner width."""

    tokens: int
    hidden: int
    heads: int
    inner: int


def attention(
    step: FusedStep, name: str, source: str, width: Width, memory: str | None = None
) -> str:
    """Add attention with its output layer: to `memory` if given (cross), else to itself.

    With a memory, `width.tokens` is the number of tokens of the source; that of the memory follows
    from its size.
    """
    rows = step.batch * width.tokens
    hidden, heads = width.hidden, width.heads
    one = hidden // heads
    if memory is None:
        queries = keys = dense(step, f"{name}_qkv", source, rows, hidden, 3 * hidden)
        others = width.tokens
    else:
        others = step.size_bytes[memory] // (NUMBER_BYTES * step.batch * hidden)
        queries = dense(step, f"{name}_q", source, rows, hidden, hidden)
        keys = dense(step, f"{name}_kv", memory, step.batch * others, hidden, 2 * hidden)
    count = step.batch * heads
    values_bytes = NUMBER_BYTES * step.batch * others * hidden
    queries_bytes = NUMBER_BYTES * rows * hidden
    into_queries = product(width.tokens, others, one, count)
    into_others = product(others, width.tokens, one, count)
    if queries == keys:
        back: tuple[Gradient, ...] = (
            Gradient(
                queries, (queries,), (into_queries, into_others), queries_bytes + values_bytes
            ),
        )
    else:
        back = (
            Gradient(queries, (keys,), (into_queries,), queries_bytes),
            Gradient(keys, (queries,), (into_others,), values_bytes),
        )
    square_bytes = NUMBER_BYTES * count * width.tokens * others
    scores = step.add(
        f"{name}_scores",
        (queries,) if queries == keys else (queries, keys),
        square_bytes,
        (product(width.tokens, one, others, count),),
        back,
    )
    softmax = f"{name}_softmax"
    step.add(
        softmax,
        (scores,),
        square_bytes,
        # Scaled and masked on the way.
        (elementwise(2 * square_bytes), elementwise(2 * square_bytes)),
        (Gradient(scores, (softmax,), (elementwise(3 * square_bytes),)),),
    )
    kept = dropped(step, f"{name}_kept", softmax)
    mixed = step.add(
        f"{name}_mixed",
        (kept, keys),
        queries_bytes,
        (product(width.tokens, others, one, count),),
        (
            Gradient(kept, (keys,), (product(width.tokens, one, others, count),)),
            Gradient(keys, (kept,), (into_others,), values_bytes),
        ),
    )
    return dense(step, f"{name}_out", mixed, rows, hidden, hidden)


def feed_forward(step: FusedStep, name: str, source: str, width: Width) -> str:
    """Add two layers with an activation between them."""
    rows = step.batch * width.tokens
    up = dense(step, f"{name}_up", source, rows, width.hidden, width.inner)
    active = activated(step, f"{name}_gelu", up)
    return dense(step, f"{name}_down", active, rows, width.inner, width.hidden)


def embedded(step: FusedStep, name: str, tables: int, width: Width) -> str:
    """Add the sum of token and position embeddings, whose tables have `tables` rows together."""
    step.parameters += tables * width.hidden
    size_bytes = NUMBER_BYTES * step.batch * width.tokens * width.hidden
    moved_bytes = 2 * size_bytes
    weights = Gradient(None, (), (elementwise(moved_bytes),))
    return step.add(name, (), size_bytes, (elementwise(moved_bytes),), (weights,))


def encoder_layer(step: FusedStep, name: str, source: str, width: Width) -> str:
    """Add a layer of BERT: normalised after each sum."""
    out = attention(step, name, source, width)
    total = dropped(step, f"{name}_sum", out, source)
    middle = normalized(step, f"{name}_norm", total, width.hidden)
    out = feed_forward(step, name, middle, width)
    total = dropped(step, f"{name}_sum2", out, middle)
    return normalized(step, f"{name}_norm2", total, width.hidden)


def decoder_layer(step: FusedStep, name: str, source: str, width: Width) -> str:
    """Add a layer of GPT-2 or of a Vision Transformer: normalised before each part."""
    norm = normalized(step, f"{name}_norm", source, width.hidden)
    source = dropped(step, f"{name}_sum", attention(step, name, norm, width), source)
    norm = normalized(step, f"{name}_norm2", source, width.hidden)
    return dropped(step, f"{name}_sum2", feed_forward(step, name, norm, width), source)


def bert(batch: int) -> FusedStep:
    """Return the step of BERT-base that predicts the next sentence from the first token."""
    step = FusedStep(batch)
    width = Width(tokens=512, hidden=768, heads=12, inner=3072)
    x = embedded(step, "embedding", 30522 + 512 + 2, width)
    x = normalized(step, "norm", x, 768)
    x = dropped(step, "dropped", x)
    for layer in range(12):
        x = encoder_layer(step, f"l{layer}", x, width)
    first = NUMBER_BYTES * batch * 768
    # Its gradient is that of the whole value: zeros but for the first token.
    whole = elementwise(step.size_bytes[x])
    x = step.add("first", (x,), first, (elementwise(2 * first),), (Gradient(x, (), (whole,)),))
    x = activated(step, "tanh", dense(step, "pooler", x, batch, 768, 768))
    cross_entropy(step, dense(step, "classes", x, batch, 768, 2))
    return step


def gpt2(batch: int) -> FusedStep:
    """Return the step of GPT-2 small that predicts every next token; the head shares its table."""
    step = FusedStep(batch)
    width = Width(tokens=1024, hidden=768, heads=12, inner=3072)
    x = embedded(step, "embedding", 1024, width)
    x = dropped(step, "dropped", x)
    for layer in range(12):
        x = decoder_layer(step, f"l{layer}", x, width)
    x = normalized(step, "norm", x, 768)
    scores = dense(step, "head", x, batch * 1024, 768, 50257)
    # The head has no bias.
    step.parameters -= 50257
    cross_entropy(step, scores)
    return step


def vision_transformer(batch: int) -> FusedStep:
    """Return the step of a Vision Transformer of 60 million parameters that classifies images."""
    step = FusedStep(batch)
    width = Width(tokens=1025, hidden=1024, heads=16, inner=2560)
    step.parameters += 1025 * 1024
    patches = dense(step, "patches", None, batch * 1025, 3 * 16 * 16, 1024)
    x = dropped(step, "dropped", patches)
    for layer in range(6):
        x = decoder_layer(step, f"l{layer}", x, width)
    first = NUMBER_BYTES * batch * 1024
    whole = elementwise(step.size_bytes[x])
    x = step.add("first", (x,), first, (elementwise(2 * first),), (Gradient(x, (), (whole,)),))
    x = normalized(step, "norm", x, 1024)
    cross_entropy(step, dense(step, "classes", x, batch, 1024, 1000))
    return step
