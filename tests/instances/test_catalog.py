from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jettison.instances import bundled_entries, catalog
from jettison.instances.catalog import Instance, bundled_instances, load, save
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import check_schema
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_graph.graph import Graph, Node

CHAIN = Chain(
    name="chain",
    input_bytes=3,
    stages=(
        Stage(name="layer", forward_ns=5, backward_ns=7, output_bytes=2, saved_bytes=6),
        Stage(name="loss", forward_ns=2, backward_ns=3, output_bytes=0, saved_bytes=1),
    ),
    provenance=Provenance(source="synthetic", spread={"layer forward_ns": (4, 5, 6)}),
)
GRAPH = Graph(
    name="graph",
    nodes=(
        Node(name="a", duration_ns=1, output_bytes=4),
        Node(name="b", duration_ns=1, output_bytes=2, inputs=("a",), backward=True, keep=True),
    ),
    repeated_blocks=((("a",), ("b",)),),
    provenance=Provenance(source="synthetic", input_shape=(2, 3)),
)
BOTH = pytest.mark.parametrize("instance", [CHAIN, GRAPH], ids=["chain", "graph"])


@BOTH
def test_an_instance_survives_saving_and_loading(instance: Instance, tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    save(instance, path)
    found = load(path)
    assert found == instance
    assert found.provenance == instance.provenance
    assert found.sha256 == instance.sha256


@BOTH
def test_what_is_saved_passes_the_published_schema(instance: Instance, tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    save(instance, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    check_schema(document, "jettison.instances", f"{instance.kind}.schema.json", str(path))
    assert document["format"] == "jettison"


def test_saving_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    save(CHAIN, tmp_path / "a.json")
    save(load(tmp_path / "a.json"), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_text_with_an_ending_or_a_separator_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(CHAIN, "here.json")
    assert load("here.json") == CHAIN
    (tmp_path / "folder").mkdir()
    save(GRAPH, "folder/there")
    assert load("folder/there") == GRAPH


def _changed(document: dict[str, Any], place: tuple[str | int, ...], value: object) -> Any:
    changed: Any = copy.deepcopy(document)
    target = changed
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    return changed


@pytest.mark.parametrize(
    ("instance", "place", "value", "message"),
    [
        (CHAIN, ("stages", 0, "saved_bytes"), -6, "stages[0].saved_bytes: -6 is less than the min"),
        (CHAIN, ("stages", 0, "saved_bytes"), 5.5, "stages[0].saved_bytes: 5.5 is not of type"),
        (CHAIN, ("stages", 0, "saved_bytes"), 6.0, "stages[0].saved_bytes: 6.0 is not an integer"),
        (CHAIN, ("stages", 0, "saved_bytes"), 1, "stages[0].saved_bytes: 1 is below output_bytes"),
        (CHAIN, ("stages", 1, "forward_ns"), True, "stages[1].forward_ns: True is not of type"),
        (CHAIN, ("stages", 1, "forward_ns"), "5", "stages[1].forward_ns: '5' is not of type"),
        (CHAIN, ("stages", 1, "forward_ns"), 2**53, "stages[1].forward_ns: 9007199254740992 is gr"),
        (CHAIN, ("stages", 1, "output_bytes"), 1, "stages[1].output_bytes: 1 for the last stage"),
        (CHAIN, ("stages", 1, "name"), "layer", "stages[1].name: 'layer' is also the name of"),
        (CHAIN, ("stages", 1, "name"), "\t", "stages[1].name: '\\t' cannot be a name"),
        (CHAIN, ("stages",), [], "stages: the chain is empty; give at least one stage"),
        (CHAIN, ("stages", 0, "time"), 5, "stages[0]: Additional properties are not allowed"),
        (CHAIN, ("version",), 2, "version: version 2 is newer than this program; update jettison"),
        (
            CHAIN,
            ("kind",),
            "tree",
            "kind: 'tree' cannot be used here; give a file of kind chain or",
        ),
        (CHAIN, ("provenance", "batch"), 0, "provenance.batch: 0 is less than the minimum of 1"),
        (
            CHAIN,
            ("provenance", "spread", "x"),
            [3, 2, 1],
            "provenance.spread['x']: (3, 2, 1) is not least <= counted <= most; write three",
        ),
        (
            GRAPH,
            ("nodes", 1, "inputs"),
            ["q"],
            "nodes[1].inputs[0]: 'q' is not a node of the graph",
        ),
        (GRAPH, ("nodes", 0, "inputs"), ["b"], "nodes[0].inputs[0]: the inputs form a cycle"),
        (GRAPH, ("nodes", 1, "inputs"), ["a", "a"], "nodes[1].inputs[1]: 'a' stands twice"),
        (GRAPH, ("nodes", 1, "keep"), 1, "nodes[1].keep: 1 is not of type 'boolean'"),
        (GRAPH, ("nodes",), [], "nodes: the graph is empty; give at least one node"),
        (GRAPH, ("repeated_blocks",), [[["a"], []]], "repeated_blocks[0]: its blocks differ"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_next_step(
    instance: Instance,
    place: tuple[str | int, ...],
    value: object,
    message: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(_changed(instance.to_json(), place, value)), encoding="utf-8")
    with pytest.raises(InputError) as info:
        load(path)
    assert str(info.value).startswith(f"{path}: {message}")
    assert info.value.expected
    assert str(info.value).endswith(f"; {info.value.expected}")


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    document = CHAIN.to_json()
    del document["input_bytes"]
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"'input_bytes' is a required property; see chain.schema"):
        load(path)


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data set of one chain in place of the bundled one."""
    save(CHAIN, tmp_path / "tiny.json")
    entry = {
        "name": "tiny",
        "kind": "chain",
        "size": 2,
        "file": "tiny.json",
        "device": "none",
        "device_kind": "cpu",
        "model": "none",
        "batch": 1,
        "input_shape": [3],
        "dtype": "float32",
        "source": "synthetic",
        "file_sha256": hashlib.sha256((tmp_path / "tiny.json").read_bytes()).hexdigest(),
        "instance_sha256": CHAIN.sha256,
    }
    (tmp_path / "index.json").write_text(json.dumps({"instances": [entry]}), encoding="utf-8")
    for module in (bundled_entries, catalog):
        monkeypatch.setattr(module, "data_file", lambda name: tmp_path / name)
    bundled_instances.cache_clear()
    yield tmp_path
    bundled_instances.cache_clear()


@pytest.mark.usefixtures("bundle")
def test_a_bundled_instance_is_loaded_by_name() -> None:
    assert load("tiny") == CHAIN


@pytest.mark.usefixtures("bundle")
def test_a_bundled_instance_is_found_by_its_hash() -> None:
    assert catalog.bundled_with_hash(CHAIN.sha256) == CHAIN
    assert catalog.bundled_with_hash("0" * 64) is None


@pytest.mark.usefixtures("bundle")
def test_the_catalog_lists_what_the_index_says() -> None:
    (entry,) = bundled_instances()
    assert (entry.name, entry.kind, entry.size, entry.input_shape) == ("tiny", "chain", 2, (3,))


@pytest.mark.usefixtures("bundle")
def test_an_unknown_name_says_where_the_names_are() -> None:
    with pytest.raises(InputError) as info:
        load("huge")
    assert str(info.value) == (
        "instance: 'huge' is not a bundled instance; "
        "run `jettison list instances` for the names, or give the path of a .json file"
    )


def test_a_bundled_file_that_was_changed_is_not_used(bundle: Path) -> None:
    save(replace(CHAIN, input_bytes=4), bundle / "tiny.json")
    with pytest.raises(InputError, match=r"does not match the checksum .*; reinstall jettison$"):
        load("tiny")


Made = TypeVar("Made")

# Values that a careless program or hand may write into a field.
VALUES: st.SearchStrategy[object] = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**53 - 1, 2**53, 2**63, 5.0, 0.5, -1.0, 1e30, True, False, None]),
    st.sampled_from(["", " ", "5", "a", "b", "layer", "\n", "x" * 201]),
    st.lists(st.sampled_from(["a", "b", "q", 3]), max_size=2),
    st.just({}),
)


def _places(value: object, prefix: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*prefix, key)
            yield from _places(entry, (*prefix, key))


def _instance_or_error(make: Callable[[], Made]) -> Made | InputError:
    try:
        return make()
    except InputError as error:
        return error


@BOTH
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_document_is_an_instance_again_or_an_input_error(
    instance: Instance, data: st.DataObject, tmp_path: Path
) -> None:
    document = instance.to_json()
    place = data.draw(st.sampled_from(list(_places(document))))
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(_changed(document, place, data.draw(VALUES))), encoding="utf-8")
    found = _instance_or_error(lambda: load(path))
    if isinstance(found, InputError):
        assert found.source == str(path)
    else:
        save(found, path)
        assert load(path) == found


def _schema_accepts(document: object, kind: str) -> bool:
    try:
        check_schema(document, "jettison.instances", f"{kind}.schema.json", "")
    except InputError:
        return False
    return True


def _only_the_constructor_knows(error: InputError, value: object) -> bool:
    # A schema takes 5.0 for an integer, does not compare fields, and does not know what prints.
    return isinstance(value, float) or "below" in error.problem or "cannot be" in error.problem


@settings(max_examples=400)
@given(st.sampled_from(sorted(CHAIN.to_json()["stages"][0])), VALUES)  # type: ignore[index]
def test_the_schema_and_the_constructor_of_a_stage_agree(field: str, value: object) -> None:
    document = _changed(CHAIN.to_json(), ("stages", 0, field), value)
    found = _instance_or_error(lambda: Stage(**document["stages"][0]))
    if _schema_accepts(document, "chain"):
        assert not isinstance(found, InputError) or _only_the_constructor_knows(found, value)
    else:
        assert isinstance(found, InputError)


@settings(max_examples=400)
@given(st.sampled_from(["name", "duration_ns", "output_bytes", "workspace_bytes"]), VALUES)
def test_the_schema_and_the_constructor_of_a_node_agree(field: str, value: object) -> None:
    document = _changed(GRAPH.to_json(), ("nodes", 0, field), value)
    found = _instance_or_error(lambda: Node(**{**document["nodes"][0], "inputs": ()}))
    if _schema_accepts(document, "graph"):
        assert not isinstance(found, InputError) or _only_the_constructor_knows(found, value)
    else:
        assert isinstance(found, InputError)
