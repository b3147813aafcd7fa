from __future__ import annotations

import math
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
    assert chain.provenance == graph.provenance


def test_nothing_is_claimed_of_a_profile_that_nobody_published() -> None:
    provenance = import_pipedream_chain(SAMPLE).provenance
    assert provenance.source == "imported"
    assert provenance.repository is provenance.device is provenance.batch is None
    assert "Model, batch and device are unknown" in str(provenance.note)


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


@pytest.mark.parametrize("indent", ["  ", "    ", "\t\t", " \t"])
def test_edges_are_indented_by_tabs_or_spaces(profile: Path, indent: str) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    assert "\n\tnode" in text
    profile.write_text(text.replace("\n\t", f"\n{indent}"), encoding="utf-8")
    for read in (import_pipedream_graph, import_pipedream_chain):
        assert read(profile).sha256 == read(SAMPLE).sha256


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


# Stages of the chain, and batch: the bytes of the input are batch x 3 x height x width x 4; a state
# of GNMT has 131072 and 524288 bytes, 1024 x 4 for each sentence.
PUBLISHED = {
    "alexnet": (22, 256),
    "vgg16": (40, 128),
    "resnet18": (24, 256),
    "resnet50": (40, 128),
    "resnet101": (74, 64),
    "resnext50": (40, 128),
    "resnext101": (74, 64),
    "densenet121": (78, 64),
    "inception_v3": (33, 128),
    "squeezenet1_0": (35, 256),
    "nasnetamobile": (7, 128),
    "nasnetalarge": (7, 16),
    "gnmt": (11, 32),
    "gnmt_large": (15, 128),
}


# The auxiliary classifier leads to no loss, so that its backward operations are left out:
# 1.471 + .423 + .053 + .034 + 2.161 + .068 + .032 + .478 ms of Inception, and so on.
AUXILIARY_US = {"inception_v3": 4_720, "nasnetalarge": 1_638, "nasnetamobile": 3_668}


@pytest.fixture(params=PUBLISHED)
def published(request: pytest.FixtureRequest, shared_data: Path) -> Path:
    path = shared_data / "pipedream" / f"{request.param}.graph.txt"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    return path


def test_a_published_profile_keeps_its_times(published: Path) -> None:
    times = 0
    for line in published.read_text(encoding="utf-8").splitlines():
        if not re.match(r"node\d+ -- Input", line):
            found = re.findall(r"compute_time=(\d+)\.(\d{3}),", line)
            times += sum(1_000_000 * int(whole) + 1_000 * int(part) for whole, part in found)
    times -= 1_000 * AUXILIARY_US.get(published.name.removesuffix(".graph.txt"), 0)
    assert import_pipedream_graph(published).base_time_ns == times
    assert import_pipedream_chain(published).base_time_ns == times


def test_a_published_profile_says_where_it_is_from_and_its_batch(published: Path) -> None:
    name = published.name.removesuffix(".graph.txt")
    stages, batch = PUBLISHED[name]
    chain, graph = import_pipedream_chain(published), import_pipedream_graph(published)
    origin = chain.provenance
    assert graph.provenance == origin
    assert (len(chain), origin.batch) == (stages, batch)
    assert origin.repository == "msr-fiddle/pipedream"
    assert str(origin.file).endswith(f"/{name}/graph.txt")
    assert (origin.licence, origin.device, origin.dtype) == ("MIT", "GPU, not named", "float32")
    assert ("auxiliary classifier" in str(origin.note)) == (name in AUXILIARY_US)
    if name.startswith("gnmt"):
        assert f"{batch * 1024 * 4}.0" in published.read_text(encoding="utf-8")
        assert f"{batch * origin.sequence * 1024 * 4}.0" in published.read_text(encoding="utf-8")
    else:
        assert chain.input_bytes == batch * math.prod(origin.input_shape) * 4
        assert origin.input_shape == (3, *(2 * (299 if name == "inception_v3" else 224,)))
    assert chain.recompute_all_peak_bytes < chain.store_all_peak_bytes


@pytest.mark.parametrize("name", ["gnmt", "resnet50", "vgg16"])
def test_where_no_gradients_meet_at_the_peak_it_is_the_same_as_chain_and_as_graph(
    name: str, shared_data: Path
) -> None:
    path = shared_data / "pipedream" / f"{name}.graph.txt"
    chain, graph = import_pipedream_chain(path), import_pipedream_graph(path)
    assert chain.store_all_peak_bytes == graph.store_all_peak_bytes


def test_a_published_profile_that_was_changed_is_no_longer_the_published_one(
    profile: Path, shared_data: Path
) -> None:
    text = (shared_data / "pipedream" / "gnmt.graph.txt").read_text(encoding="utf-8")
    profile.write_text(text.replace("3.190", "3.191"), encoding="utf-8")
    assert import_pipedream_graph(profile).provenance.repository is None


def test_the_stages_of_resnet50_end_at_its_additions_and_activations(shared_data: Path) -> None:
    chain = import_pipedream_chain(shared_data / "pipedream" / "resnet50.graph.txt")
    kinds = [stage.name.split()[1] for stage in chain.stages[4:-4]]
    # Sixteen residual blocks.
    assert kinds == 16 * ["Add", "ReLU"]
