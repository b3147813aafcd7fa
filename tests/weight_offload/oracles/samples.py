"""Seeded tiny steps with offloaded weights, and steps of the brute force as schedules."""

from __future__ import annotations

import random
from collections.abc import Sequence

from jettison import Chain, WeightOffload
from jettison.remat_chain import Stage
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule
from tests.drawing.overheads import with_saving_overheads
from tests.weight_offload.oracles.brute_force import TimedStart

# A byte per 2 ns, 1 ns, and 2 bytes per ns; the last one rounds.
BANDWIDTHS = (500_000_000, 1_000_000_000, 2_000_000_000, 1_500_000_000)


def sample(
    chance: random.Random,
    layers: int,
    *,
    longest_ns: int = 4,
    most_bytes: int = 4,
    least: int = 0,
) -> WeightOffload:
    """Draw a step with times and weights from `least` up, in a memory in which it fits.

    The memory lies between the least one and the one that holds all weights, most often low.
    """
    stages = tuple(
        Stage(
            name=f"layer {number}",
            forward_ns=chance.randint(least, longest_ns),
            backward_ns=chance.randint(least, longest_ns),
            output_bytes=chance.randint(0, 1) if number < layers else 0,
            saved_bytes=chance.randint(1, 2),
            forward_overhead_bytes=chance.randint(0, 1),
            backward_overhead_bytes=chance.randint(0, 1),
            weight_bytes=chance.randint(least, most_bytes),
        )
        for number in range(1, layers + 1)
    )
    chain = Chain(
        "sample",
        chance.randint(0, 1),
        stages,
        backward_overhead_holds_gradient=chance.random() < 0.2,
    )
    chain = with_saving_overheads(chain)
    unlimited = WeightOffload(chain, 10**9, chance.choice(BANDWIDTHS))
    lowest = unlimited.cycle.least_memory_bytes
    extra = unlimited.cycle.no_offload_peak_bytes - lowest
    memory_bytes = lowest + int(extra * chance.random() ** 2)
    return WeightOffload(chain, memory_bytes, unlimited.bandwidth)


def as_schedule(period_ns: int, steps: Sequence[TimedStart]) -> CyclicSchedule:
    """Write a step that the brute force found as a schedule."""
    return CyclicSchedule(
        period_ns,
        tuple(CyclicEvent(CyclicEventKind(step.kind), step.layer, step.start_ns) for step in steps),
    )
