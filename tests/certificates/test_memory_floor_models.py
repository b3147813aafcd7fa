"""Memory that single operations need: infeasible where no schedule fits, as the instance says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jettison.certificates.errors import CertificateError
from jettison.certificates.integer_model import IntegerModel
from jettison.certificates.remat_graph.memory_floor import graph_memory_floor
from jettison.certificates.remat_sharding.memory_floor import sharded_memory_floor
from jettison.instances.remat_graph.graph import Graph, Node
from tests.drawing.graphs import tight
from tests.remat_graph.oracles.brute_force import least_memory_bytes
from tests.remat_graph.order_graphs import TWO
from tests.remat_sharding.oracles.brute_force import best_staged_plan
from tests.remat_sharding.samples import any_order
from tests.remat_sharding.tiny_sharded import LAYERS


def missing_bytes(model: IntegerModel) -> dict[str, int]:
    """Return by how much each row exceeds the memory; negative where it does not."""
    assert model.column_names == []
    return {row.name: row.right for row in model.rows}


def floor_of(graph: Graph, memory_bytes: int) -> IntegerModel:
    stated = graph_memory_floor(graph.to_json(), {"memory_bytes": memory_bytes}, {})
    assert stated.valid_for == "all schedules"
    assert stated.model.time_offset_ns == graph.base_time_ns
    return stated.model


def test_a_node_needs_its_inputs_its_output_and_its_workspace_and_the_end_what_is_kept() -> None:
    # a takes 1 byte and b takes 2. Both are kept in the second graph, where b reads a too and has a
    # workspace of 4: 1 + 2 + 4 = 7 while it runs, 3 at the end.
    assert missing_bytes(floor_of(TWO, 1)) == {"running_0": 0, "running_1": 1, "end": 0}
    kept = Graph(
        "kept",
        (
            Node(name="a", duration_ns=1, output_bytes=1, keep=True),
            Node(
                name="b",
                duration_ns=1,
                output_bytes=2,
                inputs=("a",),
                workspace_bytes=4,
                keep=True,
            ),
        ),
    )
    assert missing_bytes(floor_of(kept, 3)) == {"running_0": -2, "running_1": 4, "end": 0}


def test_the_floor_is_that_of_the_graph_and_no_schedule_of_any_kind_is_below_it() -> None:
    chance = random.Random(60)
    exact = 0
    for _ in range(60):
        graph = tight(chance, 5).instance
        most = max(missing_bytes(floor_of(graph, 0)).values())
        assert most == graph.least_peak_bound_bytes
        least = least_memory_bytes(graph)
        assert most <= least
        exact += most == least
    assert exact > 10


def test_the_floor_of_a_sharded_graph_is_its_own_and_no_plan_in_order_is_below_it() -> None:
    for problem in any_order(seed=61, count=40):
        sharded = problem.instance
        stated = sharded_memory_floor(sharded.to_json(), {"memory_bytes": 0}, {})
        assert stated.valid_for == "in-order"
        most = max(missing_bytes(stated.model).values())
        assert most == sharded.least_peak_bound_bytes
        assert best_staged_plan(sharded, most - 1) is None


def test_a_strategy_that_is_forbidden_does_not_make_an_operator_smaller() -> None:
    document: dict[str, Any] = LAYERS.to_json()
    before = sharded_memory_floor(document, {"memory_bytes": 0}, {}).model.rows[-1].right
    weight = document["operators"][1]
    assert weight["role"] == "parameter"
    smaller = {"name": "none", "compute_ns": None, "memory_bytes": 0}
    for operator in document["operators"]:
        operator["strategies"].append(smaller)
    document["resharding"] = []
    assert sharded_memory_floor(document, {"memory_bytes": 0}, {}).model.rows[-1].right == before


@pytest.mark.parametrize("build", [graph_memory_floor, sharded_memory_floor])
def test_other_options_and_resources_are_refused(build: Any) -> None:
    document = TWO.to_json() if build is graph_memory_floor else LAYERS.to_json()
    with pytest.raises(CertificateError, match="unknown field"):
        build(document, {"memory_bytes": 1}, {"cuts": [0]})
    with pytest.raises(CertificateError, match="unknown field"):
        build(document, {"memory_bytes": 1, "bytes_per_s": 1}, {})
    with pytest.raises(CertificateError, match="memory_bytes"):
        build(document, {}, {})
