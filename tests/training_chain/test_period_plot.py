"""Picture and table of training schedules."""

from __future__ import annotations

from pathlib import Path

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.period_plot import plot_period
from jettison.schedules.training_chain.stage_table import stage_table
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
)
from tests.tiny import TRAINED_LAYERS

CHAIN = TRAINED_LAYERS
PROBLEM = TrainingChain(CHAIN, "100%", "1GB/s")
STREAMED = StageChoice(saved=Way.AGAIN, away_between=True, away_after=True, update=UpdatePlace.HOST)


def test_the_picture_has_a_lane_for_each_resource_and_memory_by_kind(tmp_path: Path) -> None:
    step = PlanTimer(PROBLEM).of_plan(JointPlan((STREAMED,) * len(CHAIN)))
    assert step is not None
    verdict = step.schedule.replay(CHAIN, PROBLEM.link, PROBLEM.memory_bytes)
    figure = plot_period(verdict, title="mine")
    lanes, memory = figure.axes
    names = [label.get_text() for label in lanes.get_yticklabels()]
    assert names == ["device", "host", "to the host", "from the host"]
    assert memory.get_ylabel() == "memory (B)"
    legend = memory.get_legend()
    assert legend is not None
    words = [text.get_text() for text in legend.get_texts()]
    assert {"weights", "gradients of weights", "activations", "recomputation"} <= set(words)
    figure.savefig(tmp_path / "period.png")
    assert (tmp_path / "period.png").stat().st_size > 0


def test_the_table_says_what_moves_and_where_updates_run() -> None:
    step = PlanTimer(PROBLEM).of_plan(JointPlan((STREAMED,) * len(CHAIN)))
    assert step is not None
    table = stage_table(CHAIN, step.schedule).set_index("name")
    # The loss keeps what it saves, the stage without weights is not updated.
    assert list(table["forwards"]) == [2, 2, 2, 1]
    assert list(table["update"]) == ["host", "none", "host", "host"]
    # The weights come for the forward operation, and again for the two at the end of the step.
    assert list(table["weights_brought"]) == [2, 0, 2, 1]
    assert list(table["weights_sent"]) == [0, 0, 0, 0]
