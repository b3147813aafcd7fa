"""Sharded graphs from SuperScaler's profiles of one and of two devices."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import jettison as jt
from jettison import InputError, ShardedGraph, load
from jettison.instances.importers.superscaler import import_superscaler
from jettison.instances.importers.superscaler_mesh.collective_times import read_collective_times
from jettison.instances.importers.superscaler_mesh.mesh_graph import import_superscaler_mesh
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.operator import Operator
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from tests.cli.terminal import Terminal

# The hidden state has 1 MiB, queries, keys and values 1 each, the scores 4. Times are in
# microseconds: an all-reduce of 1 takes 8, of 3 takes 20; gathering parts of 0.5 takes 3, of 1.5
# takes 6.
SAMPLES = Path(__file__).parent / "samples" / "mesh"
ONE = "tiny_mbs1_tp1_algo0.csv"
MIB = 2**20


def imported(layers: int = 1) -> ShardedGraph:
    return import_superscaler_mesh(SAMPLES / ONE, devices=2, layers=layers)


def named(graph: ShardedGraph, name: str) -> Operator:
    return graph.operators[graph.position_of[name]]


def strategies(graph: ShardedGraph, name: str) -> list[tuple[str, int | None, int, float]]:
    return [
        (each.name, each.compute_ns, each.communication_ns, each.memory_bytes / MIB)
        for each in named(graph, name).strategies
    ]


def table(graph: ShardedGraph, source: str, target: str) -> object:
    return graph.tables[graph.position_of[source], graph.position_of[target]]


def test_strategies_hold_what_was_measured_with_its_collective() -> None:
    graph = imported()
    assert strategies(graph, "enc-attention-qkv 1") == [
        ("whole", 30_000, 0, 3),
        ("column", 16_000, 0, 1.5),
        # 40 in all, of which 20 are the all-reduce of queries, keys and values.
        ("row", 20_000, 20_000, 3),
    ]
    # The gradient of the normalised state: all of it, added up (50 with the 8 of it), or a part.
    assert strategies(graph, "enc-attention-qkv 1 backward") == [
        ("whole", 60_000, 0, 1),
        ("column", 42_000, 8_000, 1),
        ("row", 34_000, 0, 0.5),
    ]
    assert strategies(graph, "enc-attention-dense 1") == [
        ("whole", 10_000, 0, 1),
        ("row", 12_000, 8_000, 1),
    ]
    assert strategies(graph, "encoder-embedding")[1] == ("vocabulary", 22_000, 8_000, 2)
    # The scores' gradient is that of queries and keys; that of the values comes beside it.
    assert strategies(graph, "enc-attention-score 1 backward")[1] == ("heads", 40_000, 0, 1)
    assert strategies(graph, "enc-attention-context 1 values gradient")[1] == ("heads", 0, 0, 0.5)


def test_what_is_split_and_read_as_a_whole_is_gathered() -> None:
    graph = imported()
    # Of three parts of 0.5 the scores read two: between 3 for 0.5 and 6 for 1.5.
    qkv = ((0, 0), (4_500, 0), (0, 0))
    assert table(graph, "enc-attention-qkv 1", "enc-attention-score 1") == qkv
    assert table(graph, "enc-attention-qkv 1", "enc-attention-score 1 backward") == qkv
    context = ((0, 0), (3_000, 0), (0, 0))
    assert table(graph, "enc-attention-qkv 1", "enc-attention-context 1") == context
    # Back, the parts of the heads are gathered where queries, keys and values were whole.
    back = ((0, 0, 0), (4_500, 0, 4_500))
    name = "enc-attention-qkv 1 backward"
    assert table(graph, "enc-attention-score 1 backward", name) == back
    assert table(graph, "enc-attention-context 1 values gradient", name) == (
        (0, 0, 0),
        (3_000, 0, 3_000),
    )
    # Parts of what is whole cost nothing.
    pair = ("enc-1st-layernorm 1", "enc-attention-qkv 1")
    assert tuple(map(graph.position_of.__getitem__, pair)) not in graph.tables


def test_operators_read_what_training_reads() -> None:
    graph = imported(2)
    assert named(graph, "enc-post-attention-dropout 2").inputs == (
        "enc-attention-dense 2",
        "enc-post-MLP-dropout 1",
    )
    # The mask of the dropout, and the gradient of the hidden state, which the next norm makes.
    assert named(graph, "enc-post-attention-dropout 2 backward").inputs == (
        "enc-post-attention-dropout 2",
        "enc-2nd-layernorm 2 backward",
    )
    # To the gradient of what it reads, the normalisation adds that which comes past it.
    assert named(graph, "enc-1st-layernorm 2 backward").inputs == (
        "enc-post-MLP-dropout 1",
        "enc-1st-layernorm 2",
        "enc-attention-qkv 2 backward",
        "enc-2nd-layernorm 2 backward",
    )
    assert named(graph, "enc-attention-qkv 1").follows == "enc-attention-qkv 1 weight"
    kept = [operator.name for operator in graph.operators if operator.keep]
    # The embedding, the end, and four products in each of two layers have weights.
    assert len(kept) == len(graph.parameters) == 2 + 4 * 2
    assert all(name.endswith("weight gradient") for name in kept)


def test_whole_operators_take_the_time_of_one_device() -> None:
    graph = imported(3)
    whole = with_strategies(graph, [0] * len(graph))
    assert whole.base_time_ns == import_superscaler(SAMPLES / ONE, layers=3).base_time_ns


def test_the_fastest_plan_is_that_of_megatron() -> None:
    graph = with_fastest(imported(2))
    chosen = {
        operator.name: operator.strategies[place].name
        for operator, place in zip(graph.operators, graph.fastest, strict=True)
    }
    assert chosen["enc-attention-qkv 2"] == "column"
    assert chosen["enc-attention-context 2"] == "heads"
    assert chosen["enc-MLP-GEMM-2 1"] == "row"
    # The sum of the profile of two devices, where a layer stands once: 213 + 377, and the layer
    # (131 + 230) again; of the embedding the whole one is chosen, 10 + 20 in place of 30 + 25.
    layer_us = (1 + 16 + 20 + 3 + 4 + 10 + 20 + 1 + 1 + 21 + 2 + 30 + 1) + (
        2 + 50 + 40 + 3 + 4 + 20 + 12 + 1 + 2 + 50 + 4 + 41 + 1
    )
    # Splitting the dense layer takes 20 + 12 in place of 10 + 20 and a gathering of 3.
    around_us = (10 + 1 + 52) + (20 + 2 + 120)
    assert with_strategies(graph, graph.fastest).base_time_ns == 1000 * (2 * layer_us + around_us)


def test_a_plan_is_found_in_less_memory_than_the_fastest_needs() -> None:
    graph = with_fastest(imported(1))
    peak = with_strategies(graph, graph.fastest).store_all_peak_bytes
    result = jt.solve(jt.RematSharding(graph, peak * 9 // 10))
    assert result.schedule is not None
    assert result.time_ns is not None
    assert graph.base_time_ns <= result.time_ns


@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize("model", ["1.3b", "6.7b"])
def test_bundled_graphs_are_measured_throughout(model: str, devices: int) -> None:
    graph = load(f"gpt3-{model}-b1-v100-mesh1x{devices}")
    assert isinstance(graph, ShardedGraph)
    assert graph.mesh == (1, devices)
    names = {operator.operation: operator for operator in graph.operators}
    chosen = {
        row: names[row].strategies[graph.fastest[graph.position_of[names[row].name]]].name
        for row in ("enc-attention-qkv", "enc-attention-dense", "enc-MLP-GEMM-1", "enc-MLP-GEMM-2")
    }
    assert list(chosen.values()) == ["column", "row", "column", "row"]


def _copies(folder: Path) -> Path:
    shutil.copytree(SAMPLES, folder / "mesh")
    return folder / "mesh"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "tiny_mbs1_tp2_algo0.csv",
            "enc-MLP-gelu,2.000",
            "enc-MLP-gelu,10000000.000",
            "tp2_algo0.csv: line 13: forward-compute: 10000000.000 stands for a run that failed",
        ),
        (
            "prim_tiny_all_reduce_2gpus.csv",
            "3,0.020",
            "3,1000000000.000",
            "all_reduce_2gpus.csv: data_size(MB): 3145728 bytes are sent, and of that size no run",
        ),
        (
            "prim_tiny_all_gather_2gpus.csv",
            "data_size(MB)",
            "size",
            "all_gather_2gpus.csv: line 1: the header differs",
        ),
        ("prim_tiny_all_gather_2gpus.csv", "1.5,", "2,", "line 4: '2' stands twice"),
        (
            "tiny_mbs1_tp2_algo1.csv",
            "enc-MLP-gelu",
            "dec-MLP-gelu",
            "algo1.csv: op_name: 'dec-MLP-gelu' is not an operator of a GPT",
        ),
        (
            ONE,
            "40.000,80.000,4.000,6.000",
            "40.000,80.000,4.000,1.500",
            "output_size: 1572864 bytes are less than what bypasses the operator",
        ),
    ],
)
def test_failed_runs_and_tables_that_do_not_fit_are_refused(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    folder = _copies(tmp_path)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        import_superscaler_mesh(folder / ONE, devices=2, layers=1)
    assert message in str(caught.value)


def test_other_profiles_missing_files_and_an_unknown_depth_are_refused(tmp_path: Path) -> None:
    folder = _copies(tmp_path)
    with pytest.raises(InputError, match="is not the profile for one device"):
        import_superscaler_mesh(folder / "tiny_mbs1_tp2_algo0.csv", devices=2, layers=1)
    with pytest.raises(InputError, match=r"tp4_algo0\.csv: cannot read the file"):
        import_superscaler_mesh(folder / ONE, devices=4, layers=1)
    with pytest.raises(InputError, match=r"layers: the profile has one layer.*--layers 24"):
        import_superscaler_mesh(folder / ONE, devices=2)


def test_sizes_between_two_that_were_measured_take_a_time_between(tmp_path: Path) -> None:
    times = read_collective_times(SAMPLES / "prim_tiny_all_reduce_2gpus.csv")
    # 8 at 1, 20 at 3: 14 at 2; less than 1 takes 8.
    assert [times.time_ns(size * MIB // 2) for size in (1, 2, 4, 6)] == [8000, 8000, 14000, 20000]
    with pytest.raises(InputError, match="of that size no run succeeded"):
        times.time_ns(100 * MIB)


def test_the_command_makes_a_sharded_graph_of_a_mesh_of_one_dimension(terminal: Terminal) -> None:
    words = ("import", "superscaler", str(SAMPLES / ONE), "--layers", "2", "-o", "out.json")
    code, _, err = terminal.run(*words, "--mesh", "1x2")
    assert code == 0
    assert "sharded-graph tiny-b1-mesh1x2" in err
    code, _, err = terminal.run(*words, "--mesh", "2x2")
    assert code == 2
    assert "mesh: '2x2'; write 1x2, 1x4 or 1x8, say" in err
