from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from jettison import Chain, Graph, MultiModel, ShardedGraph, load
from jettison.instances import catalog
from jettison.instances.bundled_entries import Origin
from jettison.instances.catalog import CatalogEntry, bundled_instances
from jettison.instances.core.json_file import check_schema, json_text, read_json

DATA = Path(catalog.__file__).parent / "data"
LARGEST_FILE_BYTES = 65_000
# A profile for each number of models that may be fused.
LARGEST_MULTI_MODEL_BYTES = 240_000
EACH = pytest.mark.parametrize("entry", bundled_instances(), ids=lambda entry: entry.name)
PROFILED = [entry for entry in bundled_instances() if entry.source == "torch-profile"]
# Traced in order to be run (`trace_step_program`), which keeps the median of each operation only.
WITHOUT_SPREAD = {"unet-graph-b16-256-h200"}
EACH_PROFILE = pytest.mark.parametrize("entry", PROFILED, ids=lambda entry: entry.name)


def file_of(entry: CatalogEntry) -> Path:
    return DATA / entry.file


@EACH
def test_a_bundled_file_is_the_one_that_the_index_describes(entry: CatalogEntry) -> None:
    assert hashlib.sha256(file_of(entry).read_bytes()).hexdigest() == entry.file_sha256
    instance = load(entry.name)
    known = instance.provenance
    assert (instance.name, instance.kind, len(instance)) == (entry.name, entry.kind, entry.size)
    assert instance.sha256 == entry.instance_sha256
    assert (known.device, known.device_kind) == (entry.device, entry.device_kind)
    assert (known.model, known.batch, known.input_shape, known.dtype, known.source) == (
        entry.model,
        entry.batch,
        entry.input_shape,
        entry.dtype,
        entry.source,
    )


@EACH
def test_a_bundled_file_passes_the_published_schema(entry: CatalogEntry) -> None:
    document = read_json(file_of(entry))
    # A sharded graph is kept as what it is made from, a kind of its own, unless others measured it.
    is_made = entry.kind == "sharded-graph" and entry.origin is not Origin.IMPORTED
    kept_as = "program-on-mesh" if is_made else entry.kind
    assert document["kind"] == kept_as
    check_schema(document, "jettison.instances", f"{kept_as}.schema.json", entry.name)
    assert document["name"] == entry.name


@EACH
def test_a_profile_of_a_cpu_says_so_in_its_name_and_no_other_does(entry: CatalogEntry) -> None:
    assert entry.name.endswith("-cpu") == (entry.device_kind == "cpu")


@EACH_PROFILE
def test_a_profile_says_where_its_numbers_come_from(entry: CatalogEntry) -> None:
    known = load(entry.name).provenance
    assert known.date
    assert known.exporter
    assert known.exporter.startswith("jettison ")
    assert {"torch", "python"} <= known.libraries.keys()
    assert known.model_arguments
    assert known.dtype
    assert known.repeats
    assert known.repeats >= 5


@EACH_PROFILE
def test_every_duration_of_a_profile_is_the_median_of_its_spread(
    entry: CatalogEntry,
) -> None:
    instance = load(entry.name)
    medians = {name: triple[1] for name, triple in instance.provenance.spread.items()}
    if entry.name in WITHOUT_SPREAD:
        assert not medians
    elif isinstance(instance, Chain):
        assert medians == {
            f"{stage.name} {operation}": getattr(stage, operation)
            for stage in instance
            for operation in ("forward_ns", "backward_ns")
        }
    elif isinstance(instance, Graph):
        # A result of an operator beside its own value is a node of its own, and takes no time.
        assert medians == {
            f"{node.name} duration_ns": node.duration_ns
            for node in instance.nodes
            if node.result_of is None
        }
    elif isinstance(instance, MultiModel):
        # Sums over all operations, by the number of fused models; the first may be left out.
        for place, number in enumerate(instance.sizes):
            operators = (*instance.forward, *instance.backward)
            total_ns = sum(operator.run_ns[place] for operator in operators)
            assert medians[f"{number} fused step_ns"] == total_ns
    else:
        assert isinstance(instance, ShardedGraph)
        for operator in instance.operators:
            for strategy in operator.strategies:
                assert operator.role.is_computed_once or strategy.compute_ns in medians.values()
    assert all(duration > 0 for duration in medians.values())


@EACH_PROFILE
def test_a_measured_chain_says_what_becomes_of_gradients(entry: CatalogEntry) -> None:
    says = load(entry.name).provenance.parameter_gradients
    assert says in ({"new", "accumulated"} if entry.kind == "chain" else {None})


@EACH
def test_a_bundled_file_is_small_and_holds_no_path(entry: CatalogEntry) -> None:
    content = file_of(entry).read_bytes()
    is_multi_model = entry.kind == "multi-model"
    assert len(content) <= (LARGEST_MULTI_MODEL_BYTES if is_multi_model else LARGEST_FILE_BYTES)
    # A path of the exporting machine would begin with a slash or with the letter of a drive.
    text = json_text(read_json(file_of(entry)))
    assert '"/' not in text
    assert " /" not in text
    assert "\\" not in text


def test_the_index_lists_every_file_once() -> None:
    names = [entry.name for entry in bundled_instances()]
    assert len(set(names)) == len(names)
    assert [Path(entry.file).name.partition(".json")[0] for entry in bundled_instances()] == names
    there = {path.relative_to(DATA).as_posix() for path in DATA.rglob("*.json*")}
    programs = {name for name in there if name.startswith("programs/")}
    assert there - programs - {"index.json"} == {entry.file for entry in bundled_instances()}


def test_the_data_set_holds_every_family_of_models() -> None:
    models = {entry.model for entry in bundled_instances()}
    for family in ("resnet", "vgg", "gpt2", "bert"):
        assert any(model.startswith(family) for model in models), family


def test_identical_blocks_of_a_chain_have_identical_sizes() -> None:
    for entry in bundled_instances():
        is_ours = entry.origin is not Origin.IMPORTED
        if is_ours and entry.kind == "chain" and entry.model.startswith(("gpt2", "bert")):
            blocks = [stage for stage in load(entry.name) if stage.name.startswith("block")]
            assert len({(b.output_bytes, b.saved_bytes, b.weight_bytes) for b in blocks}) == 1
