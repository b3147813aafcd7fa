"""Models that share a device: what the constructor refuses, files, and the problem."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jettison import InputError, MultiModel, MultiModelTraining, load, save
from jettison.core import Provenance
from jettison.instances.catalog import Instance
from jettison.instances.core.json_file import check_schema, rows_text
from jettison.multi_model import FeatureMap, FusedOperator


def operator(name: str, run_ns: int, peak_bytes: int, active_bytes: int) -> FusedOperator:
    """Return an operator whose time and memory for two models are twice those for one."""
    return FusedOperator(
        name=name,
        run_ns=(run_ns, 2 * run_ns),
        peak_bytes=(peak_bytes, 2 * peak_bytes),
        active_bytes=(active_bytes, 2 * active_bytes),
    )


# x is in use in f0 and f1, y in f1; both idle after f1; b0 reads y and x, b1 reads x.
MODELS = MultiModel(
    name="models",
    models=3,
    sizes=(1, 2),
    static_bytes=(10, 20),
    forward=(operator("f0", 5, 7, 4), operator("f1", 6, 9, 1)),
    backward=(operator("b0", 7, 9, 5), operator("b1", 8, 6, 0)),
    feature_maps=(
        FeatureMap(
            name="x",
            size_bytes=(4, 8),
            made_by="f0",
            last_forward="f1",
            first_backward="b0",
            last_backward="b1",
            recompute_ns=(5, 10),
            recompute_bytes=(0, 0),
        ),
        FeatureMap(
            name="y",
            size_bytes=(3, 6),
            made_by="f1",
            last_forward="f1",
            first_backward="b0",
            last_backward="b0",
            recompute_ns=(6, 12),
            recompute_bytes=(1, 2),
            sources=("x",),
            swap_ns=(9, 11),
        ),
    ),
    bandwidth=10**9,
    provenance=Provenance(source="synthetic"),
)


def changed(*place: str | int, value: object) -> Any:
    """Return the document of `MODELS` with another value in one place."""
    document: Any = copy.deepcopy(MODELS.to_json())
    target = document
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    return document


def test_the_peak_without_saving_memory_is_that_of_the_busiest_moment() -> None:
    # Beside 10 bytes of static memory: 7 in f0, 9 in f1, 8 between the passes, 9 in b0, 6 in b1.
    array = MODELS.sub_array(1)
    assert array.store_all_peak_bytes == 19
    assert (array.idle_bytes, array.carried_bytes, array.largest_peak_bytes) == (7, 1, 9)
    assert array.compute_ns == 26
    assert MODELS.sub_array(2).store_all_peak_bytes == 38


def test_models_survive_saving_and_loading(tmp_path: Path) -> None:
    save(MODELS, tmp_path / "models.json")
    found = load(tmp_path / "models.json")
    assert isinstance(found, MultiModel)
    assert found == MODELS
    assert found.provenance == MODELS.provenance
    assert found.sha256 == MODELS.sha256


def test_what_is_saved_has_one_line_for_each_row_and_passes_the_schema(tmp_path: Path) -> None:
    save(MODELS, tmp_path / "models.json")
    text = (tmp_path / "models.json").read_text(encoding="utf-8")
    # Two braces, twelve fields, six rows, and a bracket that closes each of three tables.
    assert text.count("\n") == 2 + 12 + 6 + 3
    document = json.loads(text)
    check_schema(document, "jettison.instances", "multi-model.schema.json", "models.json")
    assert document == MODELS.to_json()


def test_equal_documents_have_equal_text_whatever_the_order_of_their_keys() -> None:
    document = MODELS.to_json()
    assert rows_text(dict(reversed(document.items()))) == rows_text(document)


def test_the_hash_does_not_depend_on_name_and_origin() -> None:
    assert replace(MODELS, name="other", provenance=Provenance()).sha256 == MODELS.sha256
    assert replace(MODELS, models=2).sha256 != MODELS.sha256
    assert replace(MODELS, bandwidth=1).sha256 != MODELS.sha256


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("models",), 0, "models: 0 is less than the minimum of 1"),
        (("models",), 65, "models: 65 is greater than the maximum of 64"),
        (("sizes",), [2, 1], "sizes: [2, 1]; write the sizes once, ascending"),
        (("sizes",), [], "sizes: []; write the sizes once, ascending"),
        (("sizes",), [1], "static_bytes: 2 entries for 1 sizes; write one for each of `sizes`"),
        (("static_bytes",), [1, -1], "static_bytes[1]: -1 is less than the minimum of 0"),
        (("bandwidth",), 0, "bandwidth: 0 is less than the minimum of 1"),
        (("forward",), [], "forward: the pass is empty; give an operator"),
        (
            ("forward", 1, "run_ns"),
            [6],
            "forward[1].run_ns: 1 entries for 2 sizes; write one for each of `sizes`",
        ),
        (("forward", 1, "run_ns", 0), 1.5, "forward[1].run_ns[0]: 1.5 is not of type 'integer'"),
        (("forward", 1, "time"), 1, "forward[1]: Additional properties are not allowed"),
        (("backward", 1, "name"), "f0", "operators[3].name: 'f0' is also the name of operators[0]"),
        (("feature_maps", 1, "name"), "x", "feature_maps[1].name: 'x' is also the name of"),
        (
            ("feature_maps", 0, "made_by"),
            "b0",
            "feature_maps[0].made_by: 'b0' is no forward operator; name one of `forward`",
        ),
        (
            ("feature_maps", 0, "last_backward"),
            "f1",
            "feature_maps[0].last_backward: 'f1' is no backward operator; name one of `backward`",
        ),
        (
            ("feature_maps", 1, "first_backward"),
            "b1",
            "feature_maps[1].last_backward: 'b0' comes before 'b1'; name an operator that is not",
        ),
        (
            ("feature_maps", 1, "sources"),
            ["z"],
            "feature_maps[1].sources[0]: 'z' is not a feature map; name each feature map that it",
        ),
        (("feature_maps", 1, "sources"), ["x", "x"], "feature_maps[1].sources[1]: 'x' again; name"),
        (
            ("feature_maps", 0, "sources"),
            ["y"],
            "feature_maps[0].sources[0]: 'y' is not made before 'x'; list feature maps in the",
        ),
        (
            ("feature_maps", 1, "swap_ns"),
            [9],
            "feature_maps[1].swap_ns: 1 entries for 2 sizes; write one for each of `sizes`",
        ),
        # After f0 x is in use, 4 bytes; in f1 x and y; after b0 x.
        (
            ("forward", 0, "active_bytes", 0),
            3,
            "forward[0].active_bytes[0]: 3 bytes, where 4 are in use; count the feature maps in",
        ),
        (
            ("forward", 1, "peak_bytes", 0),
            7,
            "forward[1].peak_bytes[0]: 7 bytes, where 8 are in use; count the feature maps in use",
        ),
        (
            ("backward", 0, "peak_bytes", 0),
            7,
            "backward[0].peak_bytes[0]: 7 bytes, where 8 are in use; count the feature maps in use",
        ),
        (
            ("backward", 0, "active_bytes", 1),
            19,
            "backward[0].active_bytes[1]: 19 bytes are left of 18; write at most the peak_bytes of",
        ),
        (
            ("backward", 1, "active_bytes", 1),
            1,
            "backward[1].active_bytes[1]: 1 bytes are left after the step; write 0: gradients of",
        ),
        (("version",), 2, "version: version 2 is newer than this program; update jettison"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_next_step(
    place: tuple[str | int, ...], value: object, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps(changed(*place, value=value)), encoding="utf-8")
    with pytest.raises(InputError) as info:
        load(path)
    assert str(info.value).startswith(f"{path}: {message}")


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    document = MODELS.to_json()
    del document["bandwidth"]
    path = tmp_path / "models.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"'bandwidth' is a required property; see multi-model\."):
        load(path)


def test_a_size_without_a_profile_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="models: 3; models has profiles of 1, 2 models"):
        MODELS.sub_array(3)


def test_copies_take_their_own_time_unless_a_bandwidth_is_given() -> None:
    problem = MultiModelTraining(MODELS, "1kB")
    # 4 bytes at 1 byte per nanosecond; y has measured times.
    assert problem.swap_ns(MODELS.sub_array(1)) == (4, 9)
    assert problem.swap_ns(MODELS.sub_array(2)) == (8, 11)
    given = MultiModelTraining(MODELS, "1kB", bandwidth="2GB/s")
    assert given.swap_ns(MODELS.sub_array(1)) == (2, 2)


def test_a_share_is_one_of_the_peak_of_all_models_fused() -> None:
    problem = MultiModelTraining(MODELS, "50%", models=2)
    assert (problem.count, problem.memory_bytes) == (2, 19)


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"memory": "alpha=0.5"}, "memory: alpha=0.5 is defined for chains only; write an amount"),
        ({"memory": "50%"}, "memory: 50% of the peak of 3 fused models, whose profile is missing;"),
        ({"memory": "40"}, "memory: '40' has no unit"),
        ({"memory": "1kB", "models": 4}, "models: 4; models has 1 to 3 models"),
        ({"memory": "1kB", "models": True}, "models: True; models has 1 to 3 models"),
        ({"memory": "1kB", "bandwidth": "fast"}, "bandwidth: 'fast' is not a rate; write a rate"),
    ],
)
def test_resources_that_cannot_be_used_are_refused(resources: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as info:
        MultiModelTraining(MODELS, **resources)
    assert str(info.value).startswith(message)


def test_models_that_no_sub_arrays_add_up_to_are_refused() -> None:
    # Sub-arrays of two and four models never hold three.
    pairs = replace(MODELS, sizes=(2, 4))
    with pytest.raises(InputError, match="models: 3 models cannot be divided into sub-arrays of 2"):
        MultiModelTraining(pairs, "1kB")


# Values that a careless program or hand may write into a field.
VALUES: st.SearchStrategy[object] = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**53 - 1, 2**53, 5.0, 0.5, True, None, "", "x", "f1", "b0", "\n"]),
    st.lists(st.sampled_from([0, 4, 2.0, "x", "y", None]), max_size=3),
    st.just({}),
)


def places(value: object, prefix: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*prefix, key)
            yield from places(entry, (*prefix, key))


def loaded_or_error(path: Path) -> Instance | InputError:
    try:
        return load(path)
    except InputError as error:
        return error


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(list(places(MODELS.to_json()))), value=VALUES)
def test_a_changed_document_is_an_instance_again_or_an_input_error(
    place: tuple[str | int, ...], value: object, tmp_path: Path
) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps(changed(*place, value=value)), encoding="utf-8")
    found = loaded_or_error(path)
    if isinstance(found, InputError):
        assert found.source == str(path)
    else:
        save(found, path)
        assert load(path) == found
