from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jettison import Graph, InputError
from jettison.instances.importers.networkx import import_networkx_graph

SAMPLES = Path(__file__).parent / "samples"
CHECKMATE = SAMPLES / "checkmate.json"
MOCCASIN = SAMPLES / "moccasin.json"


def _read(document: object, folder: Path) -> Graph:
    path = folder / "graph.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return import_networkx_graph(path)


def _document(sample: Path = CHECKMATE) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sample.read_text(encoding="utf-8"))
    return document


def test_a_graph_of_checkmate_is_read_and_brought_into_order() -> None:
    graph = import_networkx_graph(CHECKMATE)
    assert graph.name == "tiny (MLSys)_1_(2, 2)_train"
    # The file has relu before conv and conv_backward before relu_backward, which they read.
    assert [
        (node.name, node.duration_ns, node.output_bytes, node.inputs, node.backward)
        for node in graph.nodes
    ] == [
        ("conv", 360, 16, (), False),
        ("relu", 85, 8, ("conv",), False),
        ("relu_backward", 90, 8, ("relu",), True),
        ("conv_backward", 700, 4, ("conv", "relu_backward"), True),
    ]


def test_a_graph_of_moccasin_keeps_the_order_that_it_gives() -> None:
    graph = import_networkx_graph(MOCCASIN)
    assert [
        (node.name, node.duration_ns, node.output_bytes, node.inputs) for node in graph.nodes
    ] == [
        ("0", 0, 790, ()),
        ("3", 7, 40, ("0",)),
        ("2", 5, 30, ("0",)),
        ("1", 0, 20, ("2", "3")),
    ]
    assert not any(node.backward for node in graph.nodes)


def test_no_value_is_kept_and_no_workspace_is_known() -> None:
    nodes = import_networkx_graph(CHECKMATE).nodes
    assert not any(node.keep or node.workspace_bytes for node in nodes)


def test_the_unit_of_time_is_applied_and_recorded() -> None:
    graph = import_networkx_graph(MOCCASIN, time_unit_ns=1000)
    assert [node.duration_ns for node in graph.nodes] == [0, 7000, 5000, 0]
    assert graph.provenance.source == "networkx"
    assert graph.provenance.note == "one unit of time of the file counts as 1000 ns"


@pytest.mark.parametrize("unit", [0, -1, 1.5, True])
def test_a_unit_of_time_is_a_positive_integer(unit: int) -> None:
    with pytest.raises(InputError, match=r"^time_unit_ns: .*; write"):
        import_networkx_graph(MOCCASIN, time_unit_ns=unit)


@pytest.mark.parametrize(
    ("time", "nanoseconds"),
    # int() would cut all of these down; 2.5 is halfway between 2 and 3 and goes to the even one.
    [(0.6, 1), (2.9999, 3), (2.5, 2), (3.5, 4), (0.4, 0), (7.0, 7)],
)
def test_times_are_rounded_to_the_nearest_and_never_cut_off(
    time: float, nanoseconds: int, tmp_path: Path
) -> None:
    document = _document(MOCCASIN)
    document["nodes"][2]["duration"] = time
    graph = _read(document, tmp_path)
    assert graph.nodes[graph.position_of["2"]].duration_ns == nanoseconds


def test_a_fraction_of_a_larger_unit_is_exact(tmp_path: Path) -> None:
    document = _document(MOCCASIN)
    document["nodes"][2]["duration"] = 1.001
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    graph = import_networkx_graph(path, time_unit_ns=10**6)
    # In doubles 1.001 x 10**6 is 1000999.9999999999.
    assert graph.nodes[graph.position_of["2"]].duration_ns == 1_001_000


def test_half_a_nanosecond_is_half_as_the_file_writes_it(tmp_path: Path) -> None:
    document = _document(MOCCASIN)
    # The double next to .0025 is a little larger, and would be rounded up.
    document["nodes"][2]["duration"] = 0.0025
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    graph = import_networkx_graph(path, time_unit_ns=1000)
    assert graph.nodes[graph.position_of["2"]].duration_ns == 2


def test_a_whole_size_may_be_written_as_a_fraction(tmp_path: Path) -> None:
    document = _document()
    document["nodes"][0]["cost_ram"] = 5.0
    graph = _read(document, tmp_path)
    assert graph.nodes[graph.position_of["relu"]].output_bytes == 5


def test_edges_may_be_called_edges(tmp_path: Path) -> None:
    document = _document()
    document["edges"] = document.pop("links")
    assert _read(document, tmp_path) == import_networkx_graph(CHECKMATE)


