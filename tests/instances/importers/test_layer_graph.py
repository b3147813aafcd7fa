from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.importers.layer_graph import import_layer_graph, import_layer_graph_chain
from jettison.instances.importers.pipedream import import_pipedream_chain
from jettison.instances.remat_chain.chain import Chain

# Layers 1 (an input: 4 bytes, 8.5 ms of loading) -> 2 -> 3 -> 4 and 2 -> 4; their backward nodes
# are 5 to 8. Values of 10, 10 and 3 bytes; parameters of 20, 0 and 7.
SAMPLE = Path(__file__).parent / "samples" / "layer-graph.json"


def test_forward_nodes_come_in_order_and_backward_nodes_in_reverse() -> None:
    graph = import_layer_graph(SAMPLE)
    assert graph.name == "layer-graph"
    assert [
        (node.name, node.duration_ns, node.output_bytes, set(node.inputs)) for node in graph.nodes
    ] == [
        ("node2", 250_000, 10, set()),
        ("node3", 100_000, 10, {"node2"}),
        ("node4", 500_000, 3, {"node2", "node3"}),
        # The gradients of what is read: of the output, of nodes 2 and 3, of node 2, of nothing.
        ("loss backward", 0, 3, {"node4"}),
        ("node4 backward", 750_000, 20, {"node2", "node3", "node4", "loss backward"}),
        ("node3 backward", 200_000, 10, {"node2", "node3", "node4 backward"}),
        ("node2 backward", 500_000, 0, {"node2", "node3 backward", "node4 backward"}),
    ]
    assert {node.workspace_bytes for node in graph.nodes} == {4}


def test_the_chain_is_worked_out_by_hand() -> None:
    chain = import_layer_graph_chain(SAMPLE)
    assert chain.input_bytes == 4
    assert [_numbers(chain, number) for number in (1, 2, 3)] == [
        (250_000, 500_000, 10, 10, 0, 0, 20),
        # Nodes 3 and 4. Forward: both values, 13, of which 3 are the output. Backward of node 4:
        # values 13, gradients of nodes 4, 3 and 2, 23; saved 13, 3 and 10 are counted anyway.
        (600_000, 950_000, 3, 13, 10, 10, 7),
        (0, 0, 0, 0, 0, 0, 0),
    ]


def _numbers(chain: Chain, number: int) -> tuple[int, ...]:
    stage = chain.stage(number)
    return (
        *(stage.forward_ns, stage.backward_ns, stage.output_bytes, stage.saved_bytes),
        *(stage.forward_overhead_bytes, stage.backward_overhead_bytes, stage.weight_bytes),
    )


def test_nothing_is_claimed_of_a_graph_that_nobody_published() -> None:
    provenance = import_layer_graph(SAMPLE).provenance
    assert provenance.source == "imported"
    assert provenance.repository is provenance.device is provenance.batch is None


