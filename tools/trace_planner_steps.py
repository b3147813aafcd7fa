"""Write the graphs of the study of planners: a record of steps that were traced on fake tensors.

Run ``python -m tools.trace_planner_steps`` from a checkout with PyTorch; it takes two minutes. The
steps are those of `zoo.studied.steps`, traced without computing anything; durations are those of a
roofline (`fused_roofline`). The file has a line of JSON for each step: its graph, whose operators
run one by one, their durations where pointwise operators are fused, and their floating-point
operations. It is in no wheel, and to read it needs no PyTorch (`studies.recorded_steps`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
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
    operation_flops,
)
from jettison.instances.profilers.torch_graphs.graph_assembly import traced_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.zoo.studied.steps import STUDIED_STEPS, studied_step
from jettison.solvers.remat_graph.planners.backward_order import in_backward_order

_CPU_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
_ATTENTION = "_scaled_dot_product_efficient_attention"
RECORD = Path(__file__).parents[1] / "notebooks" / "_recorded" / "planners_graphs.jsonl.gz"


def line_of(name: str) -> dict[str, object]:
    """Return the line of a step."""
    alone, fused = UnfusedRoofline(), FusedRoofline()
    provenance = Provenance(
        source=alone.source,
        device=alone.assumed_device,
        device_kind="cuda",
        date=datetime.now(UTC).date().isoformat(),
        exporter=f"jettison {metadata.version('jettison')}",
        libraries={"torch": metadata.version("torch")},
        model=name,
        dtype="float32",
        note=f"{studied_step(name).words}; {alone.note}",
    )
    with FakeTensorMode():
        step, batch = studied_step(name).make()
        graph, traced = traced_graph(step, (batch,), alone, name=name, provenance=provenance)
        computing = [operation for operation in traced.operations if not operation.is_selection]
        fused_ns = {operation.name: fused.spread_ns(operation)[1] for operation in computing}
        flops = {operation.name: operation_flops(operation) for operation in computing}
    graph = in_backward_order(_with_kernels_of_a_gpu(graph)).graph
    return {
        "graph": graph.to_json(),
        "fused_durations_ns": [fused_ns.get(node.name, 0) for node in graph.nodes],
        "fused_note": f"{studied_step(name).words}; {fused.note}",
        "flops": [flops.get(node.name, 0) for node in graph.nodes],
    }


def _with_kernels_of_a_gpu(graph: Graph) -> Graph:
    """Return a graph whose attention has the name that it has on a GPU in single precision.

    Planners go by names, and torch's rules know the kernels of GPUs only.
    """
    nodes = (
        node
        if node.operator_name is None
        else replace(node, operator_name=node.operator_name.replace(_CPU_ATTENTION, _ATTENTION))
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def lines() -> Iterator[dict[str, object]]:
    """Yield the line of each step."""
    for name in STUDIED_STEPS:
        yield line_of(name)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


def main() -> None:
    """Trace all steps and write the file."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines())
    with replacing(RECORD) as file:
        file.write(packed(text.encode()))


if __name__ == "__main__":
    main()