def test_parallel_edges_of_a_multigraph_count_once(tmp_path: Path) -> None:
    document = _document()
    document["multigraph"] = True
    document["links"] = [{**edge, "key": key} for edge in document["links"] for key in (0, 1)]
    assert _read(document, tmp_path) == import_networkx_graph(CHECKMATE)


def test_text_can_identify_nodes(tmp_path: Path) -> None:
    document = {
        "nodes": [
            {"id": "a", "cost_cpu": 1, "cost_ram": 2},
            {"id": "b", "cost_cpu": 3, "cost_ram": 4},
        ],
        "edges": [{"source": "a", "target": "b"}],
    }
    graph = _read(document, tmp_path)
    assert [(node.name, node.inputs) for node in graph.nodes] == [("a", ()), ("b", ("a",))]
    # Without a name of its own a graph is called after its file.
    assert graph.name == "graph"


def test_nodes_that_share_a_name_get_their_identifiers(tmp_path: Path) -> None:
    document = _document()
    for node in document["nodes"]:
        if node["name"].startswith("conv"):
            node["name"] = "conv"
    graph = _read(document, tmp_path)
    assert [node.name for node in graph.nodes] == ["conv [0]", "relu", "relu_backward", "conv [3]"]
    assert graph.nodes[3].inputs == ("conv [0]", "relu_backward")


def _set(place: list[str | int], value: object) -> Any:
    def change(document: dict[str, Any]) -> None:
        target: Any = document
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = value

    return change


def _delete(place: list[str | int]) -> Any:
    def change(document: dict[str, Any]) -> None:
        target: Any = document
        for key in place[:-1]:
            target = target[key]
        del target[place[-1]]

    return change


@pytest.mark.parametrize(
    ("sample", "change", "message"),
    [
        (CHECKMATE, _set(["nodes", 1, "cost_ram"], 5.5), "nodes[1].cost_ram: 5.5 is not a whole"),
        (CHECKMATE, _set(["nodes", 1, "cost_ram"], -1), "nodes[1].cost_ram: -1 is negative or inf"),
        (CHECKMATE, _set(["nodes", 1, "cost_ram"], "5"), "nodes[1].cost_ram: '5' is not a number"),
        (CHECKMATE, _set(["nodes", 1, "cost_ram"], True), "nodes[1].cost_ram: 'True' is not a num"),
        (CHECKMATE, _set(["nodes", 1, "cost_ram"], 2**53), "nodes[1].cost_ram: the value is too l"),
        (CHECKMATE, _set(["nodes", 1, "cost_ram"], 10**400), "nodes[1].cost_ram: the value is too"),
        (CHECKMATE, _delete(["nodes", 2, "cost_ram"]), "nodes[2].cost_ram: the field is missing"),
        (CHECKMATE, _set(["nodes", 1, "cost_cpu"], -0.5), "nodes[1].cost_cpu: -0.5 is negative"),
        (CHECKMATE, _set(["nodes", 1, "cost_cpu"], None), "nodes[1].cost_cpu: 'None' is not a num"),
        (
            CHECKMATE,
            _delete(["nodes", 0, "cost_cpu"]),
            "nodes[0]: the node has no time; give every",
        ),
        (CHECKMATE, _set(["nodes", 1, "backward"], 1), "nodes[1].backward: 1 is not true or false"),
        (CHECKMATE, _set(["nodes", 1, "id"], 1), "nodes[1].id: 1 is also the id of nodes[0]; give"),
        (CHECKMATE, _delete(["nodes", 1, "id"]), "nodes[1].id: the field is missing; write an int"),
        (CHECKMATE, _set(["nodes", 1, "id"], [0]), "nodes[1].id: '[0]' cannot identify a node"),
        (CHECKMATE, _set(["nodes", 1, "id"], False), "nodes[1].id: 'False' cannot identify a node"),
        (CHECKMATE, _set(["nodes", 1, "name"], ""), "nodes[1].name: '' cannot be a name; write"),
        (CHECKMATE, _set(["nodes"], []), "nodes: the graph is empty; give at least one node"),
        (CHECKMATE, _set(["nodes", 1], 7), "nodes[1]: the entry is not an object; give node-link"),
        (CHECKMATE, _delete(["nodes"]), "nodes: there is no list nodes; give node-link JSON"),
        (CHECKMATE, _delete(["links"]), "links: 0 of the lists links and edges are there; give"),
        (CHECKMATE, _set(["edges"], []), "links: 2 of the lists links and edges are there; give"),
        (CHECKMATE, _set(["links"], {}), "links: there is no list links; give node-link JSON"),
        (CHECKMATE, _set(["links", 3, "source"], 9), "links[3].source: 9 is not a node of the gr"),
        (CHECKMATE, _set(["links", 3, "target"], "2"), "links[3].target: '2' is not a node of the"),
        (
            CHECKMATE,
            _delete(["links", 3, "target"]),
            "links[3].target: the field is missing; write",
        ),
        (CHECKMATE, _set(["links", 0, "source"], 3), "links: the edges form a cycle: "),
        (CHECKMATE, _set(["directed"], False), "directed: the graph is not directed; give a dir"),
        (CHECKMATE, _set(["graph"], []), "graph: the value is not an object; give node-link JSON"),
        (CHECKMATE, _set(["graph", "name"], 7), "graph.name: 7 is not text; write 1 to 200"),
        (MOCCASIN, _set(["nodes", 1, "name"], 0), "nodes[1].name: 0 is also the name of nodes[0]"),
        (MOCCASIN, _delete(["nodes", 1, "name"]), "nodes[1].name: the field is missing; write an"),
        (
            MOCCASIN,
            _delete(["links", 2, "1"]),
            "links[2].1: the field is missing; write an integer",
        ),
        (MOCCASIN, _set(["graph", "order"], "0321"), "graph.order: the value is not a list; list"),
        (MOCCASIN, _set(["graph", "order", 1], 9), "graph.order[1]: 9 is not a node of the graph"),
        (MOCCASIN, _set(["graph", "order", 1], 0), "graph.order[1]: 0 stands twice; list each"),
        (MOCCASIN, _set(["graph", "order"], [0, 3, 2]), "graph.order: 1 nodes are missing; list"),
        (
            MOCCASIN,
            _set(["graph", "order"], [0, 3, 1, 2]),
            "graph.order[2]: '1' comes before '2', which it reads; list each node once",
        ),
    ],
)
def test_a_bad_field_is_named_with_file_and_next_step(
    sample: Path, change: Any, message: str, tmp_path: Path
) -> None:
    document = _document(sample)
    change(document)
    with pytest.raises(InputError) as info:
        _read(document, tmp_path)
    assert str(info.value).startswith(f"{tmp_path / 'graph.json'}: {message}")
    assert str(info.value).endswith(f"; {info.value.expected}")