def _set(*path: str | int, to: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return change


def _drop(*path: str | int) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


def _without_backward(document: Any) -> None:
    document["nodes"] = document["nodes"][::2]
    document["edges"] = document["edges"][:4]


def _across(document: Any) -> None:
    document["edges"].append({"sourceId": 4, "destId": 8, "size": 3.0})


def _reversed_backward(document: Any) -> None:
    # As gradients go: from layer 4 to layer 3.
    document["edges"][6] = {"sourceId": 8, "destId": 7, "size": 10.0}


def _cycle(document: Any) -> None:
    document["edges"].append({"sourceId": 3, "destId": 2, "size": 10.0})
    document["edges"].append({"sourceId": 7, "destId": 6, "size": 10.0})


def _lonely(document: Any) -> None:
    node = {"fpgaLatency": 1.0, "colorClass": 9, "size": 1.0}
    document["nodes"] += [
        {**node, "id": 9, "isBackwardNode": 0},
        {**node, "id": 10, "isBackwardNode": 1},
    ]


def _a_layer_that_reads_itself(document: Any) -> None:
    document["nodes"] = document["nodes"][2:4]
    document["edges"] = [
        {"sourceId": 1, "destId": 1, "size": 4.0},
        {"sourceId": 5, "destId": 5, "size": 4.0},
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_drop("nodes"), "nodes: there is no list nodes; give a layer graph: an object with the"),
        (_set("edges", to={}), "edges: there is no list edges; give a layer graph"),
        (_set("nodes", 2, to=7), "nodes[2]: the entry is not an object; give a layer graph"),
        (_set("nodes", to=[]), "edges[0].sourceId: '1' is not a node of the graph; write the id"),
        (_drop("nodes", 0, "size"), "nodes[0].size: the field is missing; write a number"),
        (_drop("nodes", 0, "colorClass"), "nodes[0].colorClass: the field is missing; write a"),
        (_drop("edges", 3, "size"), "edges[3].size: the field is missing; write a number"),
        (_set("nodes", 0, "id", to=3.0), "nodes[0].id: '3.0' is not a whole number; write a"),
        (_set("nodes", 0, "id", to=7), "nodes[1].id: 7 stands twice; give every node its own id"),
        (_set("nodes", 0, "isBackwardNode", to="no"), "nodes[0].isBackwardNode: 'no' is not true"),
        (
            _set("nodes", 0, "fpgaLatency", to=-1.0),
            "nodes[0].fpgaLatency: -1.0 is negative or infinite; write a non-negative number",
        ),
        (_set("nodes", 0, "size", to=9.5), "nodes[0].size: 9.5 is not a whole number of bytes"),
        (_set("edges", 0, "destId", to=77), "edges[0].destId: '77' is not a node of the graph"),
        # Files of inference, and of operators: what is ten times a GPU's time is no measurement.
        (
            _without_backward,
            "nodes[0].colorClass: class 3 has 1 forward and 0 backward nodes; give a training",
        ),
        (
            _set("nodes", 2, "colorClass", to=3),
            "nodes[0].colorClass: class 3 has 2 forward and 1 backward nodes; give a training",
        ),
        (_across, "edges[8]: the edge joins a forward and a backward node; give a graph of layers"),
        (
            _reversed_backward,
            "edges[2]: layer 3 to 4: there is no such edge between backward nodes; give the same",
        ),
        (
            _drop("edges", 2),
            "edges[5]: layer 3 to 4: there is no such edge between forward nodes; give the same",
        ),
        (
            _set("edges", 3, "size", to=11.0),
            "edges[3].size: 11 for the value of node 2, 10 in edges[1]; give every value one size",
        ),
        # The value of layer 4, which only edges between backward nodes give.
        (
            _set("edges", 7, "size", to=5.0),
            "edges[7].size: 5 for the value of node 4, 3 in edges[6]; give every value one size",
        ),
        (
            _set("nodes", 7, "size", to=12.0),
            "nodes[7].size: 12, where nodes[6] has 10; give both nodes of a layer the size",
        ),
        (_lonely, "nodes[8]: no edge has the size of its value; give every node an edge"),
        (_cycle, "edges[8]: the edges form a cycle: 3 -> 2 -> 3; remove one of these"),
        (
            _a_layer_that_reads_itself,
            "edges[0]: the edges form a cycle: 1 -> 1; remove one of these",
        ),
    ],
)
def test_what_is_no_layer_graph_is_refused_with_file_field_and_next_step(
    change: Callable[[Any], None], message: str, tmp_path: Path
) -> None:
    document = json.loads(SAMPLE.read_text(encoding="utf-8"))
    change(document)
    path = tmp_path / "layers.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    for read in (import_layer_graph, import_layer_graph_chain):
        with pytest.raises(InputError) as info:
            read(path)
        assert str(info.value).startswith(f"{path}: {message}")


def test_a_node_that_is_smaller_than_its_value_is_refused(tmp_path: Path) -> None:
    document = json.loads(SAMPLE.read_text(encoding="utf-8"))
    for place in (6, 7):
        document["nodes"][place]["size"] = 2.0
    path = tmp_path / "layers.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as info:
        import_layer_graph(path)
    assert str(info.value).startswith(f"{path}: nodes[6].size: 2 is less than its value, 3; write")


# Stages, operations (two for each layer but the inputs, and the gradient of the output), time and
# batch: 77070336 / (3 x 224 x 224 x 4) bytes and so on.
PUBLISHED = {
    "bert24": (28, 2 * 29, 217_813_000, 2),
    "gnmt": (15, 169, 520_453_000, 128),
    "inceptionv3": (33, 651, 689_038_000, 128),
    "resnet50": (40, 353, 443_419_000, 128),
}


@pytest.mark.parametrize(("name", "expected"), PUBLISHED.items())
def test_a_published_layer_graph_is_what_it_is_known_for(
    name: str, expected: tuple[int, int, int, int], shared_data: Path
) -> None:
    path = shared_data / "dnn-partitioning" / f"LayerGraphs_{name}_training.json"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    chain, graph = import_layer_graph_chain(path), import_layer_graph(path)
    origin = chain.provenance
    assert (len(chain), len(graph), chain.base_time_ns, origin.batch) == expected
    assert graph.base_time_ns == chain.base_time_ns
    assert graph.provenance == origin
    assert origin.repository == "msr-fiddle/dnn-partitioning"
    assert origin.file == f"throughput-inputs/LayerGraphs/{name}_training.json"
    assert (origin.licence, origin.device, origin.dtype) == ("MIT", "GPU, not named", "float32")
    if origin.input_shape:
        assert chain.input_bytes == 128 * math.prod(origin.input_shape) * 4


@pytest.mark.parametrize(("name", "same"), [("resnet50", "resnet50"), ("gnmt", "gnmt_large")])
def test_a_layer_graph_of_a_network_that_pipedream_profiled_has_its_numbers(
    name: str, same: str, shared_data: Path
) -> None:
    profile = shared_data / "pipedream" / f"{same}.graph.txt"
    layers = shared_data / "dnn-partitioning" / f"LayerGraphs_{name}_training.json"
    if not (profile.is_file() and layers.is_file()):
        pytest.skip(f"there is no {profile} or no {layers}")
    ours, theirs = import_layer_graph_chain(layers), import_pipedream_chain(profile)
    assert ours.input_bytes == theirs.input_bytes
    numbers = range(1, len(theirs) + 1)
    assert [_numbers(ours, number) for number in numbers] == [
        _numbers(theirs, number) for number in numbers
    ]
