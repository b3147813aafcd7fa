from __future__ import annotations

import re
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.importers.pipedream import import_pipedream_chain, import_pipedream_graph

# node1 (input) -> node2 -> node3 -> node4 -> node5 -> node7, node2 -> node4, node5 -> node6 (read
# by nothing), and node8, which reads nothing and takes no time, -> node7. The lines are shuffled.
SAMPLE = Path(__file__).parent / "samples" / "residual.graph.txt"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "graph.txt"


def _layer(
    name: str = "node1",
    description: str = "Linear(2, 2)",
    *,
    forward: str = "1.000",
    backward: str = "2.000",
    size: str = "4.000",
    weights: str = "0.000",
) -> str:
    return (
        f"{name} -- {description} -- forward_compute_time={forward}, "
        f"backward_compute_time={backward}, activation_size={size}, parameter_size={weights}"
    )


def test_forward_nodes_come_in_order_and_backward_nodes_in_reverse() -> None:
    graph = import_pipedream_graph(SAMPLE)
    assert graph.name == "residual"
    assert [node.name for node in graph.nodes] == [
        *("node2 Linear", "node3 ReLU", "node4 Add", "node5 LSTM", "node6 __getitem__"),
        *("node7 Linear", "loss backward", "node7 Linear backward", "node5 LSTM backward"),
        *("node4 Add backward", "node3 ReLU backward", "node2 Linear backward"),
    ]
    assert [node.backward for node in graph.nodes] == 6 * [False] + 6 * [True]


def test_a_backward_node_reads_inputs_output_and_the_backward_of_all_users() -> None:
    graph = import_pipedream_graph(SAMPLE)
    inputs = {node.name: set(node.inputs) for node in graph.nodes}
    assert inputs["node4 Add backward"] == {
        *("node2 Linear", "node3 ReLU", "node4 Add", "node5 LSTM backward")
    }
    assert inputs["node2 Linear backward"] == {
        *("node2 Linear", "node3 ReLU backward", "node4 Add backward")
    }
    # node6 leads to no output: no gradient comes from it.
    assert inputs["node5 LSTM backward"] == {"node4 Add", "node5 LSTM", "node7 Linear backward"}
    assert inputs["node7 Linear backward"] == {"node5 LSTM", "node7 Linear", "loss backward"}
    assert inputs["loss backward"] == {"node7 Linear"}


def test_a_backward_node_writes_the_gradients_of_its_inputs() -> None:
    sizes = {node.name: node.output_bytes for node in import_pipedream_graph(SAMPLE).nodes}
    # Of node2 and node3, 10 each; of node5, 6 + 2; the input of the step has no gradient.
    assert sizes["node4 Add backward"] == 20
    assert sizes["node7 Linear backward"] == 8
    assert sizes["node2 Linear backward"] == 0
    # That of the output.
    assert sizes["loss backward"] == 3


def test_sizes_in_a_list_are_added_up() -> None:
    graph = import_pipedream_graph(SAMPLE)
    assert graph.nodes[graph.position_of["node5 LSTM"]].output_bytes == 8


def test_inputs_of_the_step_are_in_memory_all_the_time_and_take_no_time() -> None:
    graph = import_pipedream_graph(SAMPLE)
    # node1 has 8 bytes and node8 4; the 17.972 ms of loading node1 do not count.
    assert {node.workspace_bytes for node in graph.nodes} == {12}
    # Forward .25 + .1 + .03 + 1.234567 + .5 ms, backward .5 + .2 + 0 + 2 + .75 ms.
    assert graph.base_time_ns == 2_114_567 + 3_450_000


def test_the_chain_is_worked_out_by_hand() -> None:
    chain = import_pipedream_chain(SAMPLE)
    assert (chain.name, chain.input_bytes) == ("residual", 12)
    assert [
        (
            *(stage.name, stage.forward_ns, stage.backward_ns, stage.output_bytes),
            *(stage.saved_bytes, stage.forward_overhead_bytes, stage.backward_overhead_bytes),
            stage.weight_bytes,
        )
        for stage in chain
    ] == [
        ("node2 Linear", 250_000, 500_000, 10, 10, 0, 0, 20),
        # node3 and node4. Forward: both outputs, one of them a. Backward of node4: both outputs
        # 20 and the gradients of node4, node3 and node2, 30; ā 20, δ 10 and 10 are counted.
        ("node4 Add", 130_000, 200_000, 10, 20, 10, 10, 0),
        # node5 and node6, whose 2 bytes are there for a moment and not saved.
        ("node5 LSTM", 1_234_567, 2_000_000, 8, 8, 2, 0, 5),
        ("node7 Linear", 500_000, 750_000, 3, 3, 0, 0, 7),
        ("loss", 0, 0, 0, 0, 0, 0, 0),
    ]


