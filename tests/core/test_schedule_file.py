"""Schedule files: round trips, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jettison import InputError, load_schedule, save_schedule
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.remat_graph import GraphSchedule
from tests.remat_offload.sequences import sequence
from tests.tiny import LADDER, UNEVEN, UNIFORM
from tests.weight_offload.cyclic_events import cyclic

CYCLIC = "B3@0, upload3@5, B2@5, delete3@9, prefetch1@20"
FORWARD = ChainSchedule((ChainOperation(ChainOperationKind.FORWARD_ALL, 1),))


def test_a_chain_schedule_comes_back_as_it_was(tmp_path: Path) -> None:
    kinds = list(ChainOperationKind)
    schedule = ChainSchedule(tuple(ChainOperation(kind, 2) for kind in kinds))
    save_schedule(schedule, UNIFORM, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", UNIFORM) == schedule


def test_a_schedule_with_transfers_comes_back_as_it_was(tmp_path: Path) -> None:
    schedule = sequence("O 0, F_all 1, O_all 1, D_all 1, F_none 2, B 7, P_all 1, P 0, D 0")
    save_schedule(schedule, UNIFORM, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", UNIFORM) == schedule


def test_a_schedule_that_repeats_comes_back_as_it_was(tmp_path: Path) -> None:
    schedule = cyclic(30, CYCLIC)
    save_schedule(schedule, UNIFORM, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", UNIFORM) == schedule


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("period_ns", 10, r"events\[4\]: 20 ns for prefetch 1; list events by start time: from 9"),
        ("period_ns", -1, r"period_ns: -1 ns; write a time of at least 0"),
        ("events", [["B", 8, 0]], r"events\[0\]\[1\]: 8 is not a stage; write a stage from 1 to 7"),
        ("events", [["F_all", 3, 0]], r"events\[0\]\[0\]"),
        ("events", [["B", 3]], r"events\[0\]"),
    ],
)
def test_a_schedule_that_repeats_is_checked(
    tmp_path: Path, field: str, value: object, message: str
) -> None:
    path = tmp_path / "s.json"
    save_schedule(cyclic(30, CYCLIC), UNIFORM, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, field: value}), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_schedule(path, UNIFORM)


@pytest.mark.parametrize(("text", "least"), [("F_all 0", 1), ("O_all 0", 1), ("O 8", 0)])
def test_a_transfer_of_a_stage_that_is_not_there_is_refused(
    tmp_path: Path, text: str, least: int
) -> None:
    save_schedule(sequence(text), UNIFORM, tmp_path / "s.json")
    with pytest.raises(InputError, match=rf"operations\[0\]\[1\].*from {least} to 7"):
        load_schedule(tmp_path / "s.json", UNIFORM)


def test_a_graph_schedule_comes_back_as_it_was(tmp_path: Path) -> None:
    schedule = GraphSchedule.from_computations(LADDER, [0, 1, 2, 0, 3, 4, 5, 6])
    save_schedule(schedule, LADDER, tmp_path / "s.json")
    assert load_schedule(tmp_path / "s.json", LADDER) == schedule


def test_a_graph_schedule_is_written_with_the_names_of_the_nodes(tmp_path: Path) -> None:
    schedule = GraphSchedule.from_computations(LADDER, range(len(LADDER)))
    save_schedule(schedule, LADDER, tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["operations"][:2] == [["compute", "f0"], ["compute", "f1"]]
    assert document["instance_sha256"] == LADDER.sha256


def test_a_schedule_cannot_be_saved_for_another_kind_of_instance(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no schedule for a graph"):
        save_schedule(FORWARD, LADDER, tmp_path / "s.json")
    assert list(tmp_path.iterdir()) == []


def test_the_hash_of_another_instance_is_refused(tmp_path: Path) -> None:
    save_schedule(FORWARD, UNIFORM, tmp_path / "s.json")
    with pytest.raises(InputError, match="instance_sha256: the schedule is for the instance"):
        load_schedule(tmp_path / "s.json", UNEVEN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operations": [["F_all", 8]]}, r"operations\[0\]\[1\]: 8 is not a stage"),
        ({"operations": [["F_all", 0]]}, r"operations\[0\]\[1\]: 0 is not a stage"),
        ({"operations": [["F_some", 1]]}, r"operations\[0\]\[0\]: 'F_some' is not one of"),
        ({"operations": [["F_all", 1, 2]]}, r"operations\[0\]"),
        ({"operations": [["F_all"]]}, r"operations\[0\]"),
        ({"operations": [["F_all", "1"]]}, r"operations\[0\]\[1\]: '1' is not of type 'integer'"),
        ({"kind": "graph-schedule"}, "'graph-schedule' cannot be used here"),
        ({"version": 2}, "version 2 is newer than this program"),
        ({"format": "other"}, "this is not a jettison file"),
        ({"speed": 3}, "'speed' was unexpected"),
        ({"instance_sha256": "abc"}, "instance_sha256"),
    ],
)
def test_a_bad_field_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "s.json"
    save_schedule(FORWARD, UNIFORM, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message) as caught:
        load_schedule(path, UNIFORM)
    assert str(caught.value).startswith(str(path))


def test_an_unknown_node_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    save_schedule(GraphSchedule.from_computations(LADDER, [0]), LADDER, path)
    document = json.loads(path.read_text())
    document["operations"][0][1] = "f9"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"operations\[0\]\[1\]: 'f9' is not a node of ladder"):
        load_schedule(path, LADDER)
