"""The checkpointing diagram: a box per operation, a band per value in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from jettison import Chain
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.core.picture_style import AGAIN, FORWARD, tint
from jettison.schedules.remat_chain.grid import Stored, plot_chain_grid, stored_values
from jettison.solvers.remat_chain.baselines import (
    periodic_schedule,
    recompute_all_schedule,
    store_all_schedule,
)
from tests.drawing.chains import chain_of, chains
from tests.remat_chain.sequences import sequence
from tests.tiny import CHAINS, LOSS_ONLY, UNIFORM

LABELS = {
    ChainOperationKind.FORWARD_ALL: "$F_{all}$",
    ChainOperationKind.FORWARD_CHECKPOINT: "$F_{ck}$",
    ChainOperationKind.FORWARD_NONE: "$F_\\emptyset$",
    ChainOperationKind.BACKWARD: "$B$",
}


def boxes(axes: Axes, label: str) -> list[tuple[float, float, float]]:
    """Return start, end and row of each box; none where there is no such label."""
    found = [item for item in axes.collections if str(item.get_label()).startswith(label)]
    if not found:
        return []
    (drawn,) = found
    extents = [path.get_extents() for path in drawn.get_paths()]
    return [(box.x0, box.x1, (box.y0 + box.y1) / 2) for box in extents]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_every_operation_is_a_box_in_the_row_of_its_stage(chain: Chain) -> None:
    schedule = recompute_all_schedule(chain)
    replay = schedule.replay(chain)
    axes = plot_chain_grid(chain, schedule, title="mine").axes[0]
    for kind, label in LABELS.items():
        for again in (False, True):
            assert boxes(axes, f"again: {label}" if again else label) == [
                (step.start_ns, step.end_ns, operation.stage)
                for operation, step in zip(schedule.operations, replay.steps, strict=True)
                if operation.kind is kind
                and again == (step.repeated and kind is not ChainOperationKind.BACKWARD)
            ]


def test_what_runs_again_is_orange_and_what_runs_first_is_blue() -> None:
    axes = plot_chain_grid(UNIFORM, recompute_all_schedule(UNIFORM), title="mine").axes[0]
    shown = {
        str(item.get_label()): to_hex(item.get_facecolor()[0]).upper()
        for item in axes.collections
        if isinstance(item, PolyCollection)
    }
    saved = "$F_{all}$: forward, saves all"
    assert shown[f"again: {saved}"] == AGAIN
    assert shown[saved] == FORWARD
    kept = "$F_{ck}$: forward, keeps its input"
    assert shown[kept] == tint(FORWARD, 0.45)


def test_the_bands_are_the_values_in_memory() -> None:
    schedule = periodic_schedule(UNIFORM, 2)
    axes = plot_chain_grid(UNIFORM, schedule, title="mine").axes[0]
    for saved, label in ((True, "$\\bar a$"), (False, "$a$")):
        assert boxes(axes, label) == [
            (value.start_ns, value.end_ns, value.number)
            for value in stored_values(UNIFORM, schedule)
            if value.saved == saved
        ]


def test_a_drop_is_a_line_where_the_band_of_its_value_ends() -> None:
    # F_ck 1 and F_all 2 take 10 and 20 ns; then a^1 goes.
    chain = chain_of(1, (10, 1, 6, 0, 0), (20, 1, 6, 0, 0), (1, 0, 0, 0, 0))
    text = "F_ck 1, F_all 2, D 1, F_all 3, B 3, F_all 1, B 2, B 1"
    schedule = sequence(text)
    axes = plot_chain_grid(chain, schedule, title="mine").axes[0]
    assert boxes(axes, "$D$") == [(30, 30, 1)]
    assert (10, 30, 1) in boxes(axes, "$a$")
    without = plot_chain_grid(chain, store_all_schedule(chain), title="mine").axes[0]
    assert not [item for item in without.collections if str(item.get_label()).startswith("$D$")]


def test_what_is_in_memory_when_a_loss_runs_alone() -> None:
    # Forward for 2 ns, backward for 3 ns: a-bar from the end of the one to the end of the other,
    # the input from the start.
    assert stored_values(LOSS_ONLY, store_all_schedule(LOSS_ONLY)) == (
        Stored(number=1, saved=True, start_ns=2, end_ns=5),
        Stored(number=0, saved=False, start_ns=0, end_ns=5),
    )


@given(st.data())
def test_the_values_and_the_gradient_are_what_the_replay_has_stored(data: st.DataObject) -> None:
    drawn = data.draw(chains())
    # Without durations of zero a time tells which operations are over.
    chain = replace(
        drawn,
        stages=tuple(
            replace(stage, forward_ns=stage.forward_ns + 1, backward_ns=stage.backward_ns + 1)
            for stage in drawn
        ),
    )
    operation = st.builds(
        ChainOperation, st.sampled_from(ChainOperationKind), st.integers(0, len(chain) + 1)
    )
    schedule = ChainSchedule(tuple(data.draw(st.lists(operation, max_size=12))))
    values = stored_values(chain, schedule)
    gradient = len(chain)
    replay = schedule.replay(chain)
    last_at = {step.end_ns: step for step in replay.steps}
    for done, step in zip(schedule.operations, replay.steps, strict=True):
        exists = 1 <= done.stage <= len(chain)
        if done.kind is ChainOperationKind.BACKWARD and exists:
            gradient = done.stage - 1
        if step.end_ns == replay.time_ns:
            # At the very end every band ends.
            break
        if step is not last_at[step.end_ns]:
            # What a drop frees at the same time is gone already.
            continue
        stored = sum(
            chain.stage(value.number).saved_bytes
            if value.saved
            else chain.activation_bytes(value.number)
            for value in values
            if value.start_ns <= step.end_ns < value.end_ns
        )
        assert stored + chain.gradient_bytes(gradient) == step.after_bytes


def test_operations_on_stages_that_do_not_exist_are_passed_over() -> None:
    schedule = ChainSchedule((ChainOperation(ChainOperationKind.FORWARD_ALL, 9),))
    figure = plot_chain_grid(LOSS_ONLY, schedule, title="nothing")
    figure.draw_without_rendering()
    assert boxes(figure.axes[0], LABELS[ChainOperationKind.FORWARD_ALL]) == []
    assert figure.axes[0].get_xlim() == (0, 1)


def test_every_stage_and_the_input_have_a_row() -> None:
    figure = plot_chain_grid(UNIFORM, store_all_schedule(UNIFORM), title="mine")
    low, high = figure.axes[0].get_ylim()
    assert low < 0
    assert high > len(UNIFORM)
