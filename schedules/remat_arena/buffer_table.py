"""Table of the buffers of an addressed schedule: a row for each."""

from __future__ import annotations

import pandas as pd

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_arena.buffers import buffers_of
from jettison.schedules.remat_arena.schedule import AddressedSchedule


def table_of_buffers(graph: Graph, schedule: AddressedSchedule) -> pd.DataFrame:
    """Return node, kind, size, address and life of each buffer, by computation.

    `from_computation` and `to_computation` count computations from 0; the latter is the last one
    during which the buffer is in memory.
    """
    computed = schedule.without_addresses.computations
    return pd.DataFrame(
        [
            {
                "node": graph.nodes[computed[buffer.computation]].name,
                "buffer": "workspace" if buffer.is_workspace else "value",
                "size_bytes": buffer.size_bytes,
                "offset_bytes": schedule.offset_of(buffer),
                "from_computation": buffer.start,
                "to_computation": buffer.end - 1,
            }
            for buffer in buffers_of(graph, schedule.operations)
        ],
        columns=[
            "node",
            "buffer",
            "size_bytes",
            "offset_bytes",
            "from_computation",
            "to_computation",
        ],
    )
