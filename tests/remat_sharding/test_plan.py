"""Shares of the time of a plan: a table, and a picture of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.colors import to_hex

from jettison import ShardedGraph
from jettison.remat_sharding import Operator, Role, ShardedSchedule, Strategy
from jettison.schedules.core.picture_style import AGAIN, FORWARD
from jettison.schedules.remat_sharding.plan_plot import plot_sharded_plan
from jettison.schedules.remat_sharding.plan_table import plan_table, planned_operators
from tests.remat_sharding.tiny_sharded import TWO_LAYERS

# As in test_sharded_schedule: a1 is gathered for h2 and for g2, and h2 is computed again for b1.
STRATEGIES = (1, 0, 0, 1, 1, 0, 0, 0, 0)
PLAN = ShardedSchedule.from_computations(TWO_LAYERS, STRATEGIES, (0, 1, 2, 3, 4, 5, 6, 5, 7, 8))


def test_the_rows_say_what_is_recomputed_and_where_the_time_goes() -> None:
    rows = {row.operator: row for row in planned_operators(TWO_LAYERS, PLAN)}
    h2 = rows["h2"]
    assert (h2.strategy, h2.computations, h2.memory_bytes) == ("a", 2, 6)
    # Twice 8 ns, and twice 3 ns for a1.
    assert (h2.compute_ns, h2.communication_ns, h2.resharding_ns) == (16, 0, 6)
    assert [row.computations for row in rows.values()] == [1, 1, 1, 1, 1, 2, 1, 1, 1]


def test_the_times_add_up_to_the_replay() -> None:
    table = plan_table(TWO_LAYERS, PLAN)
    parts = table[["compute_ns", "communication_ns", "resharding_ns"]]
    assert int(parts.to_numpy().sum()) == PLAN.replay(TWO_LAYERS).time_ns == 54


def test_the_picture_has_a_bar_for_each_operator_that_takes_time() -> None:
    figure = plot_sharded_plan(TWO_LAYERS, PLAN, title="two $layers$")
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["h1", "a1", "h2", "g2", "b1", "g1"]
    assert "a, 2 times" in [text.get_text() for text in axes.texts]
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert sum(widths) == pytest.approx(54)


def test_what_is_computed_again_is_orange_beside_its_first_computation() -> None:
    (axes,) = plot_sharded_plan(TWO_LAYERS, PLAN, title="mine").axes
    drawn = {
        colour: [
            float(patch.get_width())  # type: ignore[attr-defined]
            for patch in axes.patches
            if to_hex(patch.get_facecolor()).upper() == colour
        ]
        for colour in (FORWARD, AGAIN)
    }
    # Only h2, the third bar, is computed twice, in 8 ns each.
    assert drawn[AGAIN] == [0, 0, 8, 0, 0, 0]
    assert drawn[FORWARD][2] == 8
    legend = axes.get_legend()
    assert legend is not None
    assert any(item.get_text().startswith("computing again") for item in legend.get_texts())


def test_of_a_large_graph_the_longest_operators_are_drawn() -> None:
    operators = tuple(
        Operator(
            name=f"o{place}",
            role=Role.FORWARD,
            strategies=(Strategy(name="a", compute_ns=place, memory_bytes=1),),
        )
        for place in range(100)
    )
    graph = ShardedGraph("large", operators)
    plan = ShardedSchedule.from_computations(graph, [0] * 100, range(100))
    (axes,) = plot_sharded_plan(graph, plan, title="large").axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"o{place}" for place in range(52, 100)]
    assert any("51 shorter ones not drawn" in text.get_text() for text in axes.texts)


def test_a_plan_without_time_has_a_picture() -> None:
    operator = Operator(
        name="x",
        role=Role.INPUT,
        strategies=(Strategy(name="a", compute_ns=0, memory_bytes=1),),
    )
    graph = ShardedGraph("nothing", (operator,))
    plan = ShardedSchedule.from_computations(graph, (0,), (0,))
    (axes,) = plot_sharded_plan(graph, replace(plan), title="nothing").axes
    assert not axes.patches
