"""Write the graphs of the study of planners: a record of steps that were traced on fake tensors.

Run ``python -m tools.trace_planner_steps`` from a checkout with PyTorch; it takes two minutes. The
steps are those of `zoo.studied.steps`, traced without computing anything; durations are those of a
roofline (`fused_roofline`). The file has a line of JSON for each step: its graph, whose operators
run one by one, and their durations where pointwise operators are fused. It is in no wheel, and to
read it needs no PyTorch (`studies.recorded_steps`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from torch._subclasses.fake_tensor import FakeTensorMode

from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.compressed import packed
from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.torch_graphs.fused_roofline import (
    FusedRoofline,
    UnfusedRoofline,
)
from jettison.instances.profilers.torch_graphs.graph_assembly import traced_graph
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.zoo.studied.steps import STUDIED_STEPS, studied_step

RECORD = Path(__file__).parents[1] / "notebooks" / "_recorded" / "planners_graphs.jsonl.gz"


def traced(name: str, cost: OperatorCost) -> Graph:
    """Return the graph of a step of the study, with durations of a source."""
    provenance = Provenance(
        source=cost.source,
        device=cost.assumed_device,
        device_kind="cuda",
        date=datetime.now(UTC).date().isoformat(),
        exporter=f"jettison {metadata.version('jettison')}",
        libraries={"torch": metadata.version("torch")},
        model=name,
        dtype="float32",
        note=f"{studied_step(name).words}; {cost.note}",
    )
    with FakeTensorMode():
        step, batch = studied_step(name).make()
        return traced_graph(step, (batch,), cost, name=name, provenance=provenance)[0]


def lines() -> Iterator[dict[str, object]]:
    """Yield the line of each step."""
    for name in STUDIED_STEPS:
        graph, fused = traced(name, UnfusedRoofline()), traced(name, FusedRoofline())
        yield {
            "graph": graph.to_json(),
            "fused_durations_ns": [node.duration_ns for node in fused.nodes],
            "fused_note": fused.provenance.note,
        }
        sys.stdout.write(f"{name} {len(graph)}\n")


def main() -> None:
    """Trace all steps and write the file."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines())
    with replacing(RECORD) as file:
        file.write(packed(text.encode()))


if __name__ == "__main__":
    main()
