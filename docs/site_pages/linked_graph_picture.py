"""Picture of a small graph with a link: where each value of its fastest schedule is, over time."""

from __future__ import annotations

from pathlib import Path

import jettison as jt
from jettison.remat_graph import Node
from jettison.schedules.remat_offload_graph.residence_chart import plot_residence
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule

MEMORY_BYTES = 16_000_000
BANDWIDTH = "3GB/s"


def six_layers() -> jt.Graph:
    """Return a step of six layers, of which each backward reads its input and what it saved."""
    nodes = [Node(name="batch", duration_ns=0, output_bytes=4_000_000, again=False)]
    for layer, (size, time) in enumerate(((4, 1), (4, 2), (4, 2), (3, 1), (2, 2), (2, 1)), start=1):
        below = nodes[-1].name
        nodes.append(
            Node(
                name=f"layer {layer}",
                duration_ns=time * 1_000_000,
                output_bytes=size * 1_000_000,
                inputs=(below,),
            )
        )
    above: tuple[str, ...] = ()
    for layer in range(6, 0, -1):
        forward, below = nodes[layer], nodes[layer - 1]
        nodes.append(
            Node(
                name=f"backward {layer}",
                duration_ns=2 * forward.duration_ns,
                output_bytes=below.output_bytes,
                inputs=(forward.name, below.name, *above),
                backward=True,
            )
        )
        above = (nodes[-1].name,)
    return jt.Graph("six layers", tuple(nodes))


def write(folder: Path) -> None:
    """Draw the picture."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    problem = jt.RematOffloadGraph(six_layers(), MEMORY_BYTES, BANDWIDTH)
    result = jt.solve(problem, method="anneal", time_limit=None)
    assert isinstance(result.schedule, OffloadGraphSchedule)
    replay = result.schedule.replay(problem.instance, problem.link, problem.memory_bytes)
    # Without a salt of its own a file would differ from build to build.
    with matplotlib.rc_context({"svg.hashsalt": "jettison", "svg.fonttype": "none"}):
        figure = plot_residence(
            problem.instance, result.schedule, replay, title="Six layers in 16 MB, 3 GB/s"
        )
        figure.savefig(folder / "linked-graph.svg", metadata={"Date": None})