def test_chain_and_graph_take_the_same_time() -> None:
    chain, graph = import_pipedream_chain(SAMPLE), import_pipedream_graph(SAMPLE)
    assert chain.base_time_ns == graph.base_time_ns
    assert chain.provenance.source == graph.provenance.source == "pipedream"


def _write(path: Path, lines: list[str], edges: list[tuple[str, str]]) -> None:
    text = "\n".join([*lines, *(f"\t{source} -- {target}" for source, target in edges)])
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("first", [True, False])
def test_a_side_branch_that_starts_late_does_not_join_the_stages_before_it(
    profile: Path, first: bool
) -> None:
    # node5 reads nothing but an input, and only node4 reads it.
    side = _layer("node5", "Embedding(4, 4)")
    lines = [_layer("node1", "Input0"), *(_layer(f"node{number}") for number in (2, 3, 4))]
    edges = [("node1", "node5"), ("node5", "node4"), ("node1", "node2")]
    edges += [("node2", "node3"), ("node3", "node4")]
    _write(profile, [side, *lines] if first else [*lines, side], edges)
    chain = import_pipedream_chain(profile)
    assert [stage.name for stage in chain] == [
        *("node2 Linear", "node3 Linear", "node4 Linear", "loss")
    ]
    assert [stage.saved_bytes for stage in chain] == [4, 4, 8, 0]


def test_values_and_gradients_inside_a_stage_are_freed_when_they_have_been_read(
    profile: Path,
) -> None:
    # node1 (9) -> node2 (5) -> node3 (5) -> node4 (1) and node1 -> node4: one stage after node1.
    sizes = {"node1": "9", "node2": "5", "node3": "5", "node4": "1"}
    lines = [_layer(name, size=size) for name, size in sizes.items()]
    edges = [("node1", "node2"), ("node2", "node3"), ("node3", "node4"), ("node1", "node4")]
    _write(profile, lines, edges)
    stage = import_pipedream_chain(profile).stage(2)
    assert (stage.name, stage.output_bytes, stage.saved_bytes) == ("node4 Linear", 1, 11)
    # Forward: node3 beside node2, 10; then node4 beside node3, 6.
    assert stage.forward_overhead_bytes == 10 - 1
    # Backward of node4: values 11, gradients of node4, node3 and node1 15; of node3: values 10,
    # gradients of node3, node2 and node1 19. ā 11, δ 1 and the gradient of node1, 9, are counted.
    assert stage.backward_overhead_bytes == 29 - 21


def test_a_profile_called_graph_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "vgg11"
    folder.mkdir()
    (folder / "graph.txt").write_text(_layer(), encoding="utf-8")
    assert import_pipedream_graph(folder / "graph.txt").name == "vgg11"


def test_the_stage_of_a_partitioned_profile_is_ignored(profile: Path) -> None:
    profile.write_text(_layer() + " -- stage_id=3\n", encoding="utf-8")
    assert import_pipedream_graph(profile).base_time_ns == 3_000_000


def test_an_edge_that_stands_twice_counts_once(profile: Path) -> None:
    text = "\n".join([_layer("node1"), _layer("node2"), *2 * ["\tnode1 -- node2"]])
    profile.write_text(text, encoding="utf-8")
    assert import_pipedream_graph(profile).nodes[1].inputs == ("node1 Linear",)


@pytest.mark.parametrize(
    ("milliseconds", "nanoseconds"),
    # In doubles 1.001 x 10**6 is 1000999.9999999999, which int() would cut to 1000999.
    [("1.001", 1_001_000), ("0.000001", 1), ("0.0000004", 0), ("0.0000006", 1), ("7.", 7_000_000)],
)
def test_times_are_exact_and_never_cut_off(
    profile: Path, milliseconds: str, nanoseconds: int
) -> None:
    profile.write_text(_layer(forward=milliseconds), encoding="utf-8")
    assert import_pipedream_graph(profile).nodes[0].duration_ns == nanoseconds


