"""Schedules of several models in files: round trips, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jettison import InputError, load_schedule, save_schedule
from tests.multi_model.unit_text import alone, twins
from tests.tiny import UNIFORM
from tests.tiny_models import mirrored_models

INSTANCE = mirrored_models()
PAIR = twins("F2.0 O2.0 F2.1 D2.1 F2.2 F2.3 B1.0 B1.1 P1.0 R1.1 B1.2 B1.3")
WRITTEN_UNIT = {"sizes": [1], "rounds": [[["F1", "f0"], ["O1", "z0"]]]}


def test_units_come_back_as_they_were(tmp_path: Path) -> None:
    save_schedule(PAIR, INSTANCE, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", INSTANCE) == PAIR


def test_operators_and_feature_maps_have_their_names(tmp_path: Path) -> None:
    save_schedule(alone("F1.0 O1.0"), INSTANCE, tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert document["kind"] == "multi-model-schedule"
    assert document["units"] == [WRITTEN_UNIT]


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (
            {"sizes": [2]},
            r"units\[0\].sizes\[0\]: 2 models; mirrored has profiles of 1 models",
        ),
        (
            {"rounds": [[["F1", "f9"]]]},
            r"units\[0\].rounds\[0\]\[0\]\[1\]: 'f9' is not in mirrored; name an operator",
        ),
        ({"rounds": [[["F1", "f0"], ["P1", "f0"]]]}, r"rounds\[0\]\[1\]\[1\]: 'f0' is not"),
        ({"rounds": [[["F3", "f0"]]]}, r"units\[0\].rounds\[0\]\[0\]\[0\]"),
        ({"rounds": [[["X1", "f0"]]]}, r"units\[0\].rounds\[0\]\[0\]\[0\]"),
        ({"sizes": []}, r"units\[0\].sizes"),
    ],
)
def test_units_are_checked(tmp_path: Path, unit: dict[str, object], message: str) -> None:
    path = tmp_path / "s.json"
    save_schedule(PAIR, INSTANCE, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["units"] = [{**WRITTEN_UNIT, **unit}]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_schedule(path, INSTANCE)


def test_a_schedule_of_units_is_not_for_a_chain(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a MultiModelSchedule is no schedule for a chain"):
        save_schedule(PAIR, UNIFORM, tmp_path / "s.json")
