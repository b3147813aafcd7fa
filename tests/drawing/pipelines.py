"""Random pipelines that are small enough to enumerate."""

from __future__ import annotations

import random

from jettison.instances.core.link import Link
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain, Stage
from tests.drawing.overheads import with_saving_overheads


def drawn_pipeline(
    seed: int, *, most_stages: int = 5, gradients_up_to: int | None = None
) -> PipelineChain:
    """Draw a chain with weights, two or three devices, and a memory that is often scarce.

    No gradient is larger than its output, unless a size says how large it may be.
    """
    draw = random.Random(seed)
    count = draw.randint(3, most_stages)
    stages = []
    for number in range(1, count + 1):
        output = 0 if number == count else draw.randint(0, 6)
        most = output if gradients_up_to is None or number == count else gradients_up_to
        gradient = draw.choice([None, draw.randint(0, most)])
        stages.append(
            Stage(
                name=f"stage {number}",
                forward_ns=draw.randint(0, 9),
                backward_ns=draw.randint(0, 12),
                output_bytes=output,
                saved_bytes=output + draw.randint(0, 8),
                forward_overhead_bytes=draw.choice([0, 0, draw.randint(0, 6)]),
                backward_overhead_bytes=draw.choice([0, 0, draw.randint(0, 6)]),
                weight_bytes=draw.choice([0, draw.randint(0, 5)]),
                output_gradient_bytes=gradient,
            )
        )
    chain = Chain(
        f"drawn {seed}",
        draw.randint(0, 6),
        tuple(stages),
        backward_overhead_holds_gradient=draw.random() < 0.3,
    )
    chain = with_saving_overheads(chain)
    return PipelineChain(
        chain,
        draw.randint(8, 70),
        draw.randint(2, min(3, count)),
        draw.randint(1, 6),
        draw.choice([None, Link(draw.choice([500_000_000, 1_000_000_000, 3_000_000_000]))]),
        draw.choice([0, 1, 2]),
    )
