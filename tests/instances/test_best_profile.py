from __future__ import annotations

from typing import Any

import pytest

from jettison.instances import best_profile as module
from jettison.instances.best_profile import best_profile, best_profiles, origin
from jettison.instances.catalog import CatalogEntry
from jettison.instances.core.errors import InputError


def entry(name: str, **changes: Any) -> CatalogEntry:
    known: dict[str, Any] = {
        "name": name,
        "kind": "chain",
        "size": 3,
        "file": f"{name}.json",
        "device": "a device",
        "device_kind": "cpu",
        "model": "resnet50",
        "batch": 4,
        "input_shape": (4, 3, 224, 224),
        "dtype": "float32",
        "source": "torch-profile",
        "file_sha256": "",
        "instance_sha256": "",
    }
    return CatalogEntry(**(known | changes))


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> list[CatalogEntry]:
    entries = [
        entry("large-cpu", input_shape=(4, 3, 500, 500)),
        entry("small-cpu"),
        entry("small-cpu-of-more", batch=8, input_shape=(8, 3, 224, 224)),
        entry("other-cpu", model="vgg16"),
        entry("graph-cpu", kind="graph"),
    ]
    monkeypatch.setattr(module, "bundled_instances", lambda: tuple(entries))
    return entries


def names(kind: str = "chain") -> list[str]:
    return [item.name for item in best_profiles(kind)]


def test_without_a_gpu_every_profile_of_a_cpu_is_taken(bundled: list[CatalogEntry]) -> None:
    assert names() == ["large-cpu", "small-cpu", "small-cpu-of-more", "other-cpu"]
    assert names("graph") == ["graph-cpu"]


def test_a_profile_of_a_gpu_takes_the_place_of_those_of_its_model_and_kind(
    bundled: list[CatalogEntry],
) -> None:
    bundled.append(entry("resnet50-h200", device_kind="cuda"))
    assert names() == ["other-cpu", "resnet50-h200"]
    assert names("graph") == ["graph-cpu"]


def test_what_was_not_measured_is_no_profile(bundled: list[CatalogEntry]) -> None:
    bundled.append(entry("assumed", device_kind="cuda", source="synthetic"))
    assert names() == ["large-cpu", "small-cpu", "small-cpu-of-more", "other-cpu"]


def test_the_largest_samples_and_then_the_largest_batch_are_best(
    bundled: list[CatalogEntry],
) -> None:
    assert best_profile("resnet50").name == "large-cpu"
    del bundled[0]
    assert best_profile("resnet50").name == "small-cpu-of-more"
    assert best_profile("resnet50", batch=4).name == "small-cpu"


def test_a_gpu_s_rates_are_better_than_a_cpu_and_its_measurement_is_best(
    bundled: list[CatalogEntry],
) -> None:
    small = (1, 3, 32, 32)
    bundled.append(
        entry("assumed", device_kind="cuda", source="synthetic", input_shape=small, model="net")
    )
    assert best_profile("resnet50", "net").name == "assumed"
    bundled.append(entry("measured", device_kind="cuda", input_shape=small))
    assert best_profile("resnet50", "net").name == "measured"


def test_what_others_published_is_never_chosen(bundled: list[CatalogEntry]) -> None:
    bundled.append(entry("published", device_kind="cuda", source="imported", batch=128))
    assert best_profile("resnet50").name == "large-cpu"


def test_a_model_without_an_instance_is_an_error(bundled: list[CatalogEntry]) -> None:
    with pytest.raises(InputError, match="no bundled graph of vgg16"):
        best_profile("vgg16", kind="graph")


def test_the_origin_names_instance_and_device() -> None:
    assert origin(entry("one-cpu")) == "one-cpu: cpu, a device (torch-profile)"
