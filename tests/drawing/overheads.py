"""Overheads of forward operations that save, which a stage may have of their own."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain, Stage


def saving_overhead(stage: Stage) -> int:
    """Return what a forward operation that saves takes beside its output, read from the fields."""
    given = stage.saving_overhead_bytes
    return stage.forward_overhead_bytes if given is None else given


def least_saving_overhead(output_bytes: int, saved_bytes: int, forward_overhead_bytes: int) -> int:
    """Return the least such overhead; the largest is that of a forward that does not save."""
    return max(0, output_bytes + forward_overhead_bytes - saved_bytes)


def with_saving_overheads(chain: Chain) -> Chain:
    """Return a chain with such overheads of any size on some stages, itself in most cases.

    The chain decides on them, so that what is drawn after it stays as it is.
    """
    generator = random.Random(chain.sha256)
    if generator.randrange(3):
        return chain
    return replace(chain, stages=tuple(_with_one(generator, stage) for stage in chain))


def _with_one(generator: random.Random, stage: Stage) -> Stage:
    overhead = stage.forward_overhead_bytes
    least = least_saving_overhead(stage.output_bytes, stage.saved_bytes, overhead)
    drawn = generator.choice((None, least, generator.randint(least, overhead)))
    return replace(stage, saving_overhead_bytes=drawn)
