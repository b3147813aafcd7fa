"""Picture of a graph schedule with transfers: where each value is, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.picture_style import (
    BLUE,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    empty_axes,
    legend_below,
    time_unit,
)
from jettison.schedules.core.replay import Step, Transfer
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.linked_replay import LinkedReplay
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Above this many nodes their names would be too small to read; positions are shown instead.
_MOST_NAMES = 50
_LONGEST_NAME = 24
_RESIDENT = "on the device"

Spans = dict[str, list[tuple[int, int, int]]]


def residence_spans(graph: Graph, schedule: OffloadGraphSchedule, replay: LinkedReplay) -> Spans:
    """Return what is drawn, by what it is, as (row, start, end): rows are nodes.

    A value is on the device from the start of what makes or brings it to its deletion, which is
    drawn at the end of the last operation that was issued before it, or of its copy. Operations on
    nodes that do not exist are passed over.
    """
    found: Spans = {
        name: []
        for name in (_RESIDENT, "computation", "recomputation", "to the host", "from the host")
    }
    since: dict[int, int] = {}
    busy: dict[int, int] = {}
    steps, moves = list(replay.steps), list(replay.transfers)
    for operation in schedule.operations:
        node = operation.node
        if not 0 <= node < len(graph):
            continue
        if isinstance(operation, GraphOperation) and operation.kind is GraphOperationKind.FREE:
            if node in since:
                start_ns = since.pop(node)
                found[_RESIDENT].append((node, start_ns, max(busy[node], start_ns)))
            continue
        record: Step | Transfer
        if isinstance(operation, GraphOperation):
            record = steps.pop(0)
            kind = "recomputation" if record.repeated else "computation"
            for source in graph.inputs[node]:
                busy[source] = max(busy.get(source, 0), record.end_ns)
            since.setdefault(node, record.start_ns)
        else:
            record = moves.pop(0)
            kind = "to the host" if operation.is_offload else "from the host"
            if not operation.is_offload:
                since.setdefault(node, record.start_ns)
        busy[node] = max(busy.get(node, 0), record.end_ns)
        found[kind].append((node, record.start_ns, record.end_ns))
    found[_RESIDENT] += [(node, start_ns, replay.time_ns) for node, start_ns in since.items()]
    return found


def plot_residence(
    graph: Graph, schedule: OffloadGraphSchedule, replay: LinkedReplay, *, title: str
) -> Figure:
    """Draw when each value is computed, on the device, and on its way to or from the host.

    Rows are nodes in the order of the graph, from the top; time goes to the right. The schedule
    need not be valid. See `residence_spans`.
    """
    height = min(9.0, 1.6 + 0.16 * len(graph))
    axes = empty_axes(7.2, height, title)
    time = time_unit(replay.time_ns)
    handles: list[Any] = []
    for (kind, spans), (colour, bottom, thickness) in zip(
        residence_spans(graph, schedule, replay).items(),
        (
            (LIGHT_GREY, -0.4, 0.8),
            (BLUE, -0.4, 0.8),
            (ORANGE, -0.4, 0.8),
            (PURPLE, 0.05, 0.35),
            (SKY, 0.05, 0.35),
        ),
        strict=True,
    ):
        if not spans:
            continue
        handles.append(
            axes.barh(
                [row + bottom + thickness / 2 for row, _, _ in spans],
                [time.of(end_ns - start_ns) for _, start_ns, end_ns in spans],
                left=[time.of(start_ns) for _, start_ns, _ in spans],
                height=thickness,
                color=colour,
                linewidth=0,
                label=kind,
            )
        )
    axes.set_xlim(0, time.of(replay.time_ns) or 1.0)
    axes.set_ylim(len(graph) - 0.5, -0.5)
    if len(graph) <= _MOST_NAMES:
        axes.set_yticks(range(len(graph)), [node.name[:_LONGEST_NAME] for node in graph.nodes])
    axes.set_xlabel(f"time ({time.name})")
    axes.set_ylabel("value")
    legend_below(axes, handles, columns=3)
    return axes.figure.figure
