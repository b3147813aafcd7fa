"""Picture of a pipeline: a row for each device, with its phases and its memory."""

from __future__ import annotations

from jettison import PipelineChain, solve
from jettison.schedules.pipeline_chain.step_replay import PipelineReplay
from jettison.solvers.core.registry import kind_of
from tests.tiny import UNEVEN


def test_every_device_has_a_row_and_every_kind_of_work_a_colour() -> None:
    problem = PipelineChain(UNEVEN, 60, 2, 3, "1GB/s")
    replay = solve(problem).replay
    assert isinstance(replay, PipelineReplay)
    (axes,) = kind_of(problem).picture(replay, "mine").axes
    labels = [text.get_text().split("\n")[0] for text in axes.get_yticklabels()]
    assert labels == ["device 2", "device 1"]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "forward",
        "backward",
        "computed again",
        "waiting to send",
        "sending",
        "memory",
        "limit",
    ]
    # Micro-batches are few, so that each phase has its number.
    numbers = [text.get_text() for text in axes.texts]
    assert sorted(numbers) == sorted("123" * 4)
