"""Claims of RR-9302 that no method rests on: what holds of them, and a chain where one does not."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from jettison import Chain, load
from jettison.instances.catalog import bundled_instances
from jettison.remat_chain import Stage
from jettison.solvers.remat_chain.baselines import chen_sqrt_schedule, periodic_schedule
from tests.drawing.chains import chain_of, random_chain
from tests.remat_chain.oracles.brute_force import fastest_in, persistent_front, table_1_front
from tests.remat_chain.oracles.drops_brute_force import trade_off_with_drops

# Of longer chains all numbers of segments take long, and the last test holds for every length.
LONGEST = 80
GPU_CHAINS = [
    entry.name
    for entry in bundled_instances()
    if entry.kind == "chain" and entry.device_kind == "cuda" and entry.size <= LONGEST
]


def chain_of_one_size(generator: random.Random, *, gradients: int | None) -> Chain:
    """Draw a chain of outputs of 2 bytes, of any times, without overheads."""
    count = generator.choice((2, 3, 3, 4, 4, 4, 4, 5))
    stages = [
        Stage(
            name=f"stage {number}",
            forward_ns=generator.randint(0, 9),
            backward_ns=generator.randint(0, 9),
            output_bytes=2,
            saved_bytes=2 + generator.choice((0, 0, 2, generator.randint(0, 5))),
            output_gradient_bytes=gradients,
        )
        for number in range(1, count)
    ]
    loss = Stage(
        name="loss",
        forward_ns=generator.randint(0, 9),
        backward_ns=generator.randint(0, 9),
        output_bytes=0,
        saved_bytes=generator.randint(0, 5),
    )
    return Chain("one size", generator.choice((0, 2)), (*stages, loss))


# Section 4.1: with activations of one size all optimal schedules are persistent.


@pytest.mark.parametrize("gradients", [None, 0])
def test_with_one_size_of_activations_no_sequence_is_faster_than_the_persistent_ones(
    gradients: int | None,
) -> None:
    generator = random.Random(41)
    delayed = 0
    for _ in range(120):
        chain = chain_of_one_size(generator, gradients=gradients)
        persistent, table_1 = persistent_front(chain), table_1_front(chain)
        # The same time in every memory: persistence costs neither.
        assert persistent == table_1, chain
        delayed += len(persistent) > 1
    assert delayed > 60


def test_with_one_size_and_overheads_persistence_costs_memory() -> None:
    # Stages of 1 ns and 1 byte, the loss without a size; overheads of 2 in F 2, 3 in F 3, 1 in B 3.
    # In 5 bytes F 3 has no room for a^1 beside a^2, and F_all 2 none for the gradient of a^2, which
    # B 3 makes. So a^2 is read, saved with that, and given up before B 3, for stages 1 and 2:
    # F_ck 1, F_none 2, F_all 3, F_none 3, F_all 1, F_all 2, B 3, B 2, B 1.
    chain = chain_of(1, (1, 1, 1, 0, 0), (1, 1, 1, 2, 0), (1, 0, 0, 3, 1))
    assert fastest_in(persistent_front(chain), 5) is None
    assert fastest_in(table_1_front(chain), 5) == chain.base_time_ns + 3


def test_with_one_size_a_drop_is_faster_all_the_same() -> None:
    # Four stages of 1 ns and 1 byte each way, the loss without a size, in 4 bytes. Two of the
    # forwards run again without drops, and one with: F_ck 1, F_all 2, D 1, F_all 3, F_all 4, B 4,
    # B 3, F_all 1, B 2, B 1.
    chain = chain_of(0, (1, 1, 1, 0, 0), (1, 1, 1, 0, 0), (1, 1, 1, 0, 0), (1, 0, 0, 0, 0))
    base_ns = chain.base_time_ns
    assert fastest_in(persistent_front(chain), 4) == base_ns + 2
    assert fastest_in(table_1_front(chain), 4) == base_ns + 2
    assert fastest_in(trade_off_with_drops(chain), 4) == base_ns + 1


# Section 5.3: the square root of L segments are best for sequential where all stages are equal.


def equal_stages(layers: int, saved_bytes: int) -> Chain:
    stages = [
        Stage(
            name=f"layer {number}",
            forward_ns=1,
            backward_ns=2,
            output_bytes=1,
            saved_bytes=saved_bytes,
        )
        for number in range(1, layers + 1)
    ]
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0)
    return Chain("equal", 0, (*stages, loss))


def peaks(chain: Chain) -> dict[int, int]:
    """Return the peak of each number of segments."""
    counts = range(1, len(chain))
    return {count: periodic_schedule(chain, count).replay(chain).peak_bytes for count in counts}


def least(found: dict[int, int]) -> Sequence[int]:
    return [count for count, peak in found.items() if peak == min(found.values())]


def test_the_root_of_the_length_takes_least_memory_where_outputs_are_all_that_is_saved() -> None:
    for root in range(2, 9):
        assert least(peaks(equal_stages(root**2, 1))) == [root]
    for layers in range(2, 40):
        chain = equal_stages(layers, 1)
        # Segments whose lengths differ by one at most never take more than those of the report,
        # of which the last one holds what is left over.
        chen_bytes = chen_sqrt_schedule(chain).replay(chain).peak_bytes
        assert chen_bytes <= min(peaks(chain).values()), layers


@pytest.mark.parametrize(("layers", "best"), [(16, 8), (64, 16), (100, 20)])
def test_where_stages_save_more_than_outputs_more_segments_are_best(layers: int, best: int) -> None:
    # Four times as much is saved as put out: s segments of L / s stages take about
    # s + 4 L / s bytes, which is least for twice the root.
    chain = equal_stages(layers, 4)
    assert least(peaks(chain)) == [best] == [2 * math.isqrt(layers)]


# Section 5.4: the best throughput of sequential is that of 2 segments.


def never_faster_than_two_segments(chain: Chain) -> None:
    # To replay each number takes long on long chains: all up to 12, and every fifth above.
    counts = [*range(1, min(len(chain), 13)), *range(13, len(chain), 5)]
    times = {count: periodic_schedule(chain, count).replay(chain).time_ns for count in counts}
    assert times[1] == chain.base_time_ns
    assert times[2] == min(times[count] for count in times if count > 1), chain.name


@pytest.mark.parametrize("name", GPU_CHAINS)
def test_on_no_chain_of_a_gpu_do_more_segments_take_less_time_than_two(name: str) -> None:
    chain = load(name)
    assert isinstance(chain, Chain)
    never_faster_than_two_segments(chain)


def test_on_no_chain_do_more_segments_take_less_time_than_two() -> None:
    # With s segments all before the last one is recomputed, (s - 1) q stages where L = q s + r and
    # r < s. Half of L is at most (q s + s - 1) / 2 <= (s - 1) q + 1 / 2, as q is at least 1; so the
    # last segment is never longer than that of 2.
    for layers in range(2, 120):
        starts = [(count - 1) * (layers // count) for count in range(2, layers + 1)]
        assert min(starts) == starts[0] == layers // 2
    generator = random.Random(54)
    for _ in range(100):
        never_faster_than_two_segments(random_chain(generator, generator.randint(3, 14)))
