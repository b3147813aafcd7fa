"""The picture of an offload schedule: what is on the device, and what only on the host."""

from __future__ import annotations

import random
from dataclasses import replace

from matplotlib.axes import Axes

from jettison import RematOffloadChain
from jettison.instances.core.link import Link
from jettison.remat_offload import OffloadSchedule
from jettison.schedules.core.picture_style import FETCHED, IN_MEMORY, ON_THE_HOST, SENT
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.grid import plot_offload_grid
from jettison.schedules.remat_offload.held_values import Held, Place, held_values
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from tests.drawing.chains import chain_of, random_chain
from tests.remat_offload.cases import LINKS
from tests.remat_offload.sequences import sequence

# Two stages and the loss: forward 10, 20 and 1 ns, and ā of 6 bytes.
CHAIN = chain_of(1, (10, 1, 6, 0, 0), (20, 1, 6, 0, 0), (1, 0, 0, 0, 0))
MOVED = "F_all 1, O_all 1, F_all 2, D_all 1, F_all 3, B 3, P_all 1, B 2, B 1"
# A byte per nanosecond: ā1 moves in 6 ns.
LINK = Link(10**9)
INPUT, SAVED_1 = Tensor(TensorKind.PLAIN, 0), Tensor(TensorKind.SAVED, 1)


def _rows(axes: Axes, label: str) -> list[tuple[float, float]]:
    found = [item for item in axes.collections if str(item.get_label()) == label]
    return [
        (path.get_extents().x0, path.get_extents().x1)
        for item in found
        for path in item.get_paths()
    ]


def test_a_value_is_on_the_device_until_its_copy_and_its_readers_have_ended() -> None:
    schedule = sequence(MOVED)
    replay = schedule.replay(CHAIN, LINK)
    assert replay.valid
    values = held_values(CHAIN, schedule.operations, replay)
    (back,) = [item for item in replay.transfers if not item.to_host]
    (last,) = [step for step in replay.steps if step.operation == "B 1"]
    # From 10 ns on; the copy ends at 16, but F_all 2 reads it until 30.
    assert [value for value in values if value.tensor == SAVED_1] == [
        Held(SAVED_1, Place.DEVICE, 10, 30),
        Held(SAVED_1, Place.DEVICE, back.start_ns, last.end_ns),
        Held(SAVED_1, Place.HOST, 16, back.end_ns),
    ]
    assert Held(INPUT, Place.DEVICE, 0, last.end_ns) in values


def test_without_transfers_all_values_are_on_the_device() -> None:
    schedule = sequence("F_all 1, F_all 2, F_all 3, B 3, B 2, B 1")
    values = held_values(CHAIN, schedule.operations, schedule.replay(CHAIN, LINK))
    assert {value.place for value in values} == {Place.DEVICE}


def test_bands_and_transfers_stand_on_the_axis_of_the_replay_in_their_colours() -> None:
    schedule = sequence(MOVED)
    replay = schedule.replay(CHAIN, LINK)
    axes = plot_offload_grid(CHAIN, schedule, replay, title="mine").axes[0]
    (away,) = _rows(axes, "$\\bar a$ on the host")
    (sent,) = _rows(axes, "to the host")
    (fetched,) = _rows(axes, "from the host")
    assert sent == (10, 16)
    assert away == (16, fetched[1])
    assert axes.get_xlim() == (0, replay.time_ns)
    assert len({IN_MEMORY, ON_THE_HOST, SENT, FETCHED}) == 4


def test_the_values_on_the_device_and_the_gradient_are_no_more_than_the_replay_has_stored() -> None:
    checked = exact = 0
    for seed in range(16):
        generator = random.Random(seed)
        drawn = random_chain(generator, generator.randint(2, 7), largest_output_bytes=10)
        # Without durations of zero a time tells which operations are over.
        chain = replace(
            drawn,
            stages=tuple(
                replace(stage, forward_ns=stage.forward_ns + 1, backward_ns=stage.backward_ns + 1)
                for stage in drawn
            ),
        )
        memory_bytes = generator.randint(
            chain.store_all_peak_bytes // 2, chain.store_all_peak_bytes
        )
        problem = RematOffloadChain(chain, memory_bytes, generator.choice(LINKS))
        result = solve_with(problem, "pofo", SolveOptions())
        if not isinstance(result.schedule, OffloadSchedule):
            continue
        replay = result.schedule.replay(chain, problem.link)
        values = held_values(chain, result.schedule.operations, replay)
        gradient = len(chain)
        for step in replay.steps:
            if step.operation.startswith("B"):
                gradient = int(step.operation.split()[1]) - 1
            # At the very end every band ends, and what is on its way counts or does not.
            is_moving = any(
                item.start_ns <= step.end_ns <= item.end_ns for item in replay.transfers
            )
            if is_moving or step.end_ns == replay.time_ns:
                continue
            stored = sum(
                value.tensor.size_bytes(chain)
                for value in values
                if value.place is Place.DEVICE and value.start_ns <= step.end_ns < value.end_ns
            )
            # A drop that is issued later may free memory sooner than the step could tell.
            assert stored + chain.gradient_bytes(gradient) <= step.after_bytes, (seed, step)
            checked += 1
            exact += stored + chain.gradient_bytes(gradient) == step.after_bytes
    assert checked > 20
    assert 2 * exact > checked
