from __future__ import annotations

import json

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance

FULL = Provenance(
    source="torch-profile",
    device="Some GPU",
    device_kind="cuda",
    date="2026-01-31",
    exporter="jettison 0.1.0",
    libraries={"torch": "2.9"},
    model="resnet18",
    model_arguments={"classes": 10, "norm": "batch", "bias": True, "drop": 0.5, "seed": None},
    batch=16,
    input_shape=(3, 224, 224),
    dtype="float32",
    warmup=3,
    repeats=9,
    spread={"conv1 forward_ns": (9, 10, 12)},
    note="a note",
)


def test_every_field_survives_json() -> None:
    assert Provenance.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL


def test_only_what_is_known_is_written() -> None:
    assert Provenance().to_json() == {"source": "unknown"}


def test_a_mapping_cannot_be_changed_afterwards() -> None:
    libraries = {"torch": "2.9"}
    provenance = Provenance(libraries=libraries)
    libraries["torch"] = "3.0"
    assert provenance.libraries == {"torch": "2.9"}
    with pytest.raises(TypeError):
        provenance.libraries["torch"] = "3.0"  # type: ignore[index]


def test_an_unknown_kind_of_device_is_refused() -> None:
    with pytest.raises(InputError, match=r"^device_kind: 'tpu' is not a kind of device; write cpu"):
        Provenance(device_kind="tpu")


@pytest.mark.parametrize("triple", [(3, 2, 4), (1, 3, 2), (1, 2)])
def test_a_spread_that_does_not_ascend_is_refused(triple: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"^spread\['conv'\]: .* not least <= counted"):
        Provenance(spread={"conv": triple})  # type: ignore[dict-item]


def test_what_others_published_keeps_its_place_of_publication() -> None:
    published = Provenance(
        source="imported",
        repository="somebody/profiles",
        commit="0123456",
        file="gpu/profile.json",
        licence="MIT",
        sequence=2048,
    )
    document = published.to_json()
    assert document["licence"] == "MIT"
    assert document["sequence"] == 2048
    assert Provenance.from_json(document) == published
    # A file that was written before these fields existed does not change.
    assert set(Provenance(source="torch-profile").to_json()) == {"source"}