@pytest.mark.parametrize("document", [[], 3, None, "text"])
def test_a_document_that_is_no_object_is_refused(document: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"document: the document is not an object; give node-l"):
        _read(document, tmp_path)


def test_a_time_that_is_not_a_number_is_refused_by_the_reader(tmp_path: Path) -> None:
    document = _document()
    document["nodes"][0]["cost_cpu"] = float("nan")
    with pytest.raises(InputError, match=r"graph.json: NaN is not a number; write a finite"):
        _read(document, tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.json: cannot read the file: .*; check the path"):
        import_networkx_graph(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("name", "nodes", "backward"),
    # Each of Checkmate's graphs has one loss, and one backward operation per layer.
    [
        ("VGG16__MLSys__256__224__224__3__train_nx", 45, 23),
        ("VGG19__MLSys__256__224__224__3__train_nx", 51, 26),
        ("vgg_unet__MLSys__32__416__608__3__train_nx", 71, 36),
        ("ResNet50__MLSys__256__224__224__3__train_nx", 353, 177),
        ("random_layered_n100_w0.27_nlv0.75_ed0.2_scd0.14", 100, 0),
        ("random_layered_n250_w0.43_nlv0.75_ed0.2_scd0.14", 250, 0),
    ],
)
def test_a_published_graph_is_read_whole(
    name: str, nodes: int, backward: int, shared_data: Path
) -> None:
    path = shared_data / "moccasin" / f"{name}.json"
    graph = import_networkx_graph(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (len(graph), sum(node.backward for node in graph.nodes)) == (nodes, backward)
    assert sum(map(len, graph.inputs)) == len(document["links"])


def test_the_published_budgets_are_shares_of_the_peak(shared_data: Path) -> None:
    # MOCCASIN's budgets for this graph, 132156 and 117472, are 90 % and 80 % of the peak of the
    # order that comes with it; those for ResNet-50, 31.9 and 28.4 GiB, as well.
    layered = "random_layered_n250_w0.43_nlv0.75_ed0.2_scd0.14.json"
    peak = import_networkx_graph(shared_data / "moccasin" / layered).store_all_peak_bytes
    assert (peak * 9, peak * 8) == (132156 * 10, 117472 * 10)
    resnet = "ResNet50__MLSys__256__224__224__3__train_nx.json"
    peak = import_networkx_graph(shared_data / "moccasin" / resnet).store_all_peak_bytes
    assert (round(peak * 9 / 2**30), round(peak * 8 / 2**30)) == (319, 284)
