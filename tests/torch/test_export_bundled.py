from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jettison import Chain, Graph, InputError, MultiModel, ShardedGraph, load
from jettison.instances.profilers.device.processor_name import short_device_name
from jettison.instances.profilers.settings import ProfileSettings
from jettison.instances.zoo.models import MODEL_NAMES
from tools.export_sharded import add_fastest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from jettison.instances.profilers.torch_chains import measurement as chain_measurement  # noqa: E402
from jettison.instances.profilers.torch_graphs import operator_cost  # noqa: E402
from tools import export_bundled, export_families  # noqa: E402
from tools.exports import (  # noqa: E402
    ChainExport,
    FusedExport,
    GraphExport,
    ShardingExport,
)

pytestmark = pytest.mark.torch

FAST = ProfileSettings(repeats=1, warmup=0, threads=torch.get_num_threads())
WORDS = ("--repeats", "1", "--warmup", "0", "--threads", str(torch.get_num_threads()))
ARGUMENTS = {"depth": 1, "hidden": 8, "heads": 2, "vocabulary": 10}
CHAIN, GRAPH = "gpt2-tiny-b2-8-cpu", "gpt2-tiny-graph-b2-8-cpu"
FUSED, SHARDED = "gpt2-tiny-x2-b2-8-cpu", "mlp-26-mesh1x4-cpu"


@pytest.fixture(autouse=True)
def tiny_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    families = {
        "chains": (ChainExport("gpt2", 2, 8, ARGUMENTS, "-tiny"),),
        "traced": (
            GraphExport("gpt2", 2, 8, ARGUMENTS, "-tiny"),
            FusedExport("gpt2", 2, 8, ARGUMENTS, "-tiny", models=2),
        ),
    }
    monkeypatch.setattr(export_families, "ON_CPU", families)


def export(folder: Path, *names: str, **options: Any) -> tuple[str, ...]:
    items = export_bundled.chosen(export_bundled.planned(FAST), (), names)
    return export_bundled.export(folder, items, FAST, **options)


def index_of(folder: Path) -> list[dict[str, Any]]:
    document: dict[str, Any] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    entries: list[dict[str, Any]] = document["instances"]
    return entries


def test_an_export_writes_the_instance_and_an_index_that_matches_it(tmp_path: Path) -> None:
    assert export(tmp_path, CHAIN) == ()
    chain = load(tmp_path / f"{CHAIN}.json")
    assert isinstance(chain, Chain)
    # Embedding, one block, head, loss.
    assert len(chain) == 4
    assert chain.provenance.model_arguments["depth"] == 1
    content = (tmp_path / f"{CHAIN}.json").read_bytes()
    assert index_of(tmp_path) == [
        {
            "name": CHAIN,
            "kind": "chain",
            "size": 4,
            "file": f"{CHAIN}.json",
            "device": chain.provenance.device,
            "device_kind": "cpu",
            "model": "gpt2",
            "batch": 2,
            "input_shape": [2, 8],
            "dtype": chain.provenance.dtype,
            "source": "torch-profile",
            "file_sha256": hashlib.sha256(content).hexdigest(),
            "instance_sha256": chain.sha256,
        }
    ]


def test_graphs_and_fused_models_are_exported_with_the_spread_of_their_durations(
    tmp_path: Path,
) -> None:
    assert export(tmp_path, GRAPH, FUSED) == ()
    graph, fused = load(tmp_path / f"{GRAPH}.json"), load(tmp_path / f"{FUSED}.json")
    assert isinstance(graph, Graph)
    assert isinstance(fused, MultiModel)
    assert {name: spread[1] for name, spread in graph.provenance.spread.items()} == {
        f"{node.name} duration_ns": node.duration_ns for node in graph.nodes
    }
    assert (graph.provenance.warmup, graph.provenance.repeats) == (0, 1)
    # A sum over all operations for one model, and for two that are fused.
    assert list(fused.provenance.spread) == ["1 fused step_ns", "2 fused step_ns"]
    assert fused.provenance.device_kind == "cpu"


def test_strategies_are_kept_as_program_mesh_and_measured_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        export_families, "ON_CPU", {"sharding": (ShardingExport("mlp-26", (1, 4)),)}
    )
    assert export(tmp_path) == ()
    path = tmp_path / f"{SHARDED}.json"
    assert path.stat().st_size < 60_000
    add_fastest(tmp_path)
    graph = load(path)
    assert isinstance(graph, ShardedGraph)
    assert len(graph.fastest) == len(graph) == 26
    medians = {spread[1] for spread in graph.provenance.spread.values()}
    for operator in graph.operators:
        if not operator.role.is_computed_once:
            assert {strategy.compute_ns for strategy in operator.strategies} <= medians
    assert index_of(tmp_path)[0]["device_kind"] == "cpu"