FIRST = _layer("node1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _layer(size="-4.000"),
            "line 1: activation_size: '-4.000' is not a number; write a non-ne",
        ),
        (
            _layer(size="nan"),
            "line 1: activation_size: 'nan' is not a number; write a non-negative",
        ),
        (
            _layer(size="4.5"),
            "line 1: activation_size: '4.5' is not a whole number of bytes; write",
        ),
        (_layer(size="[4.0; x]"), "line 1: activation_size: ' x' is not a number; write"),
        (_layer(size="9" * 41), f"line 1: activation_size: '{'9' * 40}' is not a number; write"),
        (_layer(size="9" * 17), "line 1: activation_size: the value is too large; write"),
        (_layer(forward="inf"), "line 1: forward_compute_time: 'inf' is not a number; write"),
        (_layer(backward="1e3"), "line 1: backward_compute_time: '1e3' is not a number; write"),
        (FIRST.rpartition(",")[0], "line 1: 'node1 -- Linear(2, 2) -- forward_compute_time=1.000,"),
        (FIRST.replace("activation", "output"), "line 1: 'node1 -- Linear(2, 2) -- forward"),
        ("node1 -- Linear(2, 2)", "line 1: 'node1 -- Linear(2, 2)' is not a layer; write: node1"),
        (f"{FIRST}\n{FIRST}", "line 2: 'node1' stands twice; give each layer one line"),
        (f"{FIRST}\n\tnode1", "line 2: 'node1' is not an edge; write: <tab>node1 -- node2"),
        (f"{FIRST}\n\tnode1 -- node7", "line 2: 'node7' is not a layer of the profile; check that"),
        (f"{FIRST}\n\tnode1 -- node1", "line 2: the edges form a cycle: node1 -> node1; remove"),
        ("", "layers: there is no layer besides the inputs; give at least one layer"),
        (_layer(description="Input"), "layers: there is no layer besides the inputs; give"),
    ],
)
def test_a_bad_line_is_named_with_file_and_next_step(
    profile: Path, text: str, message: str
) -> None:
    profile.write_text(text, encoding="utf-8")
    for read in (import_pipedream_graph, import_pipedream_chain):
        with pytest.raises(InputError) as info:
            read(profile)
        assert str(info.value).startswith(f"{profile}: {message}")


def test_a_cycle_of_several_layers_is_spelt_out(profile: Path) -> None:
    lines = [_layer("node1"), _layer("node2"), "\tnode1 -- node2", "\tnode2 -- node1"]
    profile.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"line [34]: the edges form a cycle: node. -> node. -> "):
        import_pipedream_graph(profile)


def test_a_missing_profile_is_named(profile: Path) -> None:
    with pytest.raises(InputError, match=r"graph.txt: cannot read the file: .*; check the path"):
        import_pipedream_graph(profile)


def test_a_huge_profile_is_not_read(profile: Path) -> None:
    with profile.open("wb") as stream:
        stream.truncate(200 * 10**6)
    with pytest.raises(InputError, match=r"graph.txt: the file has more than"):
        import_pipedream_chain(profile)


PUBLISHED = {"gnmt": 11, "resnet50": 40, "vgg16": 40}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_profile_keeps_its_times(name: str, shared_data: Path) -> None:
    path = shared_data / "pipedream" / f"{name}.graph.txt"
    times = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if not re.match(r"node\d+ -- Input", line):
            found = re.findall(r"compute_time=(\d+)\.(\d{3}),", line)
            times += sum(1_000_000 * int(whole) + 1_000 * int(part) for whole, part in found)
    assert import_pipedream_graph(path).base_time_ns == times
    assert import_pipedream_chain(path).base_time_ns == times


@pytest.mark.parametrize(("name", "stages"), PUBLISHED.items())
def test_a_published_profile_has_the_same_peak_as_chain_and_as_graph(
    name: str, stages: int, shared_data: Path
) -> None:
    path = shared_data / "pipedream" / f"{name}.graph.txt"
    chain = import_pipedream_chain(path)
    assert len(chain) == stages
    assert chain.store_all_peak_bytes == import_pipedream_graph(path).store_all_peak_bytes
    assert chain.recompute_all_peak_bytes < chain.store_all_peak_bytes


def test_the_stages_of_resnet50_end_at_its_additions_and_activations(shared_data: Path) -> None:
    chain = import_pipedream_chain(shared_data / "pipedream" / "resnet50.graph.txt")
    kinds = [stage.name.split()[1] for stage in chain.stages[4:-4]]
    # Sixteen residual blocks.
    assert kinds == 16 * ["Add", "ReLU"]
