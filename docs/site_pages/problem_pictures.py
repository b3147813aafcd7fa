"""Pictures of the problems: one schedule of each, of a bundled instance, drawn when pages are made.

Each problem has a sentence that says what one sees. A problem that is not listed here, one of
another distribution say, has no picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jettison as jt
from jettison.instances.core.instance import Instance
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.schedules.core.picture_file import save_figure
from jettison.solvers.core.answers.summary import picture_title
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.resources import Resources


@dataclass(frozen=True, kw_only=True)
class Example:
    """Example of a problem.

    Attributes
    ----------
    instance, resources, method
        What is solved; it takes less than a second or two. An instance that is not bundled is
        drawn by its generator.
    is_grid
        Whether the grid is drawn, in place of memory over time.
    shows
        A sentence on what one sees.
    """

    instance: str
    resources: dict[str, Any] = field(default_factory=dict)
    method: str
    is_grid: bool = False
    shows: str


EXAMPLES = {
    "remat-chain": Example(
        instance="resnet50-b64-224-h200",
        resources={"alpha": "0.2"},
        method="rotor-exact",
        is_grid=True,
        shows="A step of ResNet-50: each box is a stage that runs, forward, again or backward, and "
        "grey is what waits in memory until its backward pass.",
    ),
    "remat-offload-chain": Example(
        instance="gpt2-small-b1-256-cpu",
        resources={"memory": "60%", "bandwidth": "2GB/s"},
        method="pofo",
        is_grid=True,
        shows="A step of GPT-2: what waits longest is copied to the host, and comes back in time "
        "for its backward pass.",
    ),
    "weight-offload": Example(
        instance="gpt2-38-b16-table1",
        resources={"memory": "20%", "bandwidth": "12GB/s"},
        method="greedy",
        shows="One step of GPT-2, which repeats: weights leave the device after their backward "
        "pass and return before they are needed, while others are computed with.",
    ),
    "training-chain": Example(
        instance="opt-350m-b1-2080-adam",
        resources={"memory": "4GiB", "bandwidth": "12GB/s"},
        method="zero-offload",
        shows="One step of OPT-350M with Adam, which repeats: what runs on the device and on the "
        "host, what moves, and how the memory is shared.",
    ),
    "remat-graph": Example(
        instance="alexnet-graph-b256-gpu",
        resources={"memory": "75%"},
        method="exact",
        is_grid=True,
        shows="A step of AlexNet: each row is a stage of the step, and says which values are "
        "computed in it, computed again, or kept.",
    ),
    "remat-offload-graph": Example(
        instance="gpt2-tiny-graph-b4-64-cpu",
        resources={"memory": "60%", "bandwidth": "2GB/s"},
        method="greedy",
        shows="A step of a small GPT-2: values leave for the host during the forward pass, and "
        "come back before the backward operators that read them.",
    ),
    "remat-arena": Example(
        instance="gpt2-tiny-graph-b4-64-cpu",
        resources={"memory": "80%"},
        method="replan",
        is_grid=True,
        shows="A step of a small GPT-2 in one block of memory: each rectangle is a value or a "
        "workspace, at its address for as long as it lives.",
    ),
    "remat-sharding": Example(
        instance="mlp-26-mesh2x4",
        resources={"memory": "60%"},
        method="alpa-recompute-all",
        is_grid=True,
        shows="A step of a perceptron on eight devices: how each operator is sharded, where the "
        "time goes, and what is computed again.",
    ),
    "sharding": Example(
        instance="strategy graph of 120 nodes",
        method="exact",
        shows="A generated graph of 120 operators: memory in use over time with one strategy for "
        "each, and the operators that cost most.",
    ),
    "multi-model": Example(
        instance="bert-x8",
        resources={"memory": "20GiB"},
        method="mu-two",
        shows="A step of eight models: two sub-arrays take turns, so that one computes while "
        "feature maps of the other are away.",
    ),
    "pipeline-chain": Example(
        instance="opt-350m-b4-v100-16",
        resources={"memory": "8GiB", "bandwidth": "12GB/s", "devices": 4, "microbatches": 8},
        method="equal-time",
        shows="A step of OPT-350M on four devices: each computes its stages for one micro-batch "
        "after the other, above the memory that it uses.",
    ),
}
# Instances that are not bundled.
GENERATED: dict[str, Callable[[], Instance]] = {
    "sharding": lambda: StrategyGraphs(nodes=120).draw(0)
}


def write(folder: Path) -> None:
    """Solve and draw all examples."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, example in EXAMPLES.items():
        draw(name, example, folder / f"{name}.png")


def draw(name: str, example: Example, path: Path) -> None:
    """Solve an example, and draw its schedule."""
    given = Resources(**{"memory": None, **example.resources})
    instance = GENERATED[name]() if name in GENERATED else jt.load(example.instance)
    problem = pose_problem(name, instance, given)
    result = jt.solve(problem, method=example.method)
    kind = kind_of(problem)
    if example.is_grid and kind.grid is not None and result.schedule is not None:
        figure = kind.grid(problem, result.schedule, picture_title(result))
    else:
        figure = result.plot()
    save_figure(figure, path)


def shown(name: str) -> str:
    """Return the picture of a problem with its sentence, for a page beside it; or nothing."""
    example = EXAMPLES.get(name)
    if example is None:
        return ""
    options = f"   :alt: {example.shows}\n   :width: 100%\n   :class: on-white\n"
    return f".. figure:: {name}.png\n{options}\n   {example.shows}\n"