def test_an_export_keeps_what_is_there_unless_it_is_forced(tmp_path: Path) -> None:
    export(tmp_path, CHAIN)
    path = tmp_path / f"{CHAIN}.json"
    marked = path.read_text(encoding="utf-8").replace('"gpt2"', '"marked"')
    path.write_text(marked, encoding="utf-8")
    export(tmp_path, CHAIN)
    assert index_of(tmp_path)[0]["model"] == "marked"
    export(tmp_path, CHAIN, force=True)
    assert index_of(tmp_path)[0]["model"] == "gpt2"


def stopping_after(count: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, with Ctrl-C in place of its call after so many."""
    calls = 0

    def stopping(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > count:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return stopping


@pytest.mark.parametrize(
    ("name", "module", "function"),
    [
        (CHAIN, chain_measurement, "measure_time"),
        (GRAPH, operator_cost, "counted"),
        (FUSED, operator_cost, "counted"),
    ],
)
def test_an_export_that_is_stopped_goes_on_inside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: Any, function: str
) -> None:
    words = ["--output", str(tmp_path), name, *WORDS]
    with monkeypatch.context() as patch:
        patch.setattr(module, function, stopping_after(3, getattr(module, function)))
        assert export_bundled.main(words) == 130
    assert not (tmp_path / f"{name}.json").exists()
    assert index_of(tmp_path) == []
    partial = json.loads((tmp_path / f"{name}.json.partial").read_text(encoding="utf-8"))
    assert len(partial["measured"]) == 3
    items = export_bundled.chosen(export_bundled.planned(FAST), (), (name,))
    assert "unfinished" in export_bundled.listing(tmp_path, items)
    assert export_bundled.main(words) == 0
    assert "there" in export_bundled.listing(tmp_path, items)
    assert [entry["name"] for entry in index_of(tmp_path)] == [name]
    assert not list(tmp_path.glob("*.partial"))


def test_a_model_without_enough_memory_is_reported_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhausted(*arguments: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(chain_measurement, "measure_time", exhausted)
    assert export_bundled.main(["--output", str(tmp_path), *WORDS]) == 1
    assert "needs more memory than" in capsys.readouterr().err
    assert [entry["name"] for entry in index_of(tmp_path)] == [GRAPH, FUSED]


def test_a_family_alone_is_exported(tmp_path: Path) -> None:
    assert export_bundled.main(["--output", str(tmp_path), "--family", "chains", *WORDS]) == 0
    assert [entry["name"] for entry in index_of(tmp_path)] == [CHAIN]


def test_the_list_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export_bundled.main(["--output", str(tmp_path), "--list", *WORDS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["chains", "missing", CHAIN],
        ["traced", "missing", GRAPH],
        ["traced", "missing", FUSED],
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_not_exported_on_the_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"'resnet18-b4-224-h200'; choose from {CHAIN}"):
        export(tmp_path, "resnet18-b4-224-h200")
    assert export_bundled.main(["--output", str(tmp_path), "--family", "absent", *WORDS]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused_before_anything_runs(tmp_path: Path) -> None:
    assert export_bundled.main(["--output", str(tmp_path / "absent"), *WORDS]) == 2


def test_the_families_of_a_gpu_have_names_of_their_own_and_models_of_the_zoo() -> None:
    exports = [item for family in export_families.ON_GPU.values() for item in family]
    names = [item.name("h200") for item in exports]
    assert len(set(names)) == len(names)
    for item in exports:
        if not isinstance(item, ShardingExport) and item.model != "unet":
            assert item.model in MODEL_NAMES


@pytest.mark.parametrize(
    ("name", "kind", "short"),
    [
        ("Intel(R) Xeon(R) Gold 6148", "cpu", "cpu"),
        ("NVIDIA H200", "cuda", "h200"),
        ("Tesla V100-PCIE-16GB", "cuda", "v100"),
        ("NVIDIA A100-SXM4-80GB", "cuda", "a100"),
        ("NVIDIA GeForce RTX 4090", "cuda", "4090"),
        ("Graphics Device", "cuda", "graphicsdevice"),
    ],
)
def test_a_short_device_name_is_the_model(name: str, kind: str, short: str) -> None:
    assert short_device_name(name, kind) == short
